package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// starts is how long after the publish each attempt began.
func (w *world) starts() []time.Duration {
	var at []time.Duration
	for _, a := range w.made() {
		at = append(at, a.At.Sub(a.Message.CreatedAt.Time()))
	}
	return at
}

func TestDefaultRetriesFollowTheDocumentedInstants(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = always(503)
	id := w.publish(engine.Options{})
	w.advance(48 * time.Hour)
	first, second, third := 12*time.Second, 2*time.Minute+28*time.Second, 30*time.Minute+8*time.Second
	want := []time.Duration{0, first, first + second, first + second + third}
	if got := w.starts(); !slices.Equal(got, want) {
		t.Errorf("attempts at %v, want %v", got, want)
	}
	wantStates := strings.Fields("CREATED ACTIVE ERROR RETRY ACTIVE ERROR RETRY ACTIVE ERROR RETRY ACTIVE ERROR FAILED")
	if got := w.states(id); !slices.Equal(got, wantStates) {
		t.Errorf("log %v", got)
	}
	dlq := w.dlq()
	if expect.Equal(t, "number of dlq", len(dlq), 1) {
		expect.Equal(t, "message of the first entry", dlq[0].Message.ID, id)
		expect.Equal(t, "last status of the first entry", dlq[0].Last.Status, 503)
		expect.Equal(t, "retries of the first entry", dlq[0].Message.Retried, 3)
	}
	if _, err := w.Message(id); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("the failed message is still there: %v", err)
	}
}

func TestBackoffGrowsToOneDay(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = always(500)
	w.publish(engine.Options{Retries: new(6)})
	w.advance(30 * 24 * time.Hour)
	starts := w.starts()
	want := []time.Duration{12 * time.Second, 148 * time.Second, 1808 * time.Second, 22026 * time.Second, 24 * time.Hour, 24 * time.Hour}
	for i, wait := range want {
		if got := starts[i+1] - starts[i]; got != wait {
			t.Errorf("wait %d is %v, want %v", i+1, got, wait)
		}
	}
}

// TestTheRunViewShowsTheBackoff compares the default formula that a run shows with the waits
// that its endpoint sees.
func TestTheRunViewShowsTheBackoff(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = always(500)
	w.send(engine.PublishRequest{URL: sink, Trigger: true, Options: engine.Options{Workflow: &engine.Workflow{Init: new(true)}}})
	w.advance(24 * time.Hour)
	runs, err := w.RunViews(engine.Filter{})
	w.must(err)
	shown, err := engine.ParseFormula(runs.Items[0].Groups[0].Steps[0].RetryDelay)
	w.must(err)
	starts := w.starts()
	for n := range engine.DefaultRetries {
		if got, want := starts[n+1]-starts[n], shown.Delay(n).Truncate(time.Second); got != want {
			t.Errorf("wait %d is %v, but the run shows %s: %v", n+1, got, shown, want)
		}
	}
}

func TestTheDestinationMaySetTheWait(t *testing.T) {
	t.Parallel()
	date := func(d time.Duration) string { return epoch.Add(d).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") }
	backoff := 12 * time.Second
	for _, c := range []struct {
		name   string
		header engine.Header
		want   time.Duration
	}{
		{"seconds", engine.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{"nothing", engine.Header{"Retry-After": {"0"}}, time.Millisecond},
		{"a part of a second", engine.Header{"Retry-After": {"0.25"}}, 250 * time.Millisecond},
		{"a duration", engine.Header{"X-Ratelimit-Reset": {"6m5s"}}, 365 * time.Second},
		{"requests", engine.Header{"X-Ratelimit-Reset-Requests": {"90"}}, 90 * time.Second},
		{"tokens", engine.Header{"X-Ratelimit-Reset-Tokens": {"1h"}}, time.Hour},
		{"a date", engine.Header{"Retry-After": {date(90 * time.Second)}}, 90 * time.Second},
		{"a date that is over", engine.Header{"Retry-After": {date(-time.Hour)}}, time.Millisecond},
		{"one day", engine.Header{"Retry-After": {"86400"}}, 24 * time.Hour},
		{"the first of several", engine.Header{"Retry-After": {"3"}, "X-Ratelimit-Reset": {"5"}}, 3 * time.Second},
		{"the first that is usable", engine.Header{"Retry-After": {"soon"}, "X-Ratelimit-Reset": {"5"}}, 5 * time.Second},
		{"beyond one day does not count", engine.Header{"Retry-After": {"86401"}}, backoff},
		{"a date beyond one day does not count", engine.Header{"Retry-After": {date(25 * time.Hour)}}, backoff},
		{"a negative wait does not count", engine.Header{"Retry-After": {"-1"}}, backoff},
		{"a negative duration does not count", engine.Header{"Retry-After": {"-1s"}}, backoff},
		{"no number does not count", engine.Header{"Retry-After": {"NaN"}}, backoff},
		{"infinity does not count", engine.Header{"Retry-After": {"Inf"}}, backoff},
		{"empty does not count", engine.Header{"Retry-After": {""}}, backoff},
		{"an overflow does not count", engine.Header{"Retry-After": {"1e300"}}, backoff},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.answer = func(engine.Attempt) engine.Outcome { return engine.Outcome{Status: 429, Header: c.header} }
			w.publish(engine.Options{Retries: new(1)})
			w.advance(48 * time.Hour)
			if got := w.starts(); !slices.Equal(got, []time.Duration{0, c.want}) {
				t.Errorf("attempts at %v, want the second at %v", got, c.want)
			}
		})
	}
}

func TestNonRetryableGoesStraightToTheDLQ(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		status   int
		header   engine.Header
		attempts int
	}{
		{"489 with its header", 489, engine.Header{"Svc-Nonretryable-Error": {"true"}}, 1},
		{"489 without it", 489, nil, 4},
		{"489 that says false", 489, engine.Header{"Svc-Nonretryable-Error": {"false"}}, 4},
		{"another status with the header", 500, engine.Header{"Svc-Nonretryable-Error": {"true"}}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.answer = func(engine.Attempt) engine.Outcome { return engine.Outcome{Status: c.status, Header: c.header} }
			w.publish(engine.Options{})
			w.advance(48 * time.Hour)
			if n := len(w.made()); n != c.attempts || len(w.dlq()) != 1 {
				t.Errorf("%d attempts, want %d; %d DLQ entries", n, c.attempts, len(w.dlq()))
			}
		})
	}
}

func TestFormulaSetsTheWait(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]time.Duration{
		"1000":                                   {time.Second, time.Second, time.Second},
		"(1 + retried) * 500":                    {500 * time.Millisecond, time.Second, 1500 * time.Millisecond},
		"pow(2, retried) * 1000":                 {time.Second, 2 * time.Second, 4 * time.Second},
		"min(1500, 1000*(retried+1))":            {time.Second, 1500 * time.Millisecond, 1500 * time.Millisecond},
		"max(1,2)+sqrt(16)+abs(-3)":              {9 * time.Millisecond, 9 * time.Millisecond, 9 * time.Millisecond},
		"floor(1.9)+ceil(1.1)+round(1.5)+exp(0)": {6 * time.Millisecond, 6 * time.Millisecond, 6 * time.Millisecond},
		"10/4":                                   {2 * time.Millisecond, 2 * time.Millisecond, 2 * time.Millisecond},
		"pow(10, 12)":                            {24 * time.Hour, 24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f, err := engine.ParseFormula(text)
			expect.NoError(t, err)
			w := setup(t)
			w.answer = always(500)
			w.publish(engine.Options{RetryDelay: f})
			w.advance(96 * time.Hour)
			if got := w.starts(); !slices.Equal(got, []time.Duration{0, want[0], want[0] + want[1], want[0] + want[1] + want[2]}) {
				t.Errorf("attempts at %v", got)
			}
		})
	}
}

func TestFormulaFaultsAreRefusedInOneLine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "1/0", "retried/0", "0/0", "1000/(retried-1)", "unknown(1)", "retried.x", "foo", "1 +", "(1", "pow(2)", "pow(2,9999)",
		"0-5", "10-retried*6", "1e999", "true", "nil", "1..5", "2**3", "sqrt(0-1)", "1\n+2", "1;2", "\"a\"", "len(retried)",
		"retried in 1..3", "not retried", strings.Repeat("1+", 300) + "1", "1//0", "1/*2*/", "1,2", "exp(exp(exp(9)))",
	} {
		f, err := engine.ParseFormula(text)
		if err == nil { // a fault may show only for later retries
			w := setup(t)
			_, err = w.Publish(engine.PublishRequest{URL: sink, Options: engine.Options{RetryDelay: f}})
		}
		switch {
		case err == nil:
			t.Errorf("%.40q is accepted", text)
		case !errors.Is(err, engine.ErrInvalid) || strings.ContainsAny(err.Error(), "\n\r"):
			t.Errorf("%.40q: error %q", text, err)
		}
	}
}

// Whatever the text, formula.Parse neither panics nor accepts what gives no wait.
func TestAnyFormulaGivesAWaitWithinADayOrIsRefused(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"1", "0", "2.5", "retried", "+", "-", "*", "/", "(", ")", ",", " ", "pow(", "min(", "exp(", "sqrt(", "1e9", ".", "x"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(word, 1, 9).Draw(t, "text"), "")
		f, err := engine.ParseFormula(text)
		if err != nil {
			if !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: %q", text, err)
			}
			return
		}
		for n := range 5 {
			if d := f.Delay(n); d < 0 || d > 24*time.Hour {
				t.Fatalf("%q waits %v", text, d)
			}
		}
	})
}

func TestNoResponseIsAFailedAttempt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer = func(at engine.Attempt) engine.Outcome {
		switch at.Number {
		case 0:
			return engine.Outcome{Err: "connection refused"}
		case 1:
			panic("boom")
		}
		return engine.Outcome{Status: 204}
	}
	id := w.publish(engine.Options{})
	w.advance(time.Hour)
	var errs []string
	for _, e := range w.events(engine.Filter{IDs: []string{id}, States: []string{"ERROR"}}) {
		errs = append(errs, e.Error)
	}
	if want := []string{"connection refused", "internal fault while delivering: boom"}; !slices.Equal(errs, want) {
		t.Errorf("errors %q, want %q", errs, want)
	}
	if s := w.states(id); s[len(s)-1] != "DELIVERED" {
		t.Errorf("log %v", s)
	}
}

func TestNotBeforeWinsOverDelayAndThePastDeliversAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		opts engine.Options
		want time.Duration
	}{
		{"delay", engine.Options{Delay: time.Minute}, time.Minute},
		{"not before", engine.Options{NotBefore: epoch.Add(time.Hour)}, time.Hour},
		{"both", engine.Options{NotBefore: epoch.Add(time.Hour), Delay: time.Minute}, time.Hour},
		{"the past", engine.Options{NotBefore: epoch.Add(-time.Hour)}, 0},
		{"the past and a delay", engine.Options{NotBefore: epoch.Add(-time.Hour), Delay: time.Minute}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.publish(c.opts)
			w.advance(max(0, c.want-time.Millisecond))
			if n := len(w.made()); c.want > 0 && n != 0 {
				t.Errorf("delivered %d a millisecond too early", n)
			}
			w.advance(time.Millisecond)
			expect.Equal(t, "number of attempts", len(w.made()), 1)
		})
	}
}
