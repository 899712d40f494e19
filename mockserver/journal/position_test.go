package journal_test

import (
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver/journal"
)

// TestPositionsStay checks that positions count requests that are no longer kept.
func TestPositionsStay(t *testing.T) {
	t.Parallel()
	j := journal.Exchanges{}
	j.CountIn(&engine.Ledger{})
	for range journal.Limit + 2 {
		j.Add(&journal.Exchange{})
	}
	kept, dropped := j.List(0, journal.Filter{})
	expect.Equal(t, "number of dropped requests", dropped, 2)
	expect.Equal(t, "position of the oldest", kept[0].Position, 2)
	expect.Equal(t, "position of the latest", kept[len(kept)-1].Position, journal.Limit+1)
	j.Clear()
	j.Add(&journal.Exchange{})
	kept, _ = j.List(0, journal.Filter{})
	expect.Equal(t, "position after all others were cleared", kept[0].Position, journal.Limit+2)
}
