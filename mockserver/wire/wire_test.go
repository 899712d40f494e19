package wire_test

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

var format engine.Wire = wire.Format{}

func TestAFinishedStep(t *testing.T) {
	t.Parallel()
	no := false
	for name, c := range map[string]struct {
		submitted string
		step      engine.Step
		want      string
	}{
		"it has its result": {
			`{"stepId":1,"stepType":"Invoke"}`, engine.Step{Type: "Invoke", Out: `{"isFailed":false}`},
			`{"out":"{\"isFailed\":false}","stepId":1,"stepType":"Invoke"}`,
		},
		"it has no target step": {
			`{"stepId":1,"targetStep":2}`, engine.Step{Type: "Invoke", Out: "x"},
			`{"out":"x","stepId":1}`,
		},
		"a wait names its event": {
			`{"stepId":1,"stepType":"Wait"}`, engine.Step{Type: "Wait", WaitEventID: "e", WaitTimedOut: &no},
			`{"stepId":1,"stepType":"Wait","waitEventId":"e","waitTimeout":false}`,
		},
		"the rest of the submitted step is unchanged": {
			`{"stepId":1,"big":12345678901234567890,"out":{"a":1}}`, engine.Step{Type: "Invoke", Out: `{"a":1}`},
			`{"big":12345678901234567890,"out":{"a":1},"stepId":1}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(format.FinishStep([]byte(c.submitted), &c.step)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAStepThatIsWrittenCanBeRead(t *testing.T) {
	t.Parallel()
	want := engine.Step{ID: 3, Name: "charge", Type: "Run", Out: `"paid"`, Concurrent: 1}
	got, err := format.ParseStep(format.StepBody(&want))
	expect.NoError(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("written (-), read (+):\n%s", d)
	}
}

func TestStepsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "[]", "{}", `{"stepId":-1,"stepName":"a","stepType":"Run"}`, `{"stepId":1,"stepType":"Run"}`, `{"stepId":1,"stepName":"a"}`} {
		if _, err := format.ParseStep([]byte(body)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q: got %v, want %v", body, err, engine.ErrInvalid)
		}
	}
}

func TestWhatAnAnswerSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header engine.Header
		want   engine.Answer
	}{
		"489 with its header is final":          {489, engine.Header{"Svc-Nonretryable-Error": {"TRUE"}}, engine.Answer{Final: true}},
		"489 alone is not":                      {489, nil, engine.Answer{}},
		"the header alone is not":               {500, engine.Header{"Svc-Nonretryable-Error": {"true"}}, engine.Answer{}},
		"the step that threw":                   {500, engine.Header{"Svc-Error-Step-Name": {"charge"}}, engine.Answer{Step: "charge"}},
		"a client library that starts runs":     {200, engine.Header{"Svc-Workflow-Sdk": {"v1.2.3"}}, engine.Answer{Workflow: true, Library: true}},
		"an endpoint that only speaks protocol": {200, engine.Header{"Svc-Workflow-Sdk-Version": {"1"}}, engine.Answer{Workflow: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := format.ReadAnswer(&engine.Outcome{Status: c.status, Header: c.header}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestTheHeadersOfARun(t *testing.T) {
	t.Parallel()
	run := &engine.Run{RunRef: engine.RunRef{ID: "wfr_1", URL: "https://app.test/wf", CreatedAt: time.UnixMilli(5)},
		Options: &engine.Options{Labels: []string{"a", "b"}}, Forward: engine.Header{"Content-Type": {"text/plain"}, "Svc-Workflow-Sdk-Version": {"1"}}}
	call := engine.Header{"Svc-Workflow-Runid": {"wfr_1"}, "Svc-Workflow-Url": {"https://app.test/wf"}, "Svc-Workflow-Init": {"false"},
		"Svc-Workflow-Createdat": {"5"}, "Svc-Label": {"a,b"}}
	t.Run("a call has the run and its first label", func(t *testing.T) {
		t.Parallel()
		if d := cmp.Diff(call, format.RunHeader(run)); d != "" {
			t.Errorf("want (-), got (+):\n%s", d)
		}
	})
	t.Run("a callback has the user's headers without the mark of a call", func(t *testing.T) {
		t.Parallel()
		want := engine.Header{"Svc-Workflow-Callback": {"true"}, "Content-Type": {"text/plain"}}
		maps.Copy(want, call)
		if d := cmp.Diff(want, format.ReportHeader(run, true)); d != "" {
			t.Errorf("want (-), got (+):\n%s", d)
		}
	})
	t.Run("the request to start a run can be removed", func(t *testing.T) {
		t.Parallel()
		rest, starts := format.TakeStart(engine.Header{"Svc-Workflow-Unknown-Sdk": {"true"}, "X-User": {"u"}})
		if !starts {
			t.Error("starts: got false, want true")
		}
		if d := cmp.Diff(engine.Header{"X-User": {"u"}}, rest); d != "" {
			t.Errorf("want (-), got (+):\n%s", d)
		}
	})
}

func TestACallbackOfAnEmptyAnswerHasNoNulls(t *testing.T) {
	t.Parallel()
	report := engine.Report{Outcome: &engine.Outcome{Status: 204}}
	setNew(&report.Source.Origin)
	var body map[string]any
	expect.NoError(t, json.Unmarshal(format.CallbackBody(&report), &body))
	for name, v := range body {
		if v == nil {
			t.Errorf("%s: got null", name)
		}
	}
}

// setNew sets a pointer whose type only the engine can name.
func setNew[T any](to **T) { *to = new(T) }

func TestAStepListIsJSON(t *testing.T) {
	t.Parallel()
	var list []struct {
		MessageID, CallType string
		Body                []byte
	}
	expect.NoError(t, json.Unmarshal(wire.StepList([]engine.StepEntry{{MessageID: "msg_1", CallType: "step", Body: []byte{0xff, 0}}, {MessageID: "\"\\\x01<é"}}), &list))
	expect.Equal(expect.Now(t), "entries", len(list), 2)
	if got, want := list[0].Body, []byte{0xff, 0}; string(got) != string(want) {
		t.Errorf("body: got %v, want %v", got, want)
	}
	expect.Equal(t, "message id", list[1].MessageID, "\"\\\x01<é")
}
