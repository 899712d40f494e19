package otlp_test

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/collector"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	_ "github.com/understudy-mock/understudy/mockserver/complete" // the page
	"github.com/understudy-mock/understudy/mockserver/otlp"
)

// traced is a server whose traces a receiver gets. done stops both and returns the spans.
func traced(t testing.TB, cfg mockserver.Config) (u *mockserver.TestServer, done func() *collector.Collector) {
	t.Helper()
	r := collector.New(t)
	exporter, err := otlp.New(t.Context(), otlp.Config{Endpoint: r.URL, Version: "1", Instance: "7", Log: slog.New(slog.DiscardHandler)})
	expect.NoError(t, err)
	also := cfg.Observe
	cfg.TraceContext, cfg.Observe = true, func(account string, e *engine.Event) {
		if exporter.Observe(account, e); also != nil {
			also(account, e)
		}
	}
	u = mockserver.RunT(t, cfg)
	return u, func() *collector.Collector {
		expect.Nil(t, "close", u.Close())
		exporter.Close()
		return r
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	u.Stub("https://*app.test/*", 503, 200)
	id := u.Publish("https://user:pa55word@app.test/hook?token=s3cret", []byte("the secret body"), "Svc-Delay: 1h", "Svc-Label: shop", "Svc-Forward-Authorization: Bearer hidden")
	u.Advance(2 * time.Hour)
	deliveries := u.Deliveries()
	r := done()
	expect.Equal(t, "tree", r.Tree(), "publish app.test/hook\n  delay\n  POST app.test/hook\n  retry\n  POST app.test/hook\n")
	for _, s := range r.Spans {
		expect.Equal(t, "trace of "+s.GetName(), hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(r.Spans[0].GetTraceId()))
	}
	attempts := r.Named("POST app.test/hook")
	slices.SortFunc(attempts, func(x, y *spans.Span) int {
		return strings.Compare(collector.Value(x, "http.request.resend_count"), collector.Value(y, "http.request.resend_count"))
	})
	for name, want := range map[string]string{
		"http.request.method": "POST", "http.response.status_code": "503", "error.type": "503", "server.address": "app.test", "messaging.message.id": id,
		"messaging.operation.name": "deliver", "understudy.account": "svcUser",
	} {
		expect.Equal(t, name, collector.Value(attempts[0], name), want)
	}
	expect.Contains(t, "labels", collector.Value(attempts[0], "understudy.labels"), "shop")
	expect.Equal(t, "status of the failed attempt", attempts[0].GetStatus().GetCode(), spans.Status_STATUS_CODE_ERROR)
	expect.Equal(t, "status of the other attempt", collector.Value(attempts[1], "http.response.status_code"), "200")
	for i, d := range deliveries {
		want := "00-" + hex.EncodeToString(attempts[i].GetTraceId()) + "-" + hex.EncodeToString(attempts[i].GetSpanId()) + "-01"
		expect.Equal(t, "traceparent", d.Request.Header.Get("Traceparent"), want)
	}
	delay := r.Named("delay")[0]
	from, _ := time.Parse(time.RFC3339Nano, collector.Value(delay, "understudy.clock.from"))
	to, _ := time.Parse(time.RFC3339Nano, collector.Value(delay, "understudy.clock.to"))
	expect.Equal(t, "delay on the clock", to.Sub(from), time.Hour)
	expect.Equal(t, "service", r.Resource["service.name"], "understudy")
	for _, secret := range []string{"the secret body", "pa55word", "s3cret", "hidden"} {
		expect.Lacks(t, "export", string(r.Raw), secret)
	}
}

func TestParent(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/a", nil, "traceparent: "+parent, "tracestate: vendor=1")
	u.Publish("https://app.test/own", nil, "traceparent: "+parent, "Svc-Forward-Traceparent: 00-11111111111111111111111111111111-2222222222222222-01")
	u.Publish("https://app.test/unsampled", nil, "traceparent: 00-33333333333333333333333333333333-b7ad6b7169203331-00")
	u.Publish("https://app.test/invalid", nil, "traceparent: 00-xyz")
	u.Settle()
	sent := map[string]http.Header{}
	for _, d := range u.Deliveries() {
		sent[d.URL] = d.Request.Header
	}
	r := done()
	first := sent["https://app.test/a"]
	expect.Contains(t, "traceparent", first.Get("Traceparent"), "00-0af7651916cd43dd8448eb211c80319c-")
	expect.Lacks(t, "traceparent", first.Get("Traceparent"), "b7ad6b7169203331")
	expect.Equal(t, "tracestate", first.Get("Tracestate"), "vendor=1")
	expect.Equal(t, "forwarded traceparent", sent["https://app.test/own"].Get("Traceparent"), "00-11111111111111111111111111111111-2222222222222222-01")
	expect.True(t, "the unsampled flag is passed on", strings.HasSuffix(sent["https://app.test/unsampled"].Get("Traceparent"), "-00"))
	expect.Equal(t, "length of a new traceparent", len(sent["https://app.test/invalid"].Get("Traceparent")), 55)
	for _, s := range r.Spans {
		expect.True(t, "an unsampled trace is not exported", hex.EncodeToString(s.GetTraceId()) != "33333333333333333333333333333333")
	}
	published := slices.IndexFunc(r.Spans, func(s *spans.Span) bool {
		return s.GetName() == "publish app.test/a" && hex.EncodeToString(s.GetParentSpanId()) == "b7ad6b7169203331"
	})
	expect.True(t, "the publish is below the publisher", published >= 0)
}

func TestLinks(t *testing.T) {
	t.Parallel()
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	u.Stub("https://app.test/*", 500)
	u.Stub("https://report.test/*", 200)
	id := u.Publish("https://app.test/hook", nil, "Svc-Retries: 0", "Svc-Failure-Callback: https://report.test/failed")
	u.Settle()
	r := done()
	source, report := r.Named("publish app.test/hook")[0], r.Named("publish report.test/failed")[0]
	expect.Equal(t, "links", len(report.GetLinks()), 1)
	expect.Equal(t, "link", hex.EncodeToString(report.GetLinks()[0].GetSpanId()), hex.EncodeToString(source.GetSpanId()))
	expect.Equal(t, "source", report.GetLinks()[0].GetAttributes()[0].GetValue().GetStringValue(), id)
	pointer := r.Named("failureCallback report.test/failed")[0]
	expect.Equal(t, "parent of the span that stands for the callback", hex.EncodeToString(pointer.GetParentSpanId()), hex.EncodeToString(source.GetSpanId()))
	expect.Equal(t, "trace of the callback", collector.Value(pointer, "understudy.trace.id"), hex.EncodeToString(report.GetTraceId()))
	expect.True(t, "a callback has a trace of its own", hex.EncodeToString(report.GetTraceId()) != hex.EncodeToString(source.GetTraceId()))
}

// TestCollectorDown checks that the server does not wait for a collector, and logs one line.
func TestCollectorDown(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(nil)
	down.Close()
	var log lines
	exporter, err := otlp.New(t.Context(), otlp.Config{Endpoint: down.URL, Log: slog.New(slog.NewTextHandler(&log, nil))})
	expect.NoError(t, err)
	u := mockserver.RunT(t, mockserver.Config{Clock: "manual", TraceContext: true, Observe: exporter.Observe})
	u.Stub("*", 200)
	for range 3000 {
		u.Publish("https://app.test/", nil)
	}
	u.Settle()
	expect.Nil(t, "close", u.Close())
	exporter.Close()
	expect.Equal(t, "lines about the collector", strings.Count(log.text(), "traces are not exported"), 1)
	expect.Contains(t, "log", log.text(), "lost=6000")
}

// lines is a log.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestTraceID checks that the control API and the page show the id that deliveries carry.
func TestTraceID(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{TraceContext: true, TraceURL: "http://viewer.test/trace/{traceId}"})
	u.Stub("*", 200)
	id := u.Publish("https://app.test/", nil)
	u.Settle()
	carried := u.Deliveries()[0].Request.Header.Get("Traceparent")[3:35]
	expect.Contains(t, "explanation", read(t, u.URL()+"/_understudy/explain/"+id), `"trace":{"traceId":"`+carried+`","url":"http://viewer.test/trace/`+carried+`"}`)
	expect.Contains(t, "page", read(t, u.URL()+"/_understudy/ui/messages/"+id), `href="http://viewer.test/trace/`+carried+`"`)
}

func TestNoTraceContext(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	id := u.Publish("https://app.test/", nil, "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	u.Settle()
	expect.Equal(t, "traceparent", u.Deliveries()[0].Request.Header.Get("Traceparent"), "")
	expect.Lacks(t, "explanation", read(t, u.URL()+"/_understudy/explain/"+id), "traceId")
}

func read(t testing.TB, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	expect.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	expect.Nil(t, "answer", err)
	return string(text)
}

// TestFlowControl checks that what a key holds back has a span of its own, after its delay.
func TestFlowControl(t *testing.T) {
	t.Parallel()
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	u.Stub("https://app.test/*", 200)
	for range 2 {
		u.Publish("https://app.test/", nil, "Svc-Delay: 10s", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: rate=1, period=60")
	}
	u.Advance(time.Hour)
	held := done().Named("flow control")
	expect.Equal(t, "spans", len(held), 1)
	from, _ := time.Parse(time.RFC3339Nano, collector.Value(held[0], "understudy.clock.from"))
	to, _ := time.Parse(time.RFC3339Nano, collector.Value(held[0], "understudy.clock.to"))
	expect.Equal(t, "held for", to.Sub(from), time.Minute)
}

// TestRetryOfTheDLQ checks that a retry from the DLQ has its own trace, with a link to the failure.
func TestRetryOfTheDLQ(t *testing.T) {
	t.Parallel()
	const parent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	u.Stub("https://app.test/*", 500, 200)
	id := u.Publish("https://app.test/", nil, "Svc-Retries: 0", parent)
	u.Settle()
	explained := read(t, u.URL()+"/_understudy/explain/"+id)
	_, entry, _ := strings.Cut(explained, `"dlqId":"`)
	entry, _, _ = strings.Cut(entry, `"`)
	post(t, u.URL()+"/_understudy/as/svcUser/v2/dlq/retry/"+entry)
	u.Settle()
	published := done().Named("publish app.test/")
	expect.Equal(t, "publishes", len(published), 2)
	expect.Equal(t, "link", hex.EncodeToString(published[1].GetLinks()[0].GetSpanId()), hex.EncodeToString(published[0].GetSpanId()))
	expect.Equal(t, "linked trace", hex.EncodeToString(published[1].GetLinks()[0].GetTraceId()), "0af7651916cd43dd8448eb211c80319c")
	expect.True(t, "it has a trace of its own", hex.EncodeToString(published[1].GetTraceId()) != "0af7651916cd43dd8448eb211c80319c")
}

// TestReset checks that a reset ends the spans of a run that was forgotten.
func TestReset(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{}, 100)
	u, done := traced(t, mockserver.Config{Clock: "manual", Observe: func(string, *engine.Event) { seen <- struct{}{} }})
	u.Stub("https://app.test/*", 503, 200)
	post(t, u.URL()+"/_understudy/as/svcUser/v2/trigger/https://app.test/flow")
	u.Settle()
	select { // events are observed later than they happen, and a reset forgets those that are not
	case <-seen:
	case <-time.After(effort.Wait(10 * time.Second)):
		t.Fatal("the start of the run was not observed")
	}
	post(t, u.URL()+"/_understudy/reset")
	u.Publish("https://app.test/", nil)
	u.Settle()
	r := done()
	runs := r.Named("run app.test/flow")
	expect.Equal(t, "runs", len(runs), 1)
	expect.Contains(t, "unfinished", collector.Value(runs[0], "understudy.unfinished"), "true")
	published := r.Named("publish app.test/")
	expect.Equal(t, "publishes after the reset", len(published), 1)
	expect.True(t, "the run ended before", runs[0].GetEndTimeUnixNano() <= published[0].GetStartTimeUnixNano())
}

// TestLinksOfRuns checks that a run links to the run that it continues or repeats, or that invoked
// it, and that a wait is a span below its run.
func TestLinksOfRuns(t *testing.T) {
	t.Parallel()
	const flow = "https://app.test/flow"
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	answer := func(status mockserver.StubStatus) mockserver.Answer {
		return mockserver.Answer{Status: status, Headers: map[string]string{"Svc-Workflow-Sdk-Version": "1"}}
	}
	u.Script(mockserver.Stub{URL: flow, Answers: []mockserver.Answer{answer("500"), answer("500"), answer("200")}})
	api := u.URL() + "/_understudy/as/svcUser/v2/"
	run := func(id, body string, header ...string) {
		post(t, api+"publish/"+flow, append([]string{body, "Svc-Workflow-Init: true", "Svc-Workflow-RunId: " + id, "Svc-Workflow-Url: " + flow, "Svc-Retries: 0", "Svc-Forward-Svc-Workflow-Sdk-Version: 1"}, header...)...)
		u.Settle()
	}
	fail := func(id string) (entry string) {
		run(id, "{}")
		_, entry, _ = strings.Cut(read(t, u.URL()+"/_understudy/runs/"+id), `"dlqId":"`)
		entry, _, _ = strings.Cut(entry, `"`)
		return entry
	}
	restarted, resumed := fail("wfr_1"), fail("wfr_2")
	post(t, api+"workflows/dlq/restart/"+restarted)
	post(t, api+"workflows/dlq/resume/"+resumed)
	run("wfr_parent", "{}")
	run("wfr_child", `{"body":"{}","headers":{},"workflowRunId":"wfr_parent","workflowUrl":"`+flow+`","step":{"stepId":1,"stepName":"ask","stepType":"Invoke","concurrent":1}}`, "Svc-Workflow-Invoke: true")
	run("wfr_waits", "{}")
	post(t, api+"wait/paid", `{"url":"`+flow+`","timeout":"1d","step":{"stepId":1,"stepName":"payment","stepType":"Wait","concurrent":1}}`, "Svc-Workflow-RunId: wfr_waits")
	u.Advance(2 * time.Hour)
	post(t, api+"notify/paid", "true")
	u.Settle()
	r := done()
	runs, links := map[string]*spans.Span{}, map[string]*spans.Span{}
	for _, s := range r.Named("run app.test/flow") {
		runs[collector.Value(s, "understudy.run.id")] = s
	}
	for _, s := range runs {
		for _, l := range s.GetLinks() {
			of := l.GetAttributes()[0].GetValue().GetStringValue()
			links[of] = s
			expect.Equal(t, "the link leads to the run", hex.EncodeToString(l.GetSpanId()), hex.EncodeToString(runs[of].GetSpanId()))
		}
	}
	expect.Equal(t, "linked runs", slices.Sorted(maps.Keys(links)), []string{"wfr_1", "wfr_2", "wfr_parent"})
	expect.True(t, "the run with the link to its invoker is the child", links["wfr_parent"] == runs["wfr_child"])
	for _, of := range []string{"wfr_1", "wfr_2"} {
		expect.True(t, of+" and the run that follows have traces of their own", !slices.Equal(links[of].GetTraceId(), runs[of].GetTraceId()))
	}
	waits := r.Named("wait for event paid")
	expect.Equal(t, "waits", len(waits), 1)
	expect.Equal(t, "a wait is below its run", hex.EncodeToString(waits[0].GetParentSpanId()), hex.EncodeToString(runs["wfr_waits"].GetSpanId()))
}

// post sends a request: what follows the address is its body and its header.
func post(t testing.TB, address string, request ...string) {
	t.Helper()
	body := ""
	if len(request) > 0 {
		body, request = request[0], request[1:]
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	expect.NoError(t, err)
	for _, line := range request {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	expect.True(t, address+" is accepted: "+answer.Status+" "+string(text), answer.StatusCode < 300)
}

// TestTheVariablesOfTheExporter: headers, compression and the address of all signals.
// Events may happen while an exporter closes: it reads its counts under the lock. The race detector
// judges it.
func TestAnExporterClosesWhileEventsHappen(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	exporter, err := otlp.New(t.Context(), otlp.Config{Endpoint: gone.URL, Log: slog.New(slog.DiscardHandler)})
	expect.NoError(t, err)
	events := make(chan engine.Event, 100)
	u := mockserver.RunT(t, mockserver.Config{Observe: func(_ string, e *engine.Event) {
		select {
		case events <- *e:
		default:
		}
	}})
	u.Publish(u.URL()+"/_understudy/sink/status/200", nil)
	e := <-events
	stop := make(chan struct{})
	var observers sync.WaitGroup
	observers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				e.Seq++
				exporter.Observe(fmt.Sprint(e.Seq), &e)
			}
		}
	})
	exporter.Close()
	close(stop)
	observers.Wait()
}

func TestTheVariablesOfTheExporter(t *testing.T) {
	var got *http.Request
	var body []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		unpacked, err := gzip.NewReader(r.Body)
		if err == nil {
			body, err = io.ReadAll(unpacked)
		}
		expect.Nil(t, "reading the body", err)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL+"/base/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, other=c")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip")
	exporter, err := otlp.New(t.Context(), otlp.Config{Log: slog.New(slog.DiscardHandler)})
	expect.NoError(t, err)
	u := mockserver.RunT(t, mockserver.Config{Observe: exporter.Observe})
	u.Publish(u.URL()+"/_understudy/sink/status/200", nil)
	u.Settle()
	exporter.Close()
	if got == nil {
		t.Fatal("got no request, want one")
	}
	expect.Equal(t, "path", got.URL.Path, "/base/v1/traces")
	expect.Equal(t, "header X-Key", got.Header.Get("X-Key"), "a b")
	expect.Equal(t, "header Other", got.Header.Get("Other"), "c")
	expect.True(t, "the body has spans", len(body) > 0)
}

// endpoint is a workflow of two steps with a sleep between them, then two parallel ones; the run
// fails in the step with the name fails.
func endpoint(t *testing.T, u *mockserver.TestServer, fails, reported string) string {
	t.Helper()
	var address string
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list []struct{ Body []byte }
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			t.Error(err)
		}
		last, target, done := 0, 0, 0
		for _, one := range list {
			var step struct{ StepID, TargetStep int }
			_ = json.Unmarshal(one.Body, &step)                    // the first one is the payload
			last, target = max(last, step.StepID), step.TargetStep // of the last one
			if step.StepID > 0 {
				done++
			}
		}
		w.Header().Set("Svc-Workflow-Sdk-Version", "1")
		run := r.Header.Get("Svc-Workflow-RunId")
		submit := func(steps ...string) {
			items := make([]any, len(steps))
			for i, step := range steps {
				items[i] = map[string]any{"destination": address, "body": step, "headers": map[string]string{
					"Svc-Workflow-RunId": run, "Svc-Workflow-Init": "false", "Svc-Workflow-Url": address, "Svc-Retries": "0", "Svc-Forward-Svc-Workflow-Sdk-Version": "1"}}
			}
			batch, _ := json.Marshal(items)
			post(t, u.URL()+"/_understudy/as/svcUser/v2/batch", string(batch))
		}
		name := map[int]string{0: "pack", 1: "rest", 2: "weigh", 3: "plan"}[last]
		switch {
		case target > 0:
			submit(fmt.Sprintf(`{"stepId":%d,"stepName":"branch %d","stepType":"Run","out":"1","concurrent":2}`, target, target))
		case name == fails:
			w.Header().Set("Svc-Error-Step-Name", reported)
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "no printer")
		case name == "rest":
			submit(`{"stepId":2,"stepName":"rest","stepType":"SleepFor","sleepFor":3600,"concurrent":1}`)
		case name == "plan":
			submit(`{"stepId":0,"stepName":"branch 4","stepType":"Run","concurrent":2,"targetStep":4}`, `{"stepId":0,"stepName":"branch 5","stepType":"Run","concurrent":2,"targetStep":5}`)
		case name != "":
			submit(fmt.Sprintf(`{"stepId":%d,"stepName":%q,"stepType":"Run","out":"1","concurrent":1}`, last+1, name))
		case done == 5:
			q, _ := http.NewRequestWithContext(r.Context(), http.MethodDelete, u.URL()+"/_understudy/as/svcUser/v2/workflows/runs/"+run+"?cancel=false", strings.NewReader("done"))
			a, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Error(err)
				return
			}
			_ = a.Body.Close()
		}
	}))
	t.Cleanup(app.Close)
	address = app.URL + "/flow"
	post(t, u.URL()+"/_understudy/as/svcUser/v2/publish/"+address, "{}", "Svc-Workflow-RunId: wfr_1", "Svc-Workflow-Init: true", "Svc-Workflow-Url: "+address, "Svc-Retries: 0", "Svc-Forward-Svc-Workflow-Sdk-Version: 1")
	u.Advance(2 * time.Hour)
	return strings.TrimPrefix(address, "http://")
}

// TestStepsOfARun checks that the span of a step has the call in which the step ran.
func TestStepsOfARun(t *testing.T) {
	t.Parallel()
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	place := endpoint(t, u, "none", "")
	r := done()
	call := "\n    POST " + place
	want := "run " + place
	for _, name := range []string{"step pack" + call, "step rest" + call, "sleep rest", "step weigh" + call, "plan" + call, "step branch 4" + call, "step branch 5" + call, "end of the run" + call} {
		want += "\n  " + name
	}
	got := r.Tree()
	for line := range strings.SplitSeq(want, "\n") {
		expect.Contains(t, "tree", got, line+"\n")
	}
	expect.Contains(t, "beginning of the tree", got, "run "+place+"\n  step pack"+call+"\n  step rest"+call+"\n  sleep rest\n  step weigh"+call+"\n  plan"+call)
	expect.Equal(t, "the run was sent at its start, too", len(r.Again), 1)
	expect.Equal(t, "state at the start", collector.Value(r.Again[0], "understudy.run.state"), "RUN_STARTED")
	expect.Equal(t, "state at the end", collector.Value(r.Named("run " + place)[0], "understudy.run.state"), "RUN_SUCCESS")
}

// TestAFailedRun checks that the run and its step have the reason that why gives, and the step
// the name that the endpoint reports.
func TestAFailedRun(t *testing.T) {
	t.Parallel()
	for reported, span := range map[string]string{"": "step after rest", "weigh": "step weigh"} {
		t.Run(span, func(t *testing.T) {
			t.Parallel()
			u, done := traced(t, mockserver.Config{Clock: "manual"})
			place := endpoint(t, u, "weigh", reported)
			why := read(t, u.URL()+"/_understudy/explain/wfr_1")
			r := done()
			for _, name := range []string{"run " + place, span} {
				list := r.Named(name)
				if expect.Equal(t, "spans "+name, len(list), 1) {
					reason, _ := json.Marshal(list[0].GetStatus().GetMessage())
					expect.Contains(t, "status of "+name+" in the explanation", why, string(reason))
					expect.Contains(t, "status of "+name, list[0].GetStatus().GetMessage(), "no printer (500)")
				}
			}
		})
	}
}

// TestARetryingStep checks that a step is sent when its first attempt has failed, so that a viewer
// shows this attempt below its step while the step is repeated.
func TestARetryingStep(t *testing.T) {
	t.Parallel()
	u, done := traced(t, mockserver.Config{Clock: "manual"})
	u.Stub("https://app.test/*", 503)
	post(t, u.URL()+"/_understudy/as/svcUser/v2/trigger/https://app.test/flow")
	u.Settle()
	r := done()
	attempt := r.Named("POST app.test/flow")[0]
	sent := slices.IndexFunc(r.Again, func(s *spans.Span) bool { return string(s.GetSpanId()) == string(attempt.GetParentSpanId()) })
	if sent < 0 {
		t.Fatal("the parent of the attempt was not sent before the step ended")
	}
	expect.Contains(t, "name", r.Again[sent].GetName(), "step")
}
