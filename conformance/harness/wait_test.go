package harness

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

// realClock returns a clock that waits in real time and receives no deliveries.
func realClock() *Clock {
	c := &Clock{arrived: func() <-chan struct{} { return nil }}
	c.timing.Scale = 1
	c.timing.Poll.First, c.timing.Poll.Factor, c.timing.Poll.Max = time.Millisecond, 2, 4*time.Millisecond
	return c
}

// movedClock returns the clock of a target that appends the requests of its control API to calls.
func movedClock(t *testing.T, status int, calls *[]string) *Clock {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ By, Timeout string }
		_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
		*calls = append(*calls, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+body.By))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"now": 86400000}`))
	}))
	t.Cleanup(server.Close)
	return &Clock{control: server.URL + "/control", Account: "one", http: server.Client(), timing: target.Timing{}}
}

func TestEventually(t *testing.T) {
	t.Parallel()
	notYet := errors.New("not yet")
	t.Run("a check that passes is called once", func(t *testing.T) {
		t.Parallel()
		n := 0
		if err := realClock().Eventually(t.Context(), time.Hour, func() error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		if n != 1 {
			t.Errorf("called %d times, want 1", n)
		}
	})
	t.Run("a check is repeated until it passes", func(t *testing.T) {
		t.Parallel()
		n := 0
		err := realClock().Eventually(t.Context(), time.Hour, func() error {
			if n++; n < 5 {
				return notYet
			}
			return nil
		})
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
	})
	t.Run("the last error is returned when the budget is spent", func(t *testing.T) {
		t.Parallel()
		if err := realClock().Eventually(t.Context(), time.Millisecond, func() error { return notYet }); !errors.Is(err, notYet) {
			t.Errorf("error %v, want %v", err, notYet)
		}
	})
	t.Run("a missing operation ends the wait at once", func(t *testing.T) {
		t.Parallel()
		n, missing := 0, &missingOperation{&report.Failure{Message: "the request was refused"}}
		if err := realClock().Eventually(t.Context(), time.Hour, func() error { n++; return missing }); !errors.Is(err, missing) {
			t.Errorf("error %v, want %v", err, missing)
		}
		if n != 1 {
			t.Errorf("called %d times, want 1", n)
		}
	})
	t.Run("a failed prerequisite is checked again", func(t *testing.T) {
		t.Parallel()
		n := 0
		err := realClock().Eventually(t.Context(), time.Hour, func() error {
			if n++; n < 3 {
				return Inconclusive(report.PrerequisiteFailed, "no run yet")
			}
			return nil
		})
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
	})
}

func TestWaitsEndEarly(t *testing.T) {
	t.Parallel()
	notYet := errors.New("not yet")
	t.Run("a delivery ends the wait between two checks", func(t *testing.T) {
		t.Parallel()
		c, arrived, n := realClock(), make(chan struct{}), 0
		c.timing.Poll.First = time.Hour
		c.arrived = func() <-chan struct{} { return arrived }
		err := c.Eventually(t.Context(), 2*time.Hour, func() error {
			if n++; n == 1 {
				close(arrived)
				return notYet
			}
			return nil
		})
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
	})
	t.Run("the end of the run ends the wait, and the error names it", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&Exhausted{Limit: "limits.wall: 1m0s"})
		c := realClock()
		c.timing.Poll.First = time.Hour
		err := c.Eventually(ctx, 2*time.Hour, func() error { return notYet })
		if !errors.Is(err, notYet) {
			t.Errorf("error %v, want %v", err, notYet)
		}
		if limit := (*Exhausted)(nil); !errors.As(err, &limit) {
			t.Errorf("error %v, want it to name the limit", err)
		}
	})
}

func TestMovedClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact string
		use  func(*Clock) error
		want []string
	}{
		{"time passes by advancing the clock of the account", func(c *Clock) error { return c.Pass(t.Context(), time.Minute) }, []string{"POST /control/clock/advance?account=one 1m0s"}},
		{"a duration of 0 waits for what is due", func(c *Clock) error { return c.Pass(t.Context(), 0) }, []string{"POST /control/settle?account=one"}},
		{"a check that passes does not advance the clock", func(c *Clock) error { return c.Eventually(t.Context(), time.Hour, func() error { return nil }) }, []string{"POST /control/settle?account=one"}},
		{"a check that fails advances the clock", func(c *Clock) error {
			n := 0
			return c.Eventually(t.Context(), time.Hour, func() error {
				if n++; n < 3 {
					return errors.New("not yet")
				}
				return nil
			})
		}, []string{"POST /control/settle?account=one", "POST /control/clock/advance?account=one 1s", "POST /control/clock/advance?account=one 15s"}},
		{"the time is the target's", func(c *Clock) error {
			got, err := c.Target(t.Context())
			if want := time.UnixMilli(86400000); err == nil && !got.Equal(want) {
				return errors.New("time " + got.String() + ", want " + want.String())
			}
			return err
		}, []string{"GET /control/clock?account=one"}},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			var calls []string
			if err := c.use(movedClock(t, http.StatusOK, &calls)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, calls); diff != "" {
				t.Errorf("calls, want (-) and got (+):\n%s", diff)
			}
		})
	}
	t.Run("a failing driver is not a verdict on the target", func(t *testing.T) {
		t.Parallel()
		var calls []string
		err := movedClock(t, http.StatusInternalServerError, &calls).Pass(t.Context(), time.Second)
		none := (*NoVerdict)(nil)
		if !errors.As(err, &none) {
			t.Fatalf("error %v, want one without a verdict", err)
		}
		if none.Reason != report.DriverFailed {
			t.Errorf("reason %q, want %q", none.Reason, report.DriverFailed)
		}
	})
}

func TestHopes(t *testing.T) {
	t.Parallel()
	shown := func(h *hopes, times int, after time.Duration) {
		h.look("a log", func(of *hope) { of.held, of.slowest = times, after })
	}
	missed := func(h *hopes, by ...string) {
		for _, scenario := range by {
			h.look("a log", func(of *hope) { of.missed[scenario] = true })
		}
	}
	for _, c := range []struct {
		fact   string
		happen func(*hopes)
		budget time.Duration
		lost   bool
	}{
		{"what was never awaited has its whole budget", func(h *hopes) { h.confirming = true }, time.Minute, false},
		{"what was shown soon has its whole budget", func(h *hopes) { shown(h, 1, 0) }, time.Minute, false},
		{"what was shown soon has less in a confirmation", func(h *hopes) { shown(h, 1, time.Millisecond); h.confirming = true }, patience, false},
		{"what was shown late has ten times as long", func(h *hopes) { shown(h, 1, 2*time.Second); h.confirming = true }, 20 * time.Second, false},
		{"what was shown very late has its whole budget", func(h *hopes) { shown(h, 1, 50*time.Second); h.confirming = true }, time.Minute, false},
		{"what was missed in two scenarios may come", func(h *hopes) { missed(h, "a", "b") }, time.Minute, false},
		{"what one scenario missed often may come", func(h *hopes) { missed(h, "a", "a", "a") }, time.Minute, false},
		{"what was missed in three scenarios is lost", func(h *hopes) { missed(h, "a", "b", "c") }, time.Minute, true},
		{"what was missed once is lost when that is confirmed", func(h *hopes) { missed(h, "a"); h.confirming = true }, time.Minute, true},
		{"what was shown once is never lost", func(h *hopes) { missed(h, "a", "b", "c"); shown(h, 1, 0) }, time.Minute, false},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			h := &hopes{}
			c.happen(h)
			if got := h.within("a log", time.Minute); got != c.budget {
				t.Errorf("budget %s, want %s", got, c.budget)
			}
			if got := h.lost("a log"); got != c.lost {
				t.Errorf("lost %v, want %v", got, c.lost)
			}
		})
	}
}
