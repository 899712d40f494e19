package fleet

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
)

// feed follows a bucket, and starts again after failures of the cluster.
type feed struct {
	kv   jetstream.KeyValue
	see  func(jetstream.KeyValueEntry)
	miss func(key string) // a key that was removed while nothing was received

	mu     sync.Mutex
	seen   uint64 // revision of the last entry
	whole  chan struct{}
	ready  bool // whole is closed: all initial entries have been seen
	change chan struct{}
}

func newFeed(kv jetstream.KeyValue, see func(jetstream.KeyValueEntry), miss func(string)) *feed {
	return &feed{kv: kv, see: see, miss: miss, whole: make(chan struct{}), change: make(chan struct{})}
}

const (
	lookEvery  = 2 * time.Second // interval of checks that entries still arrive
	syncWithin = 3 * time.Second
)

// follow passes all entries and their changes to see until ctx ends.
func (f *feed) follow(ctx context.Context, log *slog.Logger) {
	known := map[string]bool{}
	for ctx.Err() == nil {
		watching, cancel := context.WithCancel(ctx)
		w, err := f.kv.WatchAll(watching)
		if err != nil {
			cancel()
			log.Debug("fleet: following a bucket", "bucket", f.kv.Bucket(), "error", err)
			_ = clock.Pause(ctx, renewEvery)
			continue
		}
		var looking sync.WaitGroup
		looking.Go(func() { f.look(watching, cancel) })
		f.read(watching, w, known)
		cancel()
		_ = w.Stop() // its context has ended too
		looking.Wait()
	}
}

// read reads a watcher until it or ctx ends. known are the keys that have entries.
func (f *feed) read(ctx context.Context, w jetstream.KeyWatcher, known map[string]bool) {
	first := map[string]bool{} // keys of the initial entries; nil after them
	for {
		var e jetstream.KeyValueEntry
		var ok bool
		select {
		case e, ok = <-w.Updates():
		case <-ctx.Done():
			return
		}
		switch {
		case !ok:
			return
		case e != nil:
			there := e.Operation() == jetstream.KeyValuePut
			if known[e.Key()] = there; !there {
				delete(known, e.Key())
			}
			if first != nil {
				first[e.Key()] = true
			}
			f.see(e)
			f.advance(e.Revision())
		default:
			for key := range known {
				if !first[key] {
					delete(known, key)
					f.miss(key)
				}
			}
			first = nil
			f.completed()
		}
	}
}

// look calls end when a watcher has stopped receiving entries without an error.
func (f *feed) look(ctx context.Context, end func()) {
	for clock.Pause(ctx, lookEvery) == nil {
		last, err := f.last(ctx)
		if err != nil {
			continue
		}
		wait, cancel := context.WithTimeout(ctx, lookEvery)
		err = f.reach(wait, last)
		cancel()
		if err != nil {
			end()
			return
		}
	}
}

// last returns the revision of the newest entry of the bucket; 0 for none.
func (f *feed) last(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, syncWithin)
	defer cancel()
	status, err := f.kv.Status(ctx)
	if err != nil {
		return 0, err
	}
	info, ok := status.(*jetstream.KeyValueBucketStatus)
	if !ok || info.StreamInfo().State.Msgs == 0 {
		return 0, nil
	}
	return info.StreamInfo().State.LastSeq, nil
}

// sync waits, at most syncWithin, until all current entries have been seen.
func (f *feed) sync(ctx context.Context) error {
	last, err := f.last(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, syncWithin)
	defer cancel()
	return f.reach(ctx, last)
}

// reach waits until a revision has been seen.
func (f *feed) reach(ctx context.Context, revision uint64) error {
	for {
		f.mu.Lock()
		seen, change := f.seen, f.change
		f.mu.Unlock()
		if seen >= revision {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *feed) advance(revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = max(f.seen, revision)
	close(f.change)
	f.change = make(chan struct{})
}

func (f *feed) completed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ready {
		f.ready = true
		close(f.whole)
	}
}

// complete waits until all initial entries have been seen.
func (f *feed) complete(ctx context.Context) error {
	select {
	case <-f.whole:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func unmarshal(e jetstream.KeyValueEntry, to any) error { return json.Unmarshal(e.Value(), to) }

func marshal(m member) []byte {
	text, _ := json.Marshal(m) // cannot fail for its types
	return text
}
