package request_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
)

// The tables of options have the configuration parameters of the document, and no others.
func TestOptionsAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := spec.Load()
	expect.NoError(t, err)
	want := []string{}
	for _, name := range doc.Operation("publishMessage").ConfigParameters() {
		want = append(want, http.CanonicalHeaderKey(name))
	}
	slices.Sort(want)
	got := request.OptionNames()
	if !slices.IsSorted(got) {
		t.Error("the table is not sorted")
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters of publishMessage in spec/openapi.yaml (-), rows of optionTable (+):\n%s", diff)
	}
}

// values has a value for each option, other than its default.
var values = map[string]string{
	"Callback":                    "https://e.test/",
	"Content-Based-Deduplication": "true",
	"Deduplication-Id":            "d",
	"Delay":                       "1m",
	"Failure-Callback":            "https://e.test/",
	"Flow-Control-Key":            "k",
	"Flow-Control-Value":          "parallelism=1, rate=2, period=3s",
	"Header-Forward":              "true",
	"Label":                       "a,b",
	"Method":                      "PUT",
	"Not-Before":                  "1767225600",
	"Queue-Name":                  "q",
	"Redact-Fields":               "body",
	"Retries":                     "0",
	"Retry-Delay":                 "1000",
	"Timeout":                     "30s",

	"Feature-Set":             "LazyFetch",
	"Workflow-Calltype":       "step",
	"Workflow-Createdat":      "1767225600000",
	"Workflow-Init":           "true",
	"Workflow-Invoke":         "true",
	"Workflow-Runid":          "wfr_1",
	"Workflow-Sdk-Version":    "1",
	"Workflow-Trigger-By-Sdk": "true",
	"Workflow-Url":            "https://e.test/",
}

// noOption are fields that no single configuration name sets, and why.
var noOption = map[string]string{
	"Dialect":         "of the request",
	"Family":          "of the delivery that made the request",
	"Forward":         "the names that begin with Forward-",
	"Hops":            "counted by the server",
	"TraceContext":    "of the standard headers traceparent and tracestate",
	"Workflow.Header": "of a restart, read with its overrides",
}

// TestTheTablesOfOptionsCoverEachOther checks that each option of the engine, which
// defines its effect, has a row here, which defines how it is read and shown.
func TestTheTablesOfOptionsCoverEachOther(t *testing.T) {
	t.Parallel()
	setBy := map[string]string{}
	for _, header := range request.OptionNames() {
		name := strings.TrimPrefix(header, "Svc-")
		o, _ := request.ParseOption(name, values[name])
		set := setFields("", reflect.ValueOf(o))
		if o.Workflow != nil {
			set = setFields("Workflow.", reflect.ValueOf(*o.Workflow))
		}
		if len(set) != 1 {
			t.Errorf("%s: %q in values of this test sets %v, want one field", name, values[name], set)
			continue
		}
		setBy[set[0]] = name
	}
	for _, field := range append(allFields("", engine.Options{}), allFields("Workflow.", engine.Workflow{})...) {
		covered := setBy[field] != "" || noOption[field] != "" || field == "Workflow" // its own fields are in the list
		if !covered {
			t.Errorf("the engine's option %s: got no row in mockserver/request/option.go, want one", field)
		}
	}
}

// TestShownOptionsAreFieldsOfAnswers is needed because copying by name ignores
// unknown fields.
func TestShownOptionsAreFieldsOfAnswers(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, answer := range []any{api.Message{}, api.Schedule{}, api.WorkflowRun{}} {
		for _, name := range allFields("", answer) {
			known[name] = true
		}
	}
	for name, value := range values {
		o, _ := request.ParseOption(name, value)
		shown, ok := request.Shown(o)[name]
		if !ok {
			continue
		}
		fields := setFields("", reflect.ValueOf(shown))
		if len(fields) == 0 {
			t.Errorf("%s: %q is shown nowhere", name, value)
		}
		for _, field := range fields {
			if !known[field] {
				t.Errorf("%s: no answer in spec/openapi.yaml has a field %s", name, field)
			}
		}
	}
}

func allFields(prefix string, of any) (names []string) {
	for f := range reflect.TypeOf(of).Fields() {
		names = append(names, prefix+f.Name)
	}
	return names
}

// setFields are the fields that are not zero.
func setFields(prefix string, v reflect.Value) (names []string) {
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			names = append(names, prefix+v.Type().Field(i).Name)
		}
	}
	return names
}

func FuzzOptions(f *testing.F) {
	for _, seed := range []string{"Retries\x00abc", "Delay\x005m", "Flow-Control-Value\x00rate=1, period=1m", "Retry-Delay\x00pow(2,retried)", "Redact-Fields\x00header[x]",
		"Callback-Failure-Callback-Callback-Label\x00a", "Not-Before\x001e9", "Label\x00,", "Workflow-Createdat\x001", "Timeout\x00365d365d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, value, _ := strings.Cut(text, "\x00")
		o, problems := request.ParseOption(name, value)
		for _, p := range problems {
			if strings.ContainsAny(p.String(), "\n\r") {
				t.Errorf("problem on several lines: %q", p.String())
			}
		}
		retries, flow := 0, engine.FlowControl{}
		if o.Retries != nil {
			retries = *o.Retries
		}
		if o.Flow != nil {
			flow = *o.Flow
		}
		for field, got := range map[string]int64{
			"delay": int64(o.Delay), "timeout": int64(o.Timeout), "retries": int64(retries), "rate": int64(flow.Rate), "period": int64(flow.Period),
		} {
			if got < 0 {
				t.Errorf("%s is %d, want 0 or more", field, got)
			}
		}
	})
}

func FuzzFlowValue(f *testing.F) {
	for _, seed := range []string{"parallelism=5, rate=10, period=1m", "rate=5,parallelism=2", "RATE=1", "rate=1,period=1d", "period=60,rate=3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var read, again engine.Options
		if request.SetFlowValue(&read, text) != nil {
			return
		}
		written := request.FlowText(read.Flow)
		if err := request.SetFlowValue(&again, written); err != nil {
			t.Fatalf("%q is written as %q, which is refused: %v", text, written, err)
		}
		want := *read.Flow
		want.Period = max(want.Period, time.Second)
		if diff := cmp.Diff(want, *again.Flow); diff != "" {
			t.Errorf("%q is written as %q, which reads differently: %s", text, written, diff)
		}
	})
}
