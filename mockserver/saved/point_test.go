package saved_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/spec/api"
)

// noise returns a function that writes n bytes that do not compress.
func noise(n int) func(io.Writer) error {
	return func(to io.Writer) error {
		sum := sha256.Sum256([]byte{byte(n)})
		for ; n > 0; n -= len(sum) {
			if _, err := to.Write(sum[:min(n, len(sum))]); err != nil {
				return err
			}
			sum = sha256.Sum256(sum[:])
		}
		return nil
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	keep := func(t *testing.T, s *saved.Points, label string, n int) (saved.Point, error) {
		t.Helper()
		return s.Keep(t.Context(), saved.Point{Account: "a", UndoPoint: api.UndoPoint{Label: label}}, noise(n))
	}
	t.Run("a point that was kept can be read", func(t *testing.T) {
		t.Parallel()
		s := saved.NewPoints(10_000)
		p, err := keep(t, s, "x", 5000)
		expect.Nil(t, "error", err)
		_, document, err := s.Read("a", p.ID)
		expect.Nil(t, "error", err)
		text, err := io.ReadAll(document)
		expect.Nil(t, "error", err)
		expect.Equal(t, "bytes", len(text), 5000)
	})
	t.Run("the oldest point is dropped to make room", func(t *testing.T) {
		t.Parallel()
		s := saved.NewPoints(10_000)
		for _, label := range []string{"one", "two", "three"} {
			_, err := keep(t, s, label, 4000)
			expect.Nil(t, "error", err)
		}
		expect.Equal(t, "points", len(s.List("a")), 2)
		expect.Equal(t, "oldest label", s.List("a")[1].Label, "two")
		expect.True(t, "the bytes are within the bound", s.Used() <= 10_000)
	})
	t.Run("a point that is too large is refused and drops no other point", func(t *testing.T) {
		t.Parallel()
		s := saved.NewPoints(10_000)
		_, err := keep(t, s, "small", 4000)
		expect.Nil(t, "error", err)
		_, err = keep(t, s, "large", 11_000)
		expect.True(t, "the store is full", errors.Is(err, refusal.Full))
		expect.Equal(t, "points", len(s.List("a")), 1)
	})
	t.Run("a dropped point no longer counts", func(t *testing.T) {
		t.Parallel()
		s := saved.NewPoints(10_000)
		p, err := keep(t, s, "x", 4000)
		expect.Nil(t, "error", err)
		s.Drop(p.ID)
		s.Drop(p.ID)
		expect.Equal(t, "bytes", s.Used(), 0)
	})
}
