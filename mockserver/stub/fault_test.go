package stub_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

func list(t *testing.T, rules ...stub.Fault) *stub.Faults {
	t.Helper()
	compiled, err := stub.CompileFaults(rules, func(id string) bool { return id == "publishMessage" })
	expect.NoError(t, err)
	var l stub.Faults
	l.Set(compiled, 1)
	return &l
}

func TestRespond(t *testing.T) {
	t.Parallel()
	l := list(t, stub.Fault{On: "api", Operation: "publishMessage", Status: 503, Times: 1}, stub.Fault{On: "api", Status: 418})
	for i, want := range []int{503, 418, 418} {
		response, scripted := l.Respond(t.Context(), "publishMessage", "/v2/publish/x", http.Header{})
		if !scripted {
			t.Fatalf("request %d: no response", i)
		}
		if got := response.Status; got != want {
			t.Errorf("request %d: status %d, want %d", i, got, want)
		}
	}
	t.Run("a rule that is used up is not listed", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "number of rules", len(l.Get()), 1)
	})
	t.Run("without a rule there is no response", func(t *testing.T) {
		t.Parallel()
		if _, scripted := list(t).Respond(t.Context(), "publishMessage", "/", http.Header{}); scripted {
			t.Error("a response without a rule")
		}
	})
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule  stub.Fault
		made  int
		after time.Duration
	}{
		"no rule matches":             {stub.Fault{On: "delivery", URL: "https://other.test/*", Drop: true}, 1, 0},
		"dropped":                     {stub.Fault{On: "delivery", Drop: true}, 0, 0},
		"duplicated":                  {stub.Fault{On: "delivery", Duplicate: true}, 2, 0},
		"late on the account's clock": {stub.Fault{On: "delivery", Delay: "1h"}, 1, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := 0
			_, outcome := list(t, c.rule).Attempt(context.Background(), "", "https://app.test/hook", http.Header{}, func() engine.Outcome {
				made++
				return engine.Outcome{Status: 200}
			})
			expect.Equal(t, "number of deliveries", made, c.made)
			expect.Equal(t, "outcome", outcome.After, c.after)
		})
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]stub.Fault{
		"neither api nor delivery": {Drop: true},
		"unknown operation":        {On: "api", Operation: "nothing", Status: 500},
		"a status for delivery":    {On: "delivery", Status: 500},
		"a URL for the api":        {On: "api", URL: "*", Status: 500},
		"no failure":               {On: "api"},
		"probability above 1":      {On: "api", Status: 500, Probability: 2},
		"a delay without a unit":   {On: "api", Delay: "soon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := rule.Compile(func(string) bool { return false }); err == nil {
				t.Error("got no error, want one")
			}
		})
	}
}
