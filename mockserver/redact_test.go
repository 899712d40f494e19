package mockserver_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// hushed is in every place that a redaction hides.
const hushed = "HUSHED0123456789"

// coded are texts that may be base64.
var coded = regexp.MustCompile(`[A-Za-z0-9+/_-]{16,}={0,2}`)

// reveals reports whether a text has hushed, as it is or in base64.
func reveals(text string, depth int) bool {
	if strings.Contains(text, hushed) {
		return true
	}
	if depth == 0 {
		return false
	}
	for _, part := range coded.FindAllString(text, -1) {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			if raw, err := encoding.DecodeString(part); err == nil && reveals(string(raw), depth-1) {
				return true
			}
		}
	}
	return false
}

// hush publishes it in every place with a redaction, and leaves messages, runs and DLQ entries
// of every kind. headers redact what is in headers.
func hush(t *testing.T, u *mockserver.TestServer, c *client, headers, name string) {
	t.Helper()
	body := `{"secret":"` + hushed + `"}`
	redact := []string{
		"Svc-Redact-Fields: body, " + headers, "Svc-Forward-Hush: " + hushed, "Svc-Callback: https://app.test/cb", "Svc-Failure-Callback: https://app.test/failed",
		"Svc-Callback-Forward-Hush: " + hushed, "Svc-Failure-Callback-Forward-Hush: " + hushed,
	}
	with := func(more ...string) []string { return slices.Concat(redact, more) }
	c.do("POST", "/v2/publish/https://app.test/a", body, redact...).ok()
	c.do("POST", "/v2/publish/https://fail.test/a", body, with("Svc-Retries: 0")...).ok()
	c.do("POST", "/v2/publish/https://fail.test/retried", body, with("Svc-Retries: 1", "Svc-Retry-Delay: 1000000")...).ok()
	c.do("POST", "/v2/publish/https://app.test/later", body, with("Svc-Delay: 7d")...).ok()
	c.do("POST", "/v2/publish/https://app.test/q?svc-redact-fields=body", body).ok()
	c.do("POST", "/v2/publish/https://app.test/all", body, "Svc-Header-Forward: true", "Hush: "+hushed, "Svc-Redact-Fields: body,"+headers).ok()
	c.do("POST", "/v2/enqueue/q/https://app.test/a", body, redact...).ok()
	c.do("POST", "/v2/batch", `[{"destination":"https://app.test/b","body":`+body+`,"headers":{"Svc-Redact-Fields":"body,`+headers+`","Svc-Forward-Hush":"`+hushed+`"}}]`).ok()
	c.do("POST", "/v2/publish/https://refused.test/", body, with("Svc-Retries: many")...).refused(400)
	c.do("POST", "/v2/schedules/https://app.test/scheduled", body, with("Svc-Cron: * * * * *", "Svc-Schedule-Id: s"+name)...).ok()
	c.do("PATCH", "/v2/topics/g"+name, `{"headers":{"Svc-Redact-Fields":"body,`+headers+`"}}`).ok()
	c.do("POST", "/v2/topics/g"+name+"/endpoints", `{"endpoints":[{"url":"https://app.test/grouped"}]}`).ok()
	c.do("POST", "/v2/publish/g"+name, body, "Svc-Forward-Hush: "+hushed).ok()

	start := func(id string, more ...string) {
		c.do("POST", "/v2/publish/"+workflowApp, body, slices.Concat(redact[:2], []string{"Svc-Workflow-Init: true", "Svc-Workflow-RunId: " + id, "Svc-Workflow-Url: " + workflowApp, "Svc-Failure-Callback: https://app.test/failed",
			"Svc-Failure-Callback-Forward-Hush: " + hushed, "Svc-Feature-Set: LazyFetch,InitialBody,WF_TriggerOnConfig", "Svc-Forward-Svc-Workflow-Sdk-Version: 1"}, more)...).ok()
		u.Settle()
	}
	of := func(id string) []string {
		return []string{"Svc-Workflow-RunId: " + id, "Svc-Workflow-Init: false", "Svc-Workflow-Url: " + workflowApp}
	}
	id := "wfr_" + name
	start(id)
	step := func(n int, kind, more string) string {
		return fmt.Sprintf(`{"stepId":%d,"stepName":"s%d","stepType":%q,"concurrent":1%s}`, n, n, kind, more)
	}
	c.report(id, step(1, "Run", `,"out":"`+hushed+`"`)).ok()
	u.Settle()
	c.do("POST", "/v2/publish/https://app.test/third", body, append(of(id), "Svc-Forward-Hush: "+hushed, "Svc-Workflow-CallType: toCallback", "Svc-Callback: "+workflowApp, "Svc-Callback-Workflow-CallType: fromCallback",
		"Svc-Callback-Forward-Svc-Workflow-StepId: 2", "Svc-Callback-Forward-Svc-Workflow-StepName: call", "Svc-Callback-Forward-Svc-Workflow-StepType: Call", "Svc-Callback-Forward-Svc-Workflow-Concurrent: 1")...).ok()
	u.Settle()
	c.report(id, step(2, "Call", `,"out":"`+hushed+`"`)).ok()
	u.Settle()
	for event, n := range map[string]int{"sent": 3, "awaited": 4} {
		c.do("POST", "/v2/wait/"+event+name, `{"url":"`+workflowApp+`","timeout":"7d","timeoutUrl":"`+workflowApp+`","timeoutHeaders":{"Hush":["`+hushed+`"],"Svc-Workflow-Runid":["`+id+`"]},"timeoutBody":"`+base64.StdEncoding.EncodeToString([]byte(body))+`","step":`+step(n, "Wait", "")+`}`, of(id)...).ok()
	}
	u.Settle()
	c.do("POST", "/v2/notify/sent"+name, body).ok()
	u.Settle()
	c.do("POST", "/v2/publish/"+workflowApp, `{"body":"`+hushed+`","headers":{"Hush":["`+hushed+`"],"Svc-Workflow-Runid":["`+id+`"]},"workflowRunId":"`+id+`","workflowUrl":"`+workflowApp+`","step":`+step(5, "Invoke", "")+`}`,
		"Svc-Workflow-Init: true", "Svc-Workflow-RunId: "+id+"child", "Svc-Workflow-Url: "+workflowApp, "Svc-Workflow-Invoke: true", "Svc-Forward-Hush: "+hushed, "Svc-Redact-Fields: body,"+headers, "Svc-Forward-Svc-Workflow-Sdk-Version: 1").ok()
	u.Settle()
	start(id + "done")
	c.do("DELETE", "/v2/workflows/runs/"+id+"done?cancel=false", `"`+hushed+`"`).ok()
	start(id + "own") // a step that redacts itself
	item := strings.NewReplacer("\"", "\\\"").Replace(step(1, "Run", `,"out":"`+hushed+`"`))
	c.do("POST", "/v2/batch", `[{"destination":"`+workflowApp+`","body":"`+item+`","headers":{"Svc-Redact-Fields":"body","Svc-Workflow-Init":"false","Svc-Workflow-RunId":"`+id+`own","Svc-Workflow-Url":"`+workflowApp+`"}}]`).ok()
	c.do("POST", "/v2/trigger/https://fail.test/wf", body, with("Svc-Retries: 0")...).ok()
	c.do("POST", "/v2/trigger/https://fail.test/wf2", body, "Svc-Redact-Fields: body,"+headers, "Svc-Forward-Hush: "+hushed, "Svc-Retries: 0", "Svc-Failure-Callback: https://fail.test/cb", "Svc-Failure-Callback-Forward-Hush: "+hushed).ok()
	u.Settle()
}

// handedOut are the operations that return what a redaction hides, because their caller needs
// the values themselves: the endpoint of a run continues from its steps, and a snapshot is the
// state that a server continues from.
var handedOut = []string{"controlSnapshot", "getWorkflowSteps"}

func TestNothingShowsWhatIsRedacted(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for what is shown, not for races")
	for name, headers := range map[string]string{"named": "header[Hush]", "all": "header"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &outputText{}
			u := mockserver.RunT(t, mockserver.Config{Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Store: folder(t, t.TempDir())})
			u.Stub("*", 200)
			u.Stub("https://fail.test/*", 500)
			workflowAnswers(u, slices.Repeat([]string{"200"}, 20)...)
			c := newClient(t, u)
			shown := followed(t, u, c, func() { hush(t, u, c, headers, name) })
			u.Advance(2 * time.Minute)
			shown["the log"] = log.String()
			readOperations(c, shown)
			readPage(c, shown)
			for _, q := range []string{hushed, "body:" + hushed, "header:" + hushed, "all:" + hushed} {
				shown["search for "+q] = ""
				a := c.do("GET", "/_understudy/search?q="+q, "")
				if a.status == http.StatusOK && len(a.list("hits")) > 0 {
					t.Errorf("a search for %s finds %s", q, a.raw)
				}
			}
			for _, where := range slices.Sorted(maps.Keys(shown)) {
				if text := shown[where]; reveals(text, 3) {
					at := max(0, strings.Index(text, hushed))
					t.Errorf("%s shows it: ...%s...", where, text[max(0, at-250):min(len(text), at+100)])
				}
			}
			expect.True(t, "at least 300 outputs were looked at", len(shown) > 300)
		})
	}
}

// readOperations adds the answer of every operation that reads, with every id that exists.
func readOperations(c *client, shown map[string]string) {
	ids := map[string][]string{"eventId": {"awaitednamed", "awaitedall"}, "queueName": {"q"}, "flowControlKey": {"k"}, "kind": {"dlq", "messages", "requests", "runs"}, "account": {"svcUser"}, "operation": {"v2/dlq"}}
	collect := func(variable, path, list, member string) {
		a := c.do("GET", path, "").ok()
		for i := range a.list(list) {
			ids[variable] = append(ids[variable], a.text(list, i, member))
		}
	}
	collect("messageId", "/_understudy/messages?count=1000", "messages", "messageId")
	collect("workflowRunId", "/_understudy/runs", "runs", "workflowRunId")
	collect("dlqId", "/_understudy/dlq", "entries", "dlqId")
	for i := range c.do("GET", "/v2/schedules", "").ok().list() {
		ids["scheduleId"] = append(ids["scheduleId"], c.do("GET", "/v2/schedules", "").ok().text(i, "scheduleId"))
	}
	ids["destinationOrId"], ids["urlGroupName"] = ids["scheduleId"], []string{"gnamed", "gall"}
	ids["id"] = slices.Concat(ids["messageId"], ids["workflowRunId"], ids["dlqId"], []string{"1", "20", "40"})
	read := func(op *spec.Operation, path string) {
		shown[op.Method+" "+path] = string(c.do(op.Method, path, "").raw)
	}
	for _, op := range operations() {
		if op.Method != http.MethodGet || op.Tag == "page" || slices.Contains(handedOut, op.ID) || op.ID == "publishMessageGet" || strings.HasPrefix(op.ID, "kv") {
			continue
		}
		paths := []string{op.Path}
		for _, variable := range variables.FindAllString(op.Path, -1) {
			var filled []string
			for _, path := range paths {
				for _, id := range ids[strings.Trim(variable, "{}")] {
					filled = append(filled, strings.Replace(path, variable, id, 1))
				}
			}
			paths = filled
		}
		for _, path := range paths {
			read(op, path)
			if op.ID == "listWorkflowEvents" {
				read(op, path+"?groupBy=workflowRunId")
			}
			if op.ID == "controlBody" {
				for _, place := range []string{"request", "response", "request-1", "response-1", "output", "step-0", "step-1", "step-2"} {
					read(op, path+"?place="+place)
				}
			}
		}
	}
	for _, on := range []string{"events", "requests", "deliveries", "messages", "runs", "dlq"} {
		shown["await "+on] = string(c.do("POST", "/_understudy/await", `{"on":"`+on+`","timeout":"0s"}`).raw)
	}
	for _, id := range ids["workflowRunId"] {
		shown["await run "+id] = string(c.do("POST", "/_understudy/await", `{"on":"runs","where":{"workflowRunId":"`+id+`"},"timeout":"0s"}`).raw)
	}
}

var links = regexp.MustCompile(`(?:href|hx-get)="(/_understudy/[^"#]*)"`)

// readPage adds every page that can be reached from the first one.
func readPage(c *client, shown map[string]string) {
	next, seen := []string{"/_understudy/", "/_understudy/ui/requests", "/_understudy/ui/search?q=" + hushed}, map[string]bool{}
	for len(next) > 0 && len(seen) < 250 {
		path := next[0]
		next = next[1:]
		if seen[path] || strings.HasPrefix(path, "/_understudy/docs") || strings.HasPrefix(path, "/_understudy/snapshot") || strings.HasPrefix(path, "/_understudy/events") || strings.HasPrefix(path, "/_understudy/overview") {
			continue
		}
		seen[path] = true
		a := c.do("GET", path, "", "Accept: text/html")
		text := string(a.raw)
		if strings.Contains(path, "search?q=") {
			text = strings.ReplaceAll(text, hushed, "") // the search itself
		}
		shown["page "+path] = text
		for _, link := range links.FindAllStringSubmatch(string(a.raw), -1) {
			next = append(next, strings.ReplaceAll(link[1], "&amp;", "&"))
		}
	}
}

// What is hidden is delivered all the same.
func TestWhatIsRedactedIsDelivered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]string{}
	destination := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body strings.Builder
		_ = r.Write(&body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = body.String()
	}))
	t.Cleanup(destination.Close)
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.do("POST", "/v2/publish/"+destination.URL+"/a", hushed, "Svc-Redact-Fields: body, header", "Svc-Forward-Hush: "+hushed, "Svc-Callback: "+destination.URL+"/cb").ok()
	u.Settle()
	expect.Contains(t, "the delivery", got["/a"], "Hush: "+hushed)
	expect.Contains(t, "the delivery", got["/a"], "\r\n\r\n"+hushed)
	expect.Contains(t, "the callback", got["/cb"], base64.StdEncoding.EncodeToString([]byte(hushed)))
}

// A test reads here what a destination received: the hash of a value shows whether it
// is the one that was published.
func TestADeliveryShowsTheHashOfWhatIsRedacted(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	id := u.Publish("https://app.test/", []byte("x"), "Svc-Redact-Fields: body, header[Hush]", "Svc-Forward-Hush: x", "Svc-Forward-Open: o")
	const hash = "REDACTED:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	sent := u.Deliveries()[0].Request
	expect.Equal(t, "body", string(sent.Body), hash)
	expect.Equal(t, "header Hush", sent.Header.Get("Hush"), hash)
	expect.Equal(t, "header Open", sent.Header.Get("Open"), "o")
	expect.Equal(t, "id", sent.Header.Get("Svc-Message-Id"), id)
}
