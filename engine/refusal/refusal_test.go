package refusal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine/refusal"
)

func TestARefusalIsOneLine(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		err  refusal.Error
		want string
	}{
		{"a value that breaks a rule", refusal.Error{What: "header Svc-Retries", Value: "many", Want: "an integer from 0 to 1000000000"}, `header Svc-Retries: invalid value "many": must be an integer from 0 to 1000000000`},
		{"a value and why", refusal.Error{What: "cron", Value: "x", Why: "no next time", Want: "five fields"}, `cron: invalid value "x": no next time: must be five fields`},
		{"no value", refusal.Error{What: "body", Why: "empty", Want: "a JSON object"}, "body: empty: must be a JSON object"},
		{"a thing", refusal.Error{What: "queue", Value: "q", Why: "not found"}, `queue "q": not found`},
		{"a thing without a name", refusal.Error{What: "backlog", Why: "3 messages are not delivered"}, "backlog: 3 messages are not delivered"},
		{"in a larger request", refusal.Error{Place: "item 3", What: "queue", Value: "q", Why: "not found"}, `item 3: queue "q": not found`},
		{"several lines", refusal.Error{What: "queue", Value: "a\nb", Why: "no\r\n good"}, `queue "a\nb": no good`},
		{"a long value", refusal.Error{What: "queue", Value: strings.Repeat("x", 100), Why: "not found"}, `queue "` + strings.Repeat("x", 80) + `...": not found`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := row.err.Error(); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestAPlaceKeepsTheRefusal(t *testing.T) {
	t.Parallel()
	inner := &refusal.Error{What: "queue", Value: "q", Why: "not found", Kind: refusal.NotFound}
	placed := refusal.At("/queues/0", fmt.Errorf("wrapped: %w", refusal.At("name", inner)))
	if got, want := placed.Error(), `/queues/0: name: queue "q": not found`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := refusal.At("/queues", refusal.At("/0", inner)).Error(), `/queues/0: queue "q": not found`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := refusal.At("/queues", refusal.At("/0", inner)).Error(), `/queues/0: queue "q": not found`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !errors.Is(placed, refusal.NotFound) {
		t.Error("the kind is lost")
	}
	if inner.Place != "" {
		t.Error("the inner refusal has changed")
	}
}
