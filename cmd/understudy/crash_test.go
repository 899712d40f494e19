package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// A server that is killed at any moment completes what it has accepted: each message is
// delivered or in the DLQ, and delivered twice only if the kill has cut an attempt. Queues
// keep their order and keys their limits.
func TestCrash(t *testing.T) {
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	t.Parallel()
	kills := effort.Amount(t, "KILLS", 4, 20)
	for _, c := range []struct {
		clock string
		kills int
	}{{"real", kills - kills/4}, {"manual", kills / 4}} {
		for first := 0; first < c.kills; first += killsOfAFolder {
			n := min(killsOfAFolder, c.kills-first)
			t.Run(fmt.Sprintf("%s clock, kills %d to %d", c.clock, first+1, first+n), func(t *testing.T) {
				t.Parallel()
				crashed(t, c.clock, uint64(first), n)
			})
		}
	}
}

// killsOfAFolder is how often the servers of one folder are killed: each start replays the
// records of all earlier runs, so starts would take most of the time.
const killsOfAFolder = 25

func crashed(t *testing.T, clock string, seed uint64, kills int) {
	h := &mortal{t: t, binary: build(t), address: freeAddress(t), flags: []string{"--clock", clock, "--data", t.TempDir()}}
	h.start()
	load := startCrashLoad(t, crashConfig{URL: func() string { return "http://" + h.address }, Tokens: []string{spec.BuiltInDialects()[0].Token}, Manual: clock == "manual", Pause: 10 * time.Millisecond})
	random := rand.New(rand.NewPCG(seed, 7))
	for i := range kills {
		life := time.Duration(30+random.IntN(600)) * time.Millisecond
		if i%4 == 3 && kills < killsOfAFolder || i%10 == 9 {
			life += 2 * time.Second // long enough for attempts that no kill can affect
		}
		h.liveFor(life)
		if i == kills-1 {
			load.Hold() // the other kills may find no attempt in progress
		}
		load.Cut()
		h.kill()
		if i%5 == 4 { // it is also killed while it starts
			h.spawn()
			h.liveFor(time.Duration(random.IntN(60)) * time.Millisecond)
			load.Cut()
			h.kill()
		}
		h.start()
	}
	verdict := load.Judge(30 * time.Second)
	h.end()
	t.Log(verdict)
	if len(verdict.Problems) > 0 {
		t.Errorf("%d problems", len(verdict.Problems))
	}
	if verdict.Visits == 0 || verdict.Cut == 0 {
		t.Error("nothing was delivered, or no attempt was cut: the test proves nothing")
	}
}

// mortal is a server process that is killed and started again.
type mortal struct {
	t       *testing.T
	binary  string
	address string
	before  []string // arguments of a binary that starts the server
	flags   []string
	ready   string
	process *exec.Cmd
	errors  bytes.Buffer // its standard error
	waiting sync.WaitGroup
	ended   chan struct{} // closed when the process has ended; nil unless something waits for it
}

// freeAddress is an address for a server that is killed and started again. On Linux no other
// test takes its port meanwhile: they listen on 127.0.0.1.
func freeAddress(t *testing.T) string {
	t.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = "127.0.0.9"
	}
	l, err := net.Listen("tcp", host+":0")
	expect.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// spawn starts a process.
func (h *mortal) spawn() {
	h.t.Helper()
	h.ready = filepath.Join(h.t.TempDir(), "ready")
	h.errors.Reset()
	h.process = exec.Command(h.binary, slices.Concat(h.before, []string{"serve", "--addr", h.address, "--ready-file", h.ready}, h.flags)...)
	h.process.Env = append(os.Environ(), "UNDERSTUDY_LOG_LEVEL=warn")
	h.process.Stderr = &h.errors
	expect.NoError(h.t, h.process.Start())
	process := h.process.Process
	h.t.Cleanup(func() {
		_ = process.Kill() // it may have ended
		h.waiting.Wait()
	})
}

// start starts a process and waits until it serves.
func (h *mortal) start() {
	h.t.Helper()
	h.spawn()
	if !h.serves() {
		h.t.Fatalf("the server does not start: %s", h.errors.String())
	}
}

// serves waits until a process serves or has ended. It reports whether it serves.
func (h *mortal) serves() bool {
	h.t.Helper()
	ended := make(chan struct{})
	h.waiting.Go(func() {
		_ = h.process.Wait()
		close(ended)
	})
	h.ended = ended
	for {
		if _, err := os.Stat(h.ready); err == nil {
			return true
		}
		select {
		case <-ended:
			return false
		case <-h.t.Context().Done():
			return false
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (h *mortal) liveFor(d time.Duration) { _ = clock.Pause(h.t.Context(), d) }

func (h *mortal) kill() {
	_ = h.process.Process.Signal(syscall.SIGKILL)
	h.gone()
}

// gone waits for the end of the process.
func (h *mortal) gone() {
	if h.ended == nil {
		_ = h.process.Wait() // it was killed
		return
	}
	<-h.ended
	h.ended = nil
}

func (h *mortal) end() {
	_ = h.process.Process.Signal(syscall.SIGTERM)
	h.gone()
	if state := h.process.ProcessState; !state.Success() {
		h.t.Errorf("a clean stop ends with %v: %s", state, h.errors.String())
	}
}
