package mockserver_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestURLGroups(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.UnixMilli(1000)})
	u.Stub("*")
	c := newClient(t, u)
	a := c.do("POST", "/v2/topics/my.group/endpoints", `{"endpoints":[{"name":"one","url":"https://e.test/1"},{"url":"https://e.test/2"}]}`).ok()
	expect.Equal(t, "name", a.text("name"), "my.group")
	expect.Equal(t, "createdAt", a.number("createdAt"), 1000)
	expect.Equal(t, "number of endpoints", len(a.list("endpoints")), 2)
	expect.Equal(t, "name of the first endpoint", a.text("endpoints", 0, "name"), "one")
	expect.Equal[any](t, "name of the second endpoint", a.get("endpoints", 1, "name"), nil)
	u.Advance(time.Second)
	a = c.do("PATCH", "/v2/topics/my.group", `{"headers":{"X-A":"1","Svc-Header-Forward":["true"],"Svc-Callback":"https://cb.test/"}}`).ok()
	expect.Equal(t, "createdAt", a.number("createdAt"), 1000)
	expect.Equal(t, "updatedAt", a.number("updatedAt"), 2000)
	expect.Equal(t, "header X-A of the group", a.text("headers", "X-A", 0), "1")
	expect.Equal(t, "number of endpoints", len(a.list("endpoints")), 2)
	receipts := c.do("POST", "/v2/publish/my.group", "x", "X-Incoming: 2").ok()
	expect.Equal(t, "number of receipts", len(receipts.list()), 2)
	expect.Equal(t, "URL of the second receipt", receipts.text(1, "url"), "https://e.test/2")
	calls := map[string]int{}
	for _, d := range u.Deliveries() {
		calls[d.URL]++
		if d.Role == "message" {
			expect.Equal(t, "header X-A of a delivery", d.Request.Header.Get("X-A"), "1")
			expect.Equal(t, "header X-Incoming of a delivery", d.Request.Header.Get("X-Incoming"), "2")
			expect.Equal(t, "header Topic-Name of a delivery", d.Request.Header.Get(published.HeaderPrefix+"Topic-Name"), "my.group")
		}
	}
	expect.Equal(t, "deliveries to the first endpoint", calls["https://e.test/1"], 1)
	expect.Equal(t, "deliveries to the second endpoint", calls["https://e.test/2"], 1)
	expect.Equal(t, "callbacks", calls["https://cb.test/"], 2)
	if a = c.do("GET", "/v2/topics", "").ok(); len(a.list()) != 1 {
		t.Errorf("the groups: got %s, want one", a.raw)
	}
	c.do("DELETE", "/v2/topics/my.group/endpoints", `{"endpoints":[{"name":"one"}]}`).ok()
	if a = c.do("GET", "/v2/topics/my.group", "").ok(); len(a.list("endpoints")) != 1 {
		t.Errorf("the group after the endpoint named one was removed: got %s, want one endpoint", a.raw)
	}
	c.do("DELETE", "/v2/topics/my.group/endpoints", `{"endpoints":[{"url":"https://e.test/2"}]}`).ok()
	c.do("GET", "/v2/topics/my.group", "").refused(404, "my.group")
	c.do("DELETE", "/v2/topics/my.group", "").ok()
	c.do("PATCH", "/v2/topics/new", `{"headers":{}}`).ok()
	c.do("POST", "/v2/publish/new", "x").refused(400, "endpoints")
	c.do("DELETE", "/v2/topics/new", "").ok()

	c.do("PATCH", "/v2/topics/no%20name", `{"headers":{}}`).refused(400, "letters")
	c.do("PATCH", "/v2/topics/"+strings.Repeat("g", 257), `{"headers":{}}`).refused(400, "256")
	c.do("PATCH", "/v2/topics/g", `{"headers":{"Svc-Retries":"abc"}}`).refused(400, "Svc-Retries", "abc")
	c.do("PATCH", "/v2/topics/g", `{"headers":{"X":1}}`).refused(400, "X")
	c.do("PATCH", "/v2/topics/g", `{"headers":`).refused(400, "line 1, column")
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"url":"nowhere"}]}`).refused(400, "nowhere")
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[]}`).refused(400, "endpoints")
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"name":"n"}]}`).refused(400, "/endpoints/0")
	c.do("GET", "/v2/topics/g", "").refused(404)
}

func TestQueuesKeepOrder(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://fail.test/*", 503)
	u.Stub("https://e.test/*")
	c := newClient(t, u)
	c.do("POST", "/v2/queues", `{"queueName":"q","parallelism":1}`).ok()
	c.do("POST", "/v2/queues/q/pause", "").ok()
	for i, destination := range []string{"https://e.test/0", "https://fail.test/1", "https://e.test/2"} {
		c.do("POST", "/v2/enqueue/q/"+destination, fmt.Sprint(i), "Svc-Retries: 1", "Svc-Failure-Callback: https://e.test/failed").ok()
	}
	{
		a := c.do("GET", "/v2/queues/q", "").ok()
		expect.Equal(t, "lag", a.number("lag"), 3)
		expect.Equal(t, "paused", a.get("paused"), true)
		expect.Equal(t, "parallelism", a.number("parallelism"), 1)
	}
	u.Advance(time.Hour)
	expect.Equal(expect.Now(t), "deliveries of a paused queue", len(u.Deliveries()), 0)
	c.do("POST", "/v2/queues/q/resume", "").ok()
	u.Advance(time.Hour)
	var order []string
	for _, d := range u.Deliveries() {
		order = append(order, strings.TrimPrefix(d.URL, "https://"))
	}
	if want := []string{"e.test/0", "fail.test/1", "fail.test/1", "e.test/failed", "e.test/2"}; !slices.Equal(order, want) {
		t.Errorf("order of the deliveries: got %v, want %v", order, want)
	}
	expect.Equal(t, "lag of the queue that has delivered all", c.do("GET", "/v2/queues", "").ok().number(0, "lag"), 0)
	c.do("DELETE", "/v2/queues/q", "").ok()
	c.do("GET", "/v2/queues/q", "").refused(404, "q")
	c.do("POST", "/v2/queues/q/pause", "").refused(404, "q")
	c.do("POST", "/v2/queues", `{"queueName":"a b"}`).refused(400, "queueName")
	c.do("POST", "/v2/queues", `{"queueName":"q","parallelism":0}`).refused(400, "parallelism")
	c.do("POST", "/v2/queues", `{}`).refused(400, "queueName")
	c.do("POST", "/v2/enqueue/a%20b/https://e.test/", "x").refused(400, "queue")
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)})
	u.Stub("*")
	c := newClient(t, u)
	a := c.do("POST", "/v2/schedules/https://e.test/a?x=1", "body", "Svc-Cron: CRON_TZ=Europe/Berlin 30 1 * * *", "Svc-Retries: 1", "Svc-Delay: 10s", "Svc-Label: l", "Svc-Schedule-Id: mine").ok()
	expect.Equal(expect.Now(t), "scheduleId", a.text("scheduleId"), "mine")
	a = c.do("GET", "/v2/schedules/mine", "").ok()
	expect.Equal(t, "cron", a.text("cron"), "CRON_TZ=Europe/Berlin 30 1 * * *")
	expect.Equal(t, "destination", a.text("destination"), "https://e.test/a?x=1")
	expect.Equal(t, "body", a.text("body"), "body")
	expect.Equal(t, "retries", a.number("retries"), 1)
	expect.Equal(t, "delay", a.number("delay"), 10)
	expect.Equal(t, "isPaused", a.get("isPaused"), false)
	expect.Equal(t, "nextScheduleTime", a.number("nextScheduleTime"), time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC).UnixMilli())
	expect.Equal[any](t, "lastScheduleTime", a.get("lastScheduleTime"), nil)
	u.Advance(24 * time.Hour)
	list := u.Deliveries()
	if expect.Equal(t, "number of deliveries", len(list), 1) {
		expect.Equal(t, "header Svc-Schedule-Id of the delivery", list[0].Request.Header.Get("Svc-Schedule-Id"), "mine")
		expect.Equal(t, "time of the delivery", list[0].At, time.Date(2026, 3, 29, 0, 30, 10, 0, time.UTC).UnixMilli())
	}
	a = c.do("GET", "/v2/schedules/mine", "").ok()
	if a.number("lastScheduleTime") == 0 {
		t.Errorf("the schedule after it has fired: got %s, want a lastScheduleTime", a.raw)
	}
	if states, _ := a.get("lastScheduleStates").(map[string]any); len(states) != 1 {
		t.Errorf("the lastScheduleStates: got %v, want one", states)
	}
	c.do("POST", "/v2/schedules/mine/pause", "").ok()
	u.Advance(72 * time.Hour)
	expect.Equal(t, "deliveries after the schedule was paused", len(u.Deliveries()), 1)
	c.do("PATCH", "/v2/schedules/mine/resume", "").ok()
	u.Advance(24 * time.Hour)
	expect.Equal(t, "deliveries after the schedule was resumed", len(u.Deliveries()), 2)
	if a := c.do("POST", "/v2/schedules/https://e.test/b?svc-cron=*/5%20*%20*%20*%20*", "").ok(); !strings.HasPrefix(a.text("scheduleId"), "scd_") {
		t.Errorf("the receipt: got %s, want a scheduleId that begins with scd_", a.raw)
	}
	if a := c.do("GET", "/v2/schedules", "").ok(); len(a.list()) != 2 {
		t.Errorf("the schedules: got %s, want two", a.raw)
	}
	c.do("DELETE", "/v2/schedules/mine", "").ok()
	c.do("GET", "/v2/schedules/mine", "").refused(404, "mine")
	for cron, text := range map[string]string{"61 * * * *": "61 * * * *", "CRON_TZ=Mars/Olympus * * * * *": "Mars/Olympus", "* * *": "five", "* * * * * *": "five"} {
		c.do("POST", "/v2/schedules/https://e.test/", "", "Svc-Cron: "+cron).refused(400, text)
	}
	c.do("POST", "/v2/schedules/https://e.test/", "").refused(400, published.HeaderPrefix+"Cron", "missing")
	c.do("POST", "/v2/schedules/nobody", "", "Svc-Cron: * * * * *").refused(404, "nobody")
}

func TestMessages(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.UnixMilli(5000)})
	u.Stub("*")
	c := newClient(t, u)
	id := u.Publish("https://e.test/", []byte("x"), "Svc-Delay: 1h", "Svc-Label: a,b", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: rate=2,parallelism=3",
		"Svc-Callback: https://cb.test/", "Svc-Retry-Delay: 1000", "Content-Type: text/plain")
	a := c.do("GET", "/v2/messages/"+id, "").ok()
	for name, want := range map[string]any{
		"messageId": id, "url": "https://e.test/", "method": "POST", "body": "x", "maxRetries": 3.0, "createdAt": 5000.0, "notBefore": 3605000.0,
		"callback": "https://cb.test/", "label": "a", "flowControlKey": "k", "rate": 2.0, "ratePerSecond": 2.0, "period": 1.0, "parallelism": 3.0,
		"retryDelayExpression": "1000", "failureCallback": nil, "queueName": nil, "scheduleId": nil, "topicName": nil, "bodyBase64": nil, "callerIP": "127.0.0.1",
	} {
		if got := a.get(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	binary := u.Publish("https://e.test/", []byte{0xff}, "Svc-Delay: 1h")
	b := c.do("GET", "/v2/messages/"+binary, "").ok()
	expect.Equal(t, "bodyBase64 of a binary body", b.text("bodyBase64"), "/w==")
	expect.Equal(t, "body of a binary body", b.get("body"), nil)
	c.do("DELETE", "/v2/messages/"+id, "").ok()
	c.do("GET", "/v2/messages/"+id, "").refused(404, id)
	c.do("DELETE", "/v2/messages/"+id, "").refused(404, id)

	for i := range 5 {
		u.Publish(fmt.Sprintf("https://e.test/%d", i%2), nil, "Svc-Delay: 1h", "Svc-Label: bulk")
	}
	expect.Equal(t, "cancelled by label and URL", c.do("DELETE", "/v2/messages?label=bulk&url=https://e.test/1", "").ok().number("cancelled"), 2)
	expect.Equal(t, "cancelled by id, one of two unknown", c.do("DELETE", "/v2/messages", `{"messageIds":["`+binary+`","msg_none"]}`).ok().number("cancelled"), 1)
	expect.Equal(t, "cancelled with a count of 1", c.do("DELETE", "/v2/messages?label=bulk&count=1", "").ok().number("cancelled"), 1)
	c.do("DELETE", "/v2/messages?count=abc", "").refused(400, "count", "abc")
	u.Advance(time.Hour)
	expect.Equal(t, "deliveries", len(u.Deliveries()), 2)
	done := u.Publish("https://e.test/", nil)
	u.Settle()
	c.do("GET", "/v2/messages/"+done, "").refused(404, done)
}

func TestDLQ(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "https://e.test/*", Answers: []mockserver.Answer{{Status: "503", Body: "busy", Headers: map[string]string{"X-Why": "load"}}}})
	u.Stub("https://fcb.test/*", 200)
	c := newClient(t, u)
	for i := range 7 {
		u.Publish(fmt.Sprintf("https://e.test/%d", i), []byte("payload"), "Svc-Retries: 0", "Svc-Label: l"+fmt.Sprint(i%2), "Svc-Failure-Callback: https://fcb.test/", "Svc-Forward-X: y")
		u.Advance(time.Second)
	}
	a := c.do("GET", "/v2/dlq", "").ok()
	expect.Equal(expect.Now(t), "number of entries in the DLQ", len(a.list("messages")), 7)
	expect.Equal(expect.Now(t), "cursor of the whole list", a.get("cursor"), nil)
	for path, want := range map[string]any{"url": "https://e.test/6", "body": "payload", "responseStatus": 503.0, "responseBody": "busy", "label": "l0", "maxRetries": 0.0} {
		if got := a.get("messages", 0, path); got != want {
			t.Errorf("%s of the first entry, the newest: got %v, want %v", path, got, want)
		}
	}
	expect.Equal(t, "responseHeader X-Why of the first entry", a.text("messages", 0, "responseHeader", "X-Why", 0), "load")
	expect.Equal(t, "header X of the first entry", a.text("messages", 0, "header", "X", 0), "y")
	expect.Equal(t, "state of the first entry's failure callback", a.text("messages", 0, "failureCallbackInfo", "state"), "CALLBACK_SUCCESS")
	var walked []string
	for cursor := ""; ; {
		p := c.do("GET", "/v2/dlq?count=3&cursor="+url.QueryEscape(cursor), "").ok()
		for i := range p.list("messages") {
			walked = append(walked, p.text("messages", i, "url"))
		}
		if cursor = p.text("cursor"); cursor == "" {
			break
		}
	}
	if expect.Equal(t, "number of entries on all pages", len(walked), 7) {
		expect.Equal(t, "URL of the first entry", walked[0], "https://e.test/6")
		expect.Equal(t, "URL of the last entry", walked[6], "https://e.test/0")
	}
	for query, want := range map[string]int{"label=l1": 3, "label=l1,l0": 7, "responseStatus=503": 7, "responseStatus=500": 0, "url=https://e.test/3": 1, "callerIp=127.0.0.1": 7,
		"callerIP=10.0.0.1": 0, "source=workflow": 0, "failureCallbackState=CALLBACK_SUCCESS": 7, "failureFunctionState=CALLBACK_FAIL": 0, "label=l1&url=https://e.test/2": 0} {
		if got := len(c.do("GET", "/v2/dlq?"+query, "").ok().list("messages")); got != want {
			t.Errorf("entries for %s: got %d, want %d", query, got, want)
		}
	}
	for _, query := range []string{"count=0", "count=-1", "count=abc", "cursor=1", "cursor=x-y", "fromDate=yesterday"} {
		c.do("GET", "/v2/dlq?"+query, "").refused(400, strings.SplitN(query, "=", 2)[0])
	}
	logs := c.do("GET", "/v2/logs?count=1", "").ok().text("cursor")
	c.do("GET", "/v2/dlq?cursor="+logs, "").refused(400, "cursor")

	one := a.text("messages", 0, "dlqId")
	e := c.do("GET", "/v2/dlq/"+one, "").ok()
	expect.Equal(t, "dlqId of the entry", e.text("dlqId"), one)
	if e.text("messageId") == "" {
		t.Errorf("the entry: got %s, want a messageId", e.raw)
	}
	c.do("GET", "/v2/workflows/dlq/"+one, "").refused(400, one)
	c.do("POST", "/v2/dlq/restart/"+one, "").refused(400, one)
	u.Stub("https://e.test/6", 200)
	if r := c.do("POST", "/v2/dlq/retry/"+one, "").ok(); r.text("messageId") == "" {
		t.Errorf("the answer to a retry: got %s, want a messageId", r.raw)
	}
	u.Settle()
	c.do("GET", "/v2/dlq/"+one, "").refused(404, one)
	c.do("DELETE", "/v2/dlq/"+a.text("messages", 1, "dlqId"), "").ok()
	expect.Equal(t, "deleted by label", c.do("DELETE", "/v2/dlq?label=l1", "").ok().number("deleted"), 2)
	rest := c.do("GET", "/v2/dlq", "").ok()
	expect.Equal(t, "retried by id", len(c.do("POST", "/v2/dlq/retry?dlqIds="+rest.text("messages", 0, "dlqId")+"&dlqIds="+rest.text("messages", 1, "dlqId"), "").ok().list("responses")), 2)
	u.Settle()
	expect.Equal(t, "deleted by id", c.do("DELETE", "/v2/dlq", `{"dlqIds":["`+rest.text("messages", 2, "dlqId")+`"]}`).ok().number("deleted"), 1)
	c.do("POST", "/v2/dlq/retry/1-1", "").refused(404, "1-1")
}

// TestDLQEntryWithoutAnAnswer: the Python client reads the status of each entry, and
// would list none if one entry lacked it.
func TestDLQEntryWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Script(mockserver.Stub{URL: "https://down.test/*", Answers: []mockserver.Answer{{Fail: "refused"}}})
	u.Publish("https://down.test/", nil, "Svc-Retries: 0")
	u.Settle()
	a := newClient(t, u).do("GET", "/v2/dlq", "").ok()
	if len(a.list("messages")) != 1 {
		t.Fatalf("got %s, want one entry", a.raw)
	}
	for path, want := range map[string]any{"the list": a.get("messages", 0, "responseStatus"), "the entry": newClient(t, u).do("GET", "/v2/dlq/"+a.text("messages", 0, "dlqId"), "").ok().get("responseStatus")} {
		if want != 0.0 {
			t.Errorf("%s: got responseStatus %v, want 0", path, want)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://e.test/*", 503, 200)
	c := newClient(t, u)
	id := u.Publish("https://e.test/", []byte("x"), "Svc-Redact-Fields: body, header[Hush]", "Svc-Forward-Hush: s", "Svc-Forward-Open: o")
	u.Advance(time.Hour)
	a := c.do("GET", "/v2/logs?messageId="+id, "").ok()
	var states []string
	for i := range a.list("logs") {
		states = append(states, a.text("logs", i, "state"))
		body, err := base64.StdEncoding.DecodeString(a.text("logs", i, "body"))
		expect.Nil(t, "error of decoding the body", err)
		for what, got := range map[string]string{"body": string(body), "header Hush": a.text("logs", i, "header", "Hush", 0)} {
			if !strings.HasPrefix(got, "REDACTED:") {
				t.Errorf("%s of a log entry: got %q, want it to begin with REDACTED:", what, got)
			}
		}
		expect.Equal(t, "header Open of a log entry", a.text("logs", i, "header", "Open", 0), "o")
	}
	slices.Reverse(states)
	if want := []string{"CREATED", "ACTIVE", "ERROR", "RETRY", "ACTIVE", "DELIVERED"}; !slices.Equal(states, want) {
		t.Errorf("states of the log: got %v, want %v", states, want)
	}
	e := c.do("GET", "/v2/events?state=ERROR", "").ok()
	expect.Equal(t, "number of events of state ERROR", len(e.list("events")), 1)
	expect.Equal(t, "responseStatus of the event", e.number("events", 0, "responseStatus"), 503)
	if e.text("events", 0, "error") == "" {
		t.Errorf("the event: got %s, want an error", e.raw)
	}
	var walked int
	for cursor := ""; ; {
		p := c.do("GET", "/v2/logs?count=1&cursor="+cursor, "").ok()
		walked += len(p.list("logs"))
		if cursor = p.text("cursor"); cursor == "" {
			break
		}
	}
	expect.Equal(t, "events on all pages", walked, 6)
	for _, query := range []string{"state=GONE", "count=-1", "count=0", "cursor=zzz", "toDate=x"} {
		c.do("GET", "/v2/logs?"+query, "").refused(400, strings.SplitN(query, "=", 2)[0])
	}
}

func TestFlowControlKeys(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	c.do("GET", "/v2/flowControl/k", "").refused(404, "k")
	c.do("POST", "/v2/flowControl/k/resume", "").refused(404, "k")
	c.do("POST", "/v2/flowControl/k/pause", "").ok()
	for i := range 4 {
		u.Publish(fmt.Sprintf("https://e.test/%d", i), nil, "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: rate=2, period=1m")
	}
	a := c.do("GET", "/v2/flowControl/k", "").ok()
	expect.Equal(t, "waitListSize", a.number("waitListSize"), 4)
	expect.Equal(t, "isPaused", a.get("isPaused"), true)
	expect.Equal(t, "rateMax", a.number("rateMax"), 2)
	expect.Equal(t, "ratePeriod", a.number("ratePeriod"), 60)
	expect.Equal(t, "parallelismMax", a.number("parallelismMax"), 0)
	expect.Equal(t, "answer to resume", string(c.do("POST", "/v2/flowControl/k/resume", "").ok().raw), "{}")
	expect.Equal(t, "deliveries in the first period", len(u.Deliveries()), 2)
	c.do("POST", "/v2/flowControl/k/pin?rate=1&period=30s&parallelism=4", "").ok()
	a = c.do("GET", "/v2/flowControl", "").ok()
	expect.Equal(t, "rateMax", a.number(0, "rateMax"), 1)
	expect.Equal(t, "ratePeriod", a.number(0, "ratePeriod"), 30)
	expect.Equal(t, "isPinnedRate", a.get(0, "isPinnedRate"), true)
	expect.Equal(t, "parallelismMax", a.number(0, "parallelismMax"), 4)
	c.do("POST", "/v2/flowControl/k/resetRate", "").ok()
	expect.Equal(t, "deliveries after the rate was reset", len(u.Deliveries()), 3)
	c.do("POST", "/v2/flowControl/k/unpin?rate=true&parallelism=true", "").ok()
	u.Advance(time.Minute)
	list := u.Deliveries()
	if expect.Equal(t, "number of deliveries", len(list), 4) {
		expect.Equal(t, "URL of the last delivery", list[3].URL, "https://e.test/3")
	}
	if g := c.do("GET", "/v2/globalParallelism", "").ok(); g.number("parallelismMax") == 0 {
		t.Errorf("the global parallelism: got %s, want a parallelismMax above 0", g.raw)
	}
	c.do("POST", "/v2/flowControl/k/pin", "").refused(400, "query: must have at least one of parallelism, rate, period")
	c.do("POST", "/v2/flowControl/k/pin?rate=0", "").refused(400, "rate")
	c.do("POST", "/v2/flowControl/k/pin?rate=1&period=1y", "").refused(400, "period")
	c.do("POST", "/v2/flowControl/k/unpin", "").refused(400, "unpin")
	c.do("POST", "/v2/flowControl/nobody/unpin?rate=true", "").refused(404, "nobody")
}

func TestAnUnknownGroupIsDeletedAsWell(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	c.do("DELETE", "/v2/topics/unknown", "").ok()
	c.do("GET", "/v2/topics/unknown", "").refused(404, "topic unknown not found")
}

func TestTextsThatClientsAssert(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, method, path, body, want string }{
		{"publish to an unknown group", "POST", "/v2/publish/none", "", "topic none not found"},
		{"enqueue to an unknown group", "POST", "/v2/enqueue/q/none", "", "topic none not found"},
		{"batch to an unknown group", "POST", "/v2/batch", `[{"destination":"none"}]`, "topic none not found"},
		{"endpoints of an unknown group", "DELETE", "/v2/topics/none/endpoints", `{"endpoints":[{"name":"a"}]}`, "topic none not found"},
		{"publish to nothing", "POST", "/v2/publish/", "", "a non-empty destination must be provided"},
		{"publish to nothing but a query", "POST", "/v2/publish/?a=b", "", "a non-empty destination must be provided"},
		{"enqueue to nothing", "POST", "/v2/enqueue/q/", "", "a non-empty destination must be provided"},
		{"trigger of nothing", "POST", "/v2/trigger/", "", "a non-empty destination must be provided"},
		{"batch to nothing", "POST", "/v2/batch", `[{"destination":""}]`, "a non-empty destination must be provided"},
	}
	for _, row := range cases {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := newClient(t, mockserver.RunT(t)).do(row.method, row.path, row.body)
			if a.status != 400 && a.status != 404 {
				t.Errorf("status: got %d, want 400 or 404", a.status)
			}
			expect.Contains(t, "error", a.text("error"), row.want)
		})
	}
}

func TestPausedOfAQueue(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, first, second string
		paused              bool
		parallelism         int64
	}{
		{"true pauses a new queue", `"paused":true`, "", true, 1},
		{"false leaves a new queue open", `"paused":false`, "", false, 1},
		{"true pauses a queue", `"parallelism":3`, `"paused":true`, true, 3},
		{"false resumes a queue", `"paused":true`, `"paused":false`, false, 1},
		{"absent leaves a queue paused", `"paused":true`, `"parallelism":2`, true, 2},
		{"null leaves a queue paused", `"paused":true`, `"paused":null,"parallelism":null`, true, 1},
	}
	for _, row := range cases {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			u.Stub("*")
			c := newClient(t, u)
			c.do("POST", "/v2/queues", `{"queueName":"q",`+row.first+`}`).ok()
			if strings.Contains(row.first, "true") { // it waits for a change
				c.do("POST", "/v2/enqueue/q/https://e.test/", "").ok()
			}
			if row.second != "" {
				c.do("POST", "/v2/queues", `{"queueName":"q",`+row.second+`}`).ok()
			}
			if !strings.Contains(row.first, "true") {
				c.do("POST", "/v2/enqueue/q/https://e.test/", "").ok()
			}
			a := c.do("GET", "/v2/queues/q", "").ok()
			expect.Equal[any](t, "paused", a.get("paused"), row.paused)
			expect.Equal(t, "parallelism", a.number("parallelism"), row.parallelism)
			expect.Equal(t, "that the message was delivered", len(u.Deliveries()) > 0, !row.paused)
		})
	}
}

func TestBodyAndRetryDelayOfALogEntry(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	u.Publish("https://e.test/text", []byte("hello"), "Svc-Retry-Delay: 1000 * retried")
	u.Publish("https://e.test/binary", []byte{0xff, 0})
	u.Publish("https://e.test/empty", nil)
	for path, list := range map[string]string{"/v2/logs": "logs", "/v2/events": "events"} {
		for name, want := range map[string]any{"text": "aGVsbG8=", "binary": "/wA=", "empty": nil} {
			a := c.do("GET", path+"?state=CREATED&url=https://e.test/"+name, "").ok()
			if got := a.get(list, 0, "body"); got != want {
				t.Errorf("%s: body of %s: got %v, want %v", path, name, got, want)
			}
		}
		a := c.do("GET", path+"?state=CREATED&url=https://e.test/text", "").ok()
		for _, name := range []string{"retryDelayExpr", "retryDelayExpression"} {
			if got := a.get(list, 0, name); got != "1000 * retried" {
				t.Errorf("%s: %s: got %v, want 1000 * retried", path, name, got)
			}
		}
	}
}
