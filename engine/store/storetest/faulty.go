package storetest

import (
	"context"
	"sync"

	"github.com/understudy-mock/understudy/engine/store"
)

// Faulty is a store whose writes fail or wait on request of a test.
type Faulty struct {
	store.Store

	mu   sync.Mutex
	err  error
	held chan struct{} // closed when writes continue; nil if they need not wait
	wait chan struct{} // closed when the first write waits
}

type faultyLog struct {
	store.Log
	store *Faulty
}

// Open returns a log whose writes may fail or wait.
func (f *Faulty) Open(ctx context.Context, account string) (store.Log, error) {
	l, err := f.Store.Open(ctx, account)
	if err != nil {
		return nil, err
	}
	return &faultyLog{l, f}, nil
}

// Fail makes all writes fail with err; nil makes them succeed again.
func (f *Faulty) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Hold makes writes wait until release is called. The channel is closed when the first one waits.
func (f *Faulty) Hold() (waits <-chan struct{}, release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held, wait := make(chan struct{}), make(chan struct{})
	f.held, f.wait = held, wait
	return wait, sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held = nil
		close(held)
	})
}

// enter waits or fails before a write, as set by Hold and Fail.
func (f *Faulty) enter(ctx context.Context) error {
	f.mu.Lock()
	err, held := f.err, f.held
	if held != nil && f.wait != nil {
		close(f.wait)
		f.wait = nil
	}
	f.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// Commit may wait or fail first.
func (l *faultyLog) Commit(ctx context.Context, lsn uint64) error {
	if err := l.store.enter(ctx); err != nil {
		return err
	}
	return l.Log.Commit(ctx, lsn)
}

// SetAbout may wait or fail first.
func (l *faultyLog) SetAbout(ctx context.Context, about []byte) error {
	if err := l.store.enter(ctx); err != nil {
		return err
	}
	return l.Log.SetAbout(ctx, about)
}
