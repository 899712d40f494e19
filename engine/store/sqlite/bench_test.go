package sqlite

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/storetest"
)

func benchCommit(b *testing.B, committers, accounts int) {
	s := opened(b, Config{Dir: b.TempDir()})
	defer s.Close()
	logs := make([]store.Log, accounts)
	locks := make([]sync.Mutex, accounts)
	numbers := make([]uint64, accounts)
	for i := range logs {
		var err error
		if logs[i], err = s.Open(b.Context(), fmt.Sprint("account", i)); err != nil {
			b.Fatal(err)
		}
	}
	body := bytes.Repeat([]byte("x"), 400)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var all sync.WaitGroup
	for c := range committers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				i := c % accounts
				locks[i].Lock()
				numbers[i]++
				r := storetest.Record(numbers[i])
				r.Body = body
				logs[i].Append(r)
				locks[i].Unlock()
				if err := logs[i].Commit(b.Context(), r.LSN); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
