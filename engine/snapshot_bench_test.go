package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
)

// BenchmarkSnapshotLock measures how long the copy of 100,000 messages holds the
// lock of an account, beside the whole of a snapshot.
func BenchmarkSnapshotLock(b *testing.B) {
	w := setup(b)
	for i := range 100_000 {
		w.send(engine.PublishRequest{URL: fmt.Sprintf("https://app.test/%d", i%100), Body: []byte("hello"), Options: engine.Options{Delay: time.Duration(i) * time.Second}})
	}
	for b.Loop() {
		w.Snapshot()
	}
}
