package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
)

// BenchmarkSnapshot writes and reads a million delayed messages. It reports how
// long a command that comes meanwhile waits at most, and what is allocated at
// most beside the state.
func BenchmarkSnapshot(b *testing.B) {
	w := setup(b)
	for i := range 1_000_000 {
		w.send(engine.PublishRequest{URL: fmt.Sprintf("https://app.test/%d", i%100), Body: []byte("hello"), Options: engine.Options{Delay: time.Duration(i) * time.Second}})
	}
	var text bytes.Buffer
	w.must(w.WriteSnapshot(&text))
	size := int64(text.Len())
	b.Run("write", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			w.must(w.WriteSnapshot(io.Discard))
		}
	})
	b.Run("write while others publish", func(b *testing.B) {
		var done atomic.Bool
		var waits []time.Duration
		var loader sync.WaitGroup
		loader.Go(func() {
			for !done.Load() {
				began := time.Now()
				w.publish(engine.Options{Delay: time.Hour})
				waits = append(waits, time.Since(began))
				runtime.Gosched()
			}
		})
		for b.Loop() {
			w.must(w.WriteSnapshot(io.Discard))
		}
		done.Store(true)
		loader.Wait()
		slices.Sort(waits)
		b.ReportMetric(float64(waits[len(waits)-1].Microseconds())/1000, "longest-ms")
		b.ReportMetric(float64(waits[len(waits)*999/1000].Microseconds())/1000, "p99.9-ms")
		b.ReportMetric(float64(len(waits))/b.Elapsed().Seconds(), "publishes/s")
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			_, err := engine.ReadSnapshot(bytes.NewReader(text.Bytes()))
			w.must(err)
		}
	})
	b.Run("heap beside the state", func(b *testing.B) {
		text = bytes.Buffer{}
		peak, base := uint64(0), heap()
		sample := writerFunc(func(p []byte) (int, error) {
			size++
			if size%256 == 0 {
				peak = max(peak, heap())
			}
			return len(p), nil
		})
		for b.Loop() {
			w.must(w.WriteSnapshot(sample))
		}
		b.ReportMetric(float64(base)/(1<<20), "state-MB")
		b.ReportMetric(float64(peak-base)/(1<<20), "beside-MB")
	})
}

// heap is what is reachable, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type writerFunc func([]byte) (int, error)

// Write calls f.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
