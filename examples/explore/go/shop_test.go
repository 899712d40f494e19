package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

func TestTheShopIsRightWhateverTheServiceDoes(t *testing.T) {
	mockserver.Explore(t, mockserver.ExploreConfig{}, checkout())
}

// checkout is the scenario: an order, and a day.
func checkout(bugs ...string) func(c *mockserver.ExploreCase) {
	return func(c *mockserver.ExploreCase) {
		s := New(c.ListensAt(), c.Token(), func(name string) string { return c.Outside(name).URL() }, bugs...)
		app := httptest.NewServer(s)
		c.Cleanup(app.Close)
		s.URL = app.URL
		orders := func() (text []byte) {
			s.set(func() { text, _ = json.Marshal(s.orders) })
			return text
		}
		c.State(func() any { return json.RawMessage(orders()) })
		c.Check(func() error {
			if strings.Contains(string(orders()), `"none"`) {
				return errors.New("an order has no receipt, and nobody knows it")
			}
			return nil
		})
		c.Do(func() error { return s.call(s.URL+"/checkout", 1) })
		c.Advance(24 * time.Hour)
	}
}

func TestEachPlantedBugIsFound(t *testing.T) {
	for _, c := range []struct {
		bug, fault, says string
		depth            int
	}{
		{"not-idempotent", "repeat", "duplicated effect: payments", 1},
		{"effect-before-lost-answer", "lost-answer", "duplicated effect: payments", 1},
		{"order-assumed", "lost-request", "lost effect: payments", 1},
		{"swallowed-error", "refuse-call", "lost effect: mail", 1},
		{"no-failure-callback", "lost-request", "nobody knows it", 1},
		{"two-faults", "lost-answer", "duplicated effect: payments", 2},
	} {
		t.Run(c.bug, func(t *testing.T) {
			for depth := 1; depth <= c.depth; depth++ {
				list := &findings{TB: t}
				mockserver.Explore(list, mockserver.ExploreConfig{Depth: depth}, checkout(c.bug))
				found := false
				for _, text := range list.texts {
					found = found || strings.Contains(text, c.says) && strings.Count(text, "      "+c.fault+" at ") == depth
				}
				if found != (depth == c.depth) || depth < c.depth && len(list.texts) > 0 {
					t.Errorf("with %d faults: found is %v, want it with %d; findings:\n%s", depth, found, c.depth, strings.Join(list.texts, "\n"))
				}
			}
		})
	}
}

// findings collects the failures of a test.
type findings struct {
	mockserver.TB
	texts []string
}

func (f *findings) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}
