package programs

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

// Process is a process that tests start, signal, kill and start again. Args is required.
type Process struct {
	Args []string

	mu  sync.Mutex
	log *os.File
	cmd *exec.Cmd
	end *ending
}

// ending is the end of one run of a process.
type ending struct {
	done chan struct{}
	err  error // valid when done is closed
}

// Start starts the process, which is killed at the end of the test. Further runs append to
// the same log.
func (p *Process) Start(t TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log == nil {
		log, err := os.CreateTemp(t.TempDir(), "log")
		if err != nil {
			t.Fatal(err)
		}
		p.log = log
		t.Cleanup(func() { _ = p.Kill(); _ = log.Close() })
	}
	cmd, end := exec.Command(p.Args[0], p.Args[1:]...), &ending{done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.cmd, p.end = cmd, end
	go func() { // Kill, at the end of the test, waits for it
		defer close(end.done)
		end.err = cmd.Wait()
	}()
}

// life returns the current run, or the last one.
func (p *Process) life() (*os.Process, *ending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process, p.end
}

// PID is the process id of the current run.
func (p *Process) PID() int {
	process, _ := p.life()
	return process.Pid
}

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) error {
	process, _ := p.life()
	return process.Signal(s)
}

// Kill ends the process as a crash does, and waits for it. It may have ended already.
func (p *Process) Kill() error {
	_ = p.Signal(syscall.SIGKILL) // it may have ended by itself
	return p.Wait()
}

// Wait waits for the end of the process after a signal. The error for a process that did not
// end by itself has the stacks of its goroutines.
func (p *Process) Wait() error {
	process, end := p.life()
	before := len(p.Log())
	late := hurry(process)
	<-end.done
	if late() {
		return fmt.Errorf("%w; its stacks:\n%s", errHangs, p.Log()[before:])
	}
	return end.err
}

// endWithin is the time limit for the end of a process after a signal: longer than all waits
// of a clean stop together, on a busy machine.
const endWithin = 90 * time.Second

var errHangs = fmt.Errorf("the process still runs %s after a signal to end", endWithin)

// hurry makes Go's runtime print the stacks of a process that does not end in time, and end
// it. Its result reports whether that was necessary.
func hurry(p *os.Process) (late func() bool) {
	var was atomic.Bool
	timer := clock.NewReal()
	timer.Alarm(timer.Now().Add(endWithin), func() {
		was.Store(true)
		_ = p.Signal(syscall.SIGCONT) // it may be suspended
		_ = p.Signal(syscall.SIGQUIT)
	})
	return func() bool {
		timer.Alarm(time.Time{}, nil)
		return was.Load()
	}
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	_, end := p.life()
	select {
	case <-end.done:
		return true
	default:
		return false
	}
}

// Log is what all runs of the process have printed.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
