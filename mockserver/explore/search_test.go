package explore_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/explore"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/spec"
)

// app is an application that is a function; its scenario publishes a message to /start.
type app struct {
	handle  func(a *app, r *http.Request) error
	headers []string // of the first message; the application is http://app.test
	check   func() error
	state   func() any
	quiet   time.Duration // instead of explore.DefaultQuiet

	service *mockserver.Server
	account *engine.Account
	server  *httptest.Server
	cases   []*explore.Observation
}

func (a *app) Reset(context.Context) error {
	if a.server != nil {
		a.server.Close()
	}
	a.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := a.handle(a, r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	return nil
}

func (a *app) Play(ctx context.Context, c *explore.Case) error {
	headers := slices.Clone(a.headers)
	for i := range headers {
		headers[i] = strings.Replace(headers[i], "http://app.test", a.server.URL, 1)
	}
	if err := c.Do(ctx, func() error { return a.publish("/start", headers...) }); err != nil {
		return err
	}
	return c.Advance(ctx, 24*time.Hour)
}

func (a *app) State(context.Context) ([]byte, error) {
	if a.state == nil {
		return nil, nil
	}
	return json.Marshal(a.state())
}

func (a *app) Quiet() (time.Duration, bool) { return cmp.Or(a.quiet, explore.DefaultQuiet), false }
func (a *app) Check(_ context.Context, o *explore.Observation) error {
	a.cases = append(a.cases, o)
	if a.check != nil {
		return a.check()
	}
	return nil
}

func (a *app) publish(path string, headers ...string) error {
	return programs.Post(a.service.ListensAt()+"/v2/publish/"+a.server.URL+path, a.service.Token(), "", headers...)
}

func (a *app) outside(service, key string) error {
	return programs.Post(a.service.ListensAt()+stub.OutsidePath+service+"/calls", a.service.Token(), "", "Idempotency-Key: "+key)
}

// ended ends a run.
func (a *app) ended(run string) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, a.service.ListensAt()+"/v2/workflows/runs/"+run+"?cancel=false", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.service.Token())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// explored explores an application.
func explored(t *testing.T, cfg explore.Config, a *app) (*explore.Result, error) {
	t.Helper()
	s, service, err := mockserver.RunExplored(mockserver.Config{Log: slog.New(slog.DiscardHandler)})
	expect.NoError(t, err)
	t.Cleanup(func() {
		a.server.Close()
		_ = s.Close()
	})
	a.service, a.account = s, service.Account
	return explore.Run(t.Context(), cfg, explore.Worker{Service: service, Scenario: a})
}

// texts are the findings.
func texts(r *explore.Result) string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, f.Text())
	}
	return strings.Join(all, "\n")
}

// once has each effect once: it is right whatever the service does.
func once(a *app, r *http.Request) error { return a.outside("payments", r.URL.Path) }

func TestSecondFaultReachesAFailureCallback(t *testing.T) {
	t.Parallel()
	a := &app{handle: once, headers: []string{"Svc-Retries: 0", "Svc-Failure-Callback: http://127.0.0.1:1/failed"}}
	r, err := explored(t, explore.Config{Faults: []explore.Fault{explore.LostRequest}, Allow: []explore.Allowed{{Effect: "*", Because: "not of interest"}}}, a)
	expect.NoError(t, err)
	expect.Equal(t, "cases with two faults", r.Levels[1].Done, 1)
	expect.Equal(t, "cases that were not reached", r.Unreached, 0)
}

// If the failure callback reaches the application in no attempt, the application cannot know of the failure.
func TestCheckIsExcusedOnlyIfTheApplicationCouldNotLearnOfTheFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deaf bool // the application does nothing about a failure callback
		want int
	}{"an application that learns of failures": {false, 0}, "one that ignores them": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := false
			a := &app{headers: []string{"Svc-Retries: 0", "Svc-Failure-Callback: http://app.test/failed", "Svc-Failure-Callback-Retries: 0"}}
			a.handle = func(_ *app, r *http.Request) error {
				known = known || r.URL.Path == "/start" || !c.deaf
				return nil
			}
			a.check = func() error {
				defer func() { known = false }()
				if !known {
					return errors.New("the order is in no state")
				}
				return nil
			}
			r, err := explored(t, explore.Config{Faults: []explore.Fault{explore.LostRequest}}, a)
			expect.NoError(t, err)
			expect.Equal(t, "findings: "+texts(r), len(r.Findings), c.want)
			expect.Equal(t, "cases with two faults", r.Levels[1].Done, 1-c.want)
		})
	}
}

func TestMessageInTheDLQThatHasAttemptsLeftIsAFinding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ retries, want int }{"one attempt left": {1, 1}, "none left": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &app{headers: []string{fmt.Sprintf("Svc-Retries: %d", c.retries)}}
			a.handle = func(_ *app, r *http.Request) error {
				if r.Header.Get("Svc-Retried") != "0" {
					return errors.New("this message is known")
				}
				return nil
			}
			r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.LostAnswer}}, a)
			expect.NoError(t, err)
			expect.Equal(t, "findings: "+texts(r), len(r.Findings), c.want)
			if c.want > 0 {
				expect.Contains(t, "the finding", texts(r), "in the DLQ, although the plan left it attempts: start.1 > /start")
			}
		})
	}
}

func TestCallThatSubmitsAnotherStepWhenItIsRepeatedIsAFinding(t *testing.T) {
	t.Parallel()
	a := &app{headers: []string{"Svc-Workflow-RunId: run", "Svc-Workflow-Init: true"}}
	a.handle = func(a *app, r *http.Request) error {
		list, err := io.ReadAll(r.Body)
		if err != nil || strings.Count(string(list), `"callType"`) > 1 { // the step has a result
			return errors.Join(err, a.ended("run"))
		}
		step, err := json.Marshal(map[string]any{"stepId": 1, "stepName": "charge " + r.Header.Get("Svc-Retried"), "stepType": "Run", "out": "1", "concurrent": 1})
		if err != nil {
			return err
		}
		body, err := json.Marshal([]map[string]any{{"destination": a.server.URL + "/start", "body": string(step), "headers": map[string]string{"Svc-Workflow-RunId": "run", "Svc-Workflow-Init": "false", "Svc-Delay": "1h"}}})
		if err != nil {
			return err
		}
		return programs.Post(a.service.ListensAt()+"/v2/batch", a.service.Token(), string(body), "Content-Type: application/json")
	}
	r, err := explored(t, explore.Config{Faults: []explore.Fault{explore.LostAnswer}, Depth: 1, Cases: 1}, a)
	expect.NoError(t, err)
	expect.Contains(t, "findings", texts(r), `a repeated call of a run submits step "charge 1", the first one submitted "charge 0"`)
}

func TestFailureThatAHandlerHidesIsNamed(t *testing.T) {
	t.Parallel()
	r, err := explored(t, explore.Config{Faults: []explore.Fault{explore.OutsideDown}, Depth: 1}, &app{handle: func(a *app, r *http.Request) error {
		_ = once(a, r) // its error is not looked at
		return nil
	}})
	expect.NoError(t, err)
	expect.Contains(t, "findings", texts(r), "hidden failure: payments POST /calls failed and was not repeated, but /start was answered 200")
}

func TestVariantsOfFaultsAreTriedOnRequest(t *testing.T) {
	t.Parallel()
	for variants, want := range map[bool]int{false: 0, true: 1} {
		r, err := explored(t, explore.Config{Variants: variants, Depth: 1}, &app{handle: once})
		expect.NoError(t, err)
		tried := 0
		for _, c := range r.Cases {
			if c.Plan[0].Fault == explore.LostGateway {
				tried++
			}
		}
		expect.Equal(t, fmt.Sprintf("cases with 503 of a gateway, variants %v", variants), tried, want)
		expect.Equal(t, "findings", texts(r), "")
	}
}

func TestWhatIsLeftOutShowsNothingElse(t *testing.T) {
	t.Parallel()
	bugs := map[string]func(a *app, r *http.Request) error{
		"none": func(a *app, r *http.Request) error {
			if r.URL.Path != "/start" {
				return once(a, r)
			}
			return errors.Join(a.publish("/first", "Svc-Deduplication-Id: 1"), a.publish("/second", "Svc-Deduplication-Id: 2"))
		},
		"two faults": func(a *app, r *http.Request) error {
			if r.URL.Path == "/start" {
				return a.publish("/first", "Svc-Deduplication-Id: 1")
			}
			return a.outside("payments", fmt.Sprint(r.Header.Get("Svc-Retried") == "2"))
		},
		"each attempt": func(a *app, r *http.Request) error { return a.outside("payments", r.Header.Get("Svc-Retried")) },
	}
	for name, handle := range bugs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := map[bool][]string{}
			for _, all := range []bool{false, true} {
				r, err := explored(t, explore.Config{NoReduction: all, Faults: []explore.Fault{explore.LostAnswer, explore.Repeat, explore.LostRequest}}, &app{handle: handle})
				expect.NoError(t, err)
				for _, f := range r.Findings {
					found[all] = append(found[all], f.ID)
				}
			}
			expect.Equal(t, "findings", fmt.Sprint(found[false]), fmt.Sprint(found[true]))
		})
	}
}

func TestLogNamesThePointAndTheFaultOfAnAttempt(t *testing.T) {
	t.Parallel()
	const point = "start.1 > /start#0@0"
	plan, err := explore.ParsePlan(explore.ShortName(point) + "=repeat")
	expect.NoError(t, err)
	a := &app{handle: once}
	expect.NoError(t, expect.ErrorOf(explored(t, explore.Config{Case: plan}, a)))
	p, err := a.account.Events(engine.Filter{})
	expect.NoError(t, err)
	var points []string
	for i := range p.Items {
		if o := p.Items[i].Outcome; o != nil && o.Point != "" {
			points = append(points, o.Point)
		}
	}
	expect.Equal(t, "points", strings.Join(points, ", "), point+"; fault: repeat")
}

func TestCallbackIsTheSameWithAFault(t *testing.T) {
	t.Parallel()
	a := &app{headers: []string{"Svc-Callback: http://app.test/callback"}}
	a.handle = func(a *app, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if strings.Contains(string(body), "bodyNote") {
			return errors.Join(err, a.outside("payments", "noted"))
		}
		return err
	}
	r, err := explored(t, explore.Config{Depth: 1}, a)
	expect.NoError(t, err)
	expect.Equal(t, "findings", texts(r), "")
}

func TestLateRepeatDoesNotHoldUpOtherDeliveries(t *testing.T) {
	t.Parallel()
	a := &app{handle: func(a *app, r *http.Request) error {
		if r.URL.Path == "/start" {
			return errors.Join(a.publish("/first", "Svc-Deduplication-Id: 1"), a.publish("/second", "Svc-Deduplication-Id: 2", "Svc-Delay: 1h"))
		}
		return once(a, r)
	}}
	expect.NoError(t, expect.ErrorOf(explored(t, explore.Config{Faults: []explore.Fault{explore.RepeatLate}, Depth: 1}, a)))
	for _, o := range a.cases {
		if len(o.Stuck) > 0 {
			t.Errorf("waited for another delivery: %v", o.Stuck)
		}
	}
}

func TestScenarioThatPublishesWithoutEndFails(t *testing.T) {
	t.Parallel()
	n := 0
	_, err := explored(t, explore.Config{}, &app{handle: func(a *app, _ *http.Request) error {
		n++
		return a.publish("/next", fmt.Sprintf("Svc-Deduplication-Id: %d", n))
	}})
	if want := "each delivery publishes the next one, 1000 times: /next"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a scenario without an end: got %v, want %s", err, want)
	}
}

func TestWhatAnApplicationDoesAfterItsAnswer(t *testing.T) {
	t.Parallel()
	const quiet = time.Second // also on a busy machine the call comes within it
	later := func(key string) func(a *app, r *http.Request) error {
		return func(a *app, r *http.Request) error {
			go a.outside("payments", key+r.Header.Get("Svc-Retried")) // as in an application that does not wait
			return nil
		}
	}
	t.Run("is no difference", func(t *testing.T) {
		t.Parallel()
		a := &app{quiet: quiet}
		a.handle = func(a *app, _ *http.Request) error {
			go a.outside("payments", "1") // as in an application that does not wait
			return nil
		}
		r, err := explored(t, explore.Config{Faults: []explore.Fault{explore.LostAnswer, explore.Repeat, explore.LostRequest, explore.Late, explore.Down}, Depth: 1}, a)
		expect.NoError(t, err)
		expect.Equal(t, "findings", texts(r), "")
	})
	t.Run("is compared", func(t *testing.T) {
		t.Parallel()
		r, err := explored(t, explore.Config{Faults: []explore.Fault{explore.LostAnswer}, Depth: 1}, &app{handle: later(""), quiet: quiet})
		expect.NoError(t, err)
		expect.Contains(t, "findings", texts(r), "duplicated effect: payments POST /calls, 2 instead of 1")
	})
}

func TestAfterAnOutageTheStateIsAsWithoutIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		back bool // the application takes back what it noted about the failure
		want string
	}{"an application that is right": {true, ""}, "one that keeps the failure": {false, `other state: /state is "failed", without the fault "done"`}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := ""
			a := &app{headers: []string{"Svc-Retries: 1", "Svc-Failure-Callback: http://app.test/failed"}}
			a.state = func() any {
				defer func() { state = "" }()
				return map[string]string{"state": state}
			}
			a.handle = func(a *app, r *http.Request) error {
				switch {
				case r.URL.Path == "/failed":
					state = "failed"
					return a.outside("mail", "sorry") // what a failure callback is for
				case c.back || state == "":
					state = "done"
				}
				return nil
			}
			r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.Down}}, a)
			expect.NoError(t, err)
			if expect.Contains(t, "findings", texts(r), c.want); c.want == "" {
				expect.Equal(t, "findings", texts(r), "")
			}
		})
	}
}

func TestRunThatDoesNotEndAfterItsRepairIsAFinding(t *testing.T) {
	t.Parallel()
	failed := false
	a := &app{headers: []string{"Svc-Workflow-RunId: run", "Svc-Workflow-Init: true", "Svc-Retries: 0", "Svc-Failure-Callback: http://app.test/failed"}}
	a.handle = func(a *app, r *http.Request) error {
		if r.URL.Path == "/failed" {
			failed = true
			return nil
		}
		if failed {
			failed = false
			return nil // it neither submits a step nor ends the run
		}
		return a.ended(r.Header.Get("Svc-Workflow-RunId"))
	}
	r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.Down}}, a)
	expect.NoError(t, err)
	expect.Contains(t, "findings", texts(r), "run start.1 > run /start#0: RUN_STARTED, without the fault RUN_SUCCESS")
}

func TestDifferenceOfAListNamesWhatIsMissingAndWhatIsExtra(t *testing.T) {
	t.Parallel()
	var orders []map[string]any
	n := 0
	a := &app{}
	a.state = func() any {
		defer func() { orders = nil }()
		return map[string]any{"orders": orders}
	}
	a.handle = func(_ *app, r *http.Request) error {
		for _, order := range []string{"b", "a", "c"} {
			if n++; order != "a" || r.Header.Get(published+"Retried") == "0" {
				orders = append(orders, map[string]any{"id": fmt.Sprintf("%x", (n*7919)%101), "order": order})
			}
		}
		if r.Header.Get(published+"Retried") == "1" { // the answer to the first attempt was lost
			orders = append(orders[3:], map[string]any{"id": "x", "order": "d"})
		}
		return nil
	}
	r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.LostAnswer}}, a)
	expect.NoError(t, err)
	expect.Equal(t, "volatile places", strings.Join(r.Volatile, " "), "/orders/*/id")
	expect.Contains(t, "the finding", texts(r), `"order":"a"}, also has {"id":"x","order":"d"}`)
	expect.Equal(t, "elements in both that are named", strings.Count(texts(r), `"order":"b"`)+strings.Count(texts(r), `"order":"c"`), 0)
}

// Each state of the outage is judged: an application without a failure callback relies on the DLQ, and one with it must use it.
func TestOutageOfAnOutsideServiceLastsUntilTheRetriesAreSpent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		callback, compensates bool
		want                  string
	}{
		"without a failure callback the DLQ is retried": {false, false, ""},
		"a failure callback that compensates":           {true, true, ""},
		"one that does not":                             {true, false, "neither paid nor cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := ""
			a := &app{headers: []string{"Svc-Retries: 1"}}
			if c.callback {
				a.headers = append(a.headers, "Svc-Failure-Callback: http://app.test/failed")
			}
			a.handle = func(a *app, r *http.Request) error {
				if r.URL.Path == "/failed" {
					if c.compensates {
						state = "cancelled"
					}
					return nil
				}
				if err := a.outside("payments", "1"); err != nil {
					return err
				}
				state = "paid"
				return nil
			}
			a.check = func() error {
				defer func() { state = "" }()
				if state == "" {
					return errors.New("neither paid nor cancelled")
				}
				return nil
			}
			r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.Outage}}, a)
			expect.NoError(t, err)
			if expect.Contains(t, "findings", texts(r), c.want); c.want == "" {
				expect.Equal(t, "findings", texts(r), "")
			}
			expect.Equal(t, "cases", len(r.Cases), 1)
		})
	}
}

func TestStepWhoseOutsideServiceIsDownIsDoneAgainAfterTheOutage(t *testing.T) {
	t.Parallel()
	a := &app{handle: once}
	r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.Outage}}, a)
	expect.NoError(t, err)
	expect.Equal(t, "findings", texts(r), "")
}

func TestFailureCallbackThatChangesNothingIsNoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ works, want int }{"one that notes the failure": {1, 0}, "one that does nothing": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := map[string]int{}
			a := &app{headers: []string{"Svc-Retries: 0", "Svc-Failure-Callback: http://app.test/failed"}}
			a.handle = func(_ *app, r *http.Request) error {
				calls[r.URL.Path] = 1
				if r.URL.Path == "/failed" {
					calls[r.URL.Path] = c.works
				}
				return nil
			}
			a.state = func() any {
				defer func() { calls = map[string]int{} }()
				return map[string]int{"done": calls["/start"], "failed": calls["/failed"]}
			}
			r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.LostRequest}}, a)
			expect.NoError(t, err)
			expect.Equal(t, fmt.Sprintf("notes %v", r.Idle), len(r.Idle), c.want)
			expect.Equal(t, "findings", texts(r), "")
		})
	}
}

// published is the prefix of headers of a fresh server.
var published = spec.BuiltInDialects().Named(spec.Published).HeaderPrefix

func TestEffectsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	rule := []explore.Order{{First: "stock *", Then: "payments *"}}
	a := &app{handle: func(a *app, r *http.Request) error {
		if r.Header.Get(published+"Retried") == "0" {
			return errors.Join(a.outside("stock", "1"), a.outside("payments", "1"))
		}
		return errors.Join(a.outside("payments", "1"), a.outside("stock", "1"))
	}}
	r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.LostRequest}, Order: rule}, a)
	expect.NoError(t, err)
	expect.Contains(t, "findings", texts(r), "order of effects: payments POST /calls without stock * before it")
	_, err = explored(t, explore.Config{Order: []explore.Order{{First: "mail *", Then: "payments *"}}}, &app{handle: once})
	expect.Contains(t, "a rule that does not hold without a fault", fmt.Sprint(err), "the scenario fails without a fault: order of effects")
}

func TestOneBugIsOneFinding(t *testing.T) {
	t.Parallel()
	n := 0
	r, err := explored(t, explore.Config{}, &app{handle: func(a *app, _ *http.Request) error {
		n++
		return a.outside("payments", fmt.Sprint(n)) // never the same key
	}})
	expect.NoError(t, err)
	expect.Equal(t, "findings: "+texts(r), len(r.Findings), 1)
	expect.Equal(t, "faults of the smallest case", len(r.Findings[0].Plan), 1)
	expect.Contains(t, "the finding", texts(r), "overlap at payments POST /calls")
}

func TestScenarioThatFailsWithoutAFaultIsNotExplored(t *testing.T) {
	t.Parallel()
	fails := func() *app {
		return &app{headers: []string{"Svc-Retries: 0"}, handle: func(*app, *http.Request) error { return errors.New("no database") }}
	}
	_, err := explored(t, explore.Config{}, fails())
	expect.Contains(t, "a message in the DLQ", fmt.Sprint(err), "the scenario fails without a fault: in the DLQ: start.1 > /start#0")
	if _, err := explored(t, explore.Config{Depth: 1, Allow: []explore.Allowed{{DLQ: "*/start*", Because: "it must fail"}}}, fails()); err != nil {
		t.Errorf("a message in the DLQ that is allowed: %v", err)
	}
}

func TestTwoBugsWithOneSymptomAreTwoFindings(t *testing.T) {
	t.Parallel()
	n := 0
	r, err := explored(t, explore.Config{Depth: 1, Faults: []explore.Fault{explore.Repeat}}, &app{handle: func(a *app, r *http.Request) error {
		n++
		if r.URL.Path == "/start" {
			return errors.Join(a.outside("payments", fmt.Sprint(n)), a.publish("/next", "Svc-Deduplication-Id: 1"))
		}
		return a.outside("payments", fmt.Sprint(n))
	}})
	expect.NoError(t, err)
	expect.Equal(t, "findings: "+texts(r), len(r.Findings), 2)
}
