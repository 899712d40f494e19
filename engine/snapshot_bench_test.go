package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
)

// BenchmarkSnapshot writes and reads 100,000 delayed messages.
func BenchmarkSnapshot(b *testing.B) {
	w := setup(b)
	for i := range 100_000 {
		w.send(engine.PublishRequest{URL: fmt.Sprintf("https://app.test/%d", i%100), Body: []byte("hello"), Options: engine.Options{Delay: time.Duration(i) * time.Second}})
	}
	text := w.document()
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			w.must(w.WriteSnapshot(io.Discard))
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			_, err := engine.ReadSnapshot(bytes.NewReader(text))
			w.must(err)
		}
	})
}
