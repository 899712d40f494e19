package traffic_test

import (
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

// TestPositionsStay checks that positions count requests that are no longer kept.
func TestPositionsStay(t *testing.T) {
	t.Parallel()
	j := traffic.Exchanges{}
	j.CountIn(&engine.Ledger{})
	for range traffic.Limit + 2 {
		j.Add(&traffic.Exchange{})
	}
	kept, dropped := j.List(0, traffic.Filter{})
	expect.Equal(t, "number of dropped requests", dropped, 2)
	expect.Equal(t, "position of the oldest", kept[0].Position, 2)
	expect.Equal(t, "position of the latest", kept[len(kept)-1].Position, traffic.Limit+1)
	j.Clear()
	j.Add(&traffic.Exchange{})
	kept, _ = j.List(0, traffic.Filter{})
	expect.Equal(t, "position after all others were cleared", kept[0].Position, traffic.Limit+2)
}
