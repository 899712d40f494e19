package main

import (
	"fmt"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver/fleet/jetstream"
)

// While a member of the cluster hangs, the snapshots of accounts are read from the other
// members. Otherwise an account would have no server until that member is back.
func TestFleetSnapshotsWhileAMemberHangs(t *testing.T) {
	effort.Long(t, "starts a cluster")
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	const readers = 8
	nodes := programs.Cluster(t, fleetNodes)
	s, err := jetstream.Open(t.Context(), jetstream.Config{Servers: nodes[0].URL, MaxBytes: 1 << 28, Replicas: fleetNodes, Timeout: 30 * time.Second})
	expect.NoError(t, err)
	defer s.Close()
	var logs []store.Log
	for i := range readers {
		l, err := s.Open(t.Context(), fmt.Sprint("account", i))
		expect.NoError(t, err)
		l.Append(journal.Record{LSN: 1, Kind: "k", Body: []byte(`{}`)})
		expect.NoError(t, l.Save(t.Context(), func(to io.Writer) (uint64, error) {
			_, err := to.Write(make([]byte, 1<<20))
			return 1, err
		}))
		logs = append(logs, l)
	}
	expect.NoError(t, nodes[2].Signal(syscall.SIGSTOP))
	var reading sync.WaitGroup
	for i, l := range logs {
		reading.Go(func() {
			from, err := l.Snapshot(t.Context())
			if err == nil {
				_, err = io.Copy(io.Discard, from)
			}
			if err != nil {
				t.Errorf("snapshot of account%d: %v", i, err)
			}
		})
	}
	reading.Wait()
	expect.NoError(t, nodes[2].Signal(syscall.SIGCONT))
}
