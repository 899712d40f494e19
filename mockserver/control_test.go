package mockserver_test

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t, mockserver.Config{Start: time.UnixMilli(1767225600000)}))
	a := c.do("GET", "/_understudy/health", "").ok()
	expect.Equal(t, "status", a.text("status"), "ok")
	if a.text("version") == "" {
		t.Errorf("health: got %s, want a version", a.raw)
	}
	expect.Equal(t, "dialect", a.text("dialect"), "auto")
	expect.Equal(t, "mode of the clock", a.text("clock", "mode"), "manual")
	expect.Equal(t, "time of the clock", a.number("clock", "now"), 1767225600000)
	c.do("GET", "/_understudy/livez", "").ok()
	c.do("GET", "/_understudy/readyz", "").ok()
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.UnixMilli(1_000_000)})
	u.Stub("*", 503)
	c := newClient(t, u)
	u.Publish("https://e.test/", nil)
	a := c.do("POST", "/_understudy/clock/advance", `{"by":"0s"}`).ok()
	expect.Equal(t, "time until the first retry", a.number("nextDue")-a.number("now"), 12_000)
	a = c.do("POST", "/_understudy/clock/advance", `{"by":"48h"}`).ok()
	expect.Equal(t, "attempts", a.number("attempts"), 3)
	expect.Equal(t, "timers fired", a.number("timersFired"), 3)
	expect.Equal(t, "failed attempts", a.number("failed"), 3)
	expect.Equal(t, "woken runs", a.number("runsWoken"), 0)
	expect.Equal(t, "time after advancing by a duration", a.number("now"), 1_000_000+48*3600*1000)
	a = c.do("POST", "/_understudy/clock/advance", `{"to":180000000}`).ok()
	expect.Equal(t, "time after advancing to a time", a.number("now"), 180_000_000)
	a = c.do("PUT", "/_understudy/clock", `{"now":190000000}`).ok()
	expect.Equal(t, "time after it was set", a.number("now"), 190_000_000)
	expect.Equal(t, "mode after the time was set", a.text("mode"), "manual")
	for body, texts := range map[string][]string{
		`{"by":"24h","to":1}`: {"must be one of"},
		`{}`:                  {"by", "to"},
		`{"by":"soon"}`:       {"soon", "24h"},
		`{"by":"-1h"}`:        {"-1h"},
		`{"to":1}`:            {"forward"},
		`{"to":"1"}`:          {"/to"},
		`{"by":"1h","x":1}`:   {"x"},
		`{"by":`:              {"line 1, column 7"},
		`{"by":"1h"} x`:       {"line 1, column"},
		``:                    {"empty"},
	} {
		c.do("POST", "/_understudy/clock/advance", body).refused(400, texts...)
	}
}

func TestARealClockCannotBeAdvanced(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t, mockserver.Config{Clock: "real"}))
	c.do("POST", "/_understudy/clock/advance", `{"by":"1h"}`).refused(400, "manual")
	expect.Equal(t, "mode after it was set", c.do("PUT", "/_understudy/clock", `{"mode":"manual"}`).ok().text("mode"), "manual")
	c.do("POST", "/_understudy/clock/advance", `{"by":"1h"}`).ok()
	c.do("PUT", "/_understudy/clock", `{"mode":"sideways"}`).refused(400, "sideways")
}

func TestAnAutoClockSkipsTheWaiting(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Clock: "auto"})
	u.Stub("*", 503)
	c := newClient(t, u)
	u.Publish("https://e.test/", nil)
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(time.Minute))
	defer cancel()
	for len(c.do("GET", "/v2/dlq", "").ok().list("messages")) == 0 {
		if ctx.Err() != nil {
			t.Fatal("no DLQ entry")
		}
	}
	expect.Equal(t, "attempts", len(u.Deliveries()), 4)
}

func TestAddingAStub(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Stubs: []mockserver.Stub{{URL: "https://a.test/*"}}})
	c := newClient(t, u)
	c.do("POST", "/_understudy/stubs", `{"url":"https://a.test/x","answers":[{"status":503}]}`).ok()
	t.Run("answers before those that were there", func(t *testing.T) {
		u.Publish("https://a.test/x", nil)
		u.Advance(0)
		list := u.Deliveries()
		if len(list) == 0 {
			t.Fatal("deliveries: got none, want one at least")
		}
		expect.Equal(t, "status of the first delivery", list[0].Response.Status, 503)
	})
	t.Run("keeps the others", func(t *testing.T) {
		if a := c.do("GET", "/_understudy/stubs", "").ok(); len(a.list()) != 2 {
			t.Errorf("stubs: got %s, want two", a.raw)
		}
	})
	t.Run("loses none of those that are added at once", func(t *testing.T) {
		var adding sync.WaitGroup
		for range 20 {
			adding.Go(func() { c.do("POST", "/_understudy/stubs", `{"url":"https://b.test/"}`).ok() })
		}
		adding.Wait()
		if a := c.do("GET", "/_understudy/stubs", "").ok(); len(a.list()) != 22 {
			t.Errorf("number of stubs: got %d, want 22", len(a.list()))
		}
	})
	t.Run("refuses one that cannot be", func(t *testing.T) {
		c.do("POST", "/_understudy/stubs", `{"url":"/(/"}`).refused(400, "regular expression")
		c.do("POST", "/_understudy/stubs", `{}`).refused(400, "url")
	})
}

func TestResetForgetsEverythingButConfiguration(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Stubs: []mockserver.Stub{{URL: "https://kept.test/"}}})
	c := newClient(t, u)
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"url":"https://kept.test/"}]}`).ok()
	c.do("POST", "/v2/publish/g", "x", "Svc-Delay: 1h").ok()
	c.do("POST", "/v2/schedules/https://kept.test/", "x", "Svc-Cron: * * * * *").ok()
	keys := c.do("GET", "/v2/keys", "").ok()
	c.do("DELETE", "/_understudy/stubs", "").ok()
	c.do("POST", "/_understudy/reset", "").ok()
	for path, list := range map[string]string{"/v2/topics": "", "/v2/schedules": "", "/v2/logs": "logs", "/_understudy/deliveries": "entries"} {
		a := c.do("GET", path, "").ok()
		n := len(a.list())
		if list != "" {
			n = len(a.list(list))
		}
		if n != 0 {
			t.Errorf("%s after a reset: got %s, want nothing", path, a.raw)
		}
	}
	if a := c.do("GET", "/_understudy/stubs", "").ok(); len(a.list()) != 1 {
		t.Errorf("stubs after a reset: got %s, want that of the configuration", a.raw)
	}
	expect.Equal(t, "signing keys after a reset", string(c.do("GET", "/v2/keys", "").ok().raw), string(keys.raw))
	u.Advance(48 * time.Hour)
	expect.Equal(t, "deliveries of what was forgotten", len(u.Deliveries()), 0)
}

func TestJournals(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://a.test/*", 200)
	u.Stub("https://b.test/*", 503)
	c := newClient(t, u)
	a := u.Publish("https://a.test/1", []byte("body"), "X-Own: 1")
	u.Publish("https://b.test/1", nil, "Svc-Retries: 0")
	c.do("POST", "/v2/publish/ftp://x?svc_token="+u.Token(), "").refused(400)
	u.Settle()
	requests := c.do("GET", "/_understudy/requests", "").ok()
	expect.Equal(expect.Now(t), "number of requests in the journal", len(requests.list("entries")), 3)
	if requests.number("limit") == 0 {
		t.Errorf("the journal: got %s, want a limit", requests.raw)
	}
	expect.Equal(t, "operationId of the first request", requests.text("entries", 0, "operationId"), "publishMessage")
	expect.Equal(t, "body of the first request", requests.text("entries", 0, "request", "body"), "body")
	expect.Equal(t, "status of the first request", requests.number("entries", 0, "response", "status"), 200)
	if requests.text("entries", 0, "account") == "" {
		t.Errorf("the first request: got %v, want an account", requests.get("entries", 0))
	}
	if strings.Contains(string(requests.raw), u.Token()) {
		t.Error("the journal shows the token")
	}
	if len(requests.list("entries", 2, "problems")) != 1 {
		t.Errorf("the refused request: got %v, want one problem", requests.get("entries", 2))
	}
	for query, want := range map[string]int{"?limit=2": 2, "?operationId=publishMessage": 3, "?operationId=x": 0, "?status=400": 1, "?path=/v2/publish/https://b": 1} {
		if got := len(c.do("GET", "/_understudy/requests"+query, "").ok().list("entries")); got != want {
			t.Errorf("requests%s: got %d, want %d", query, got, want)
		}
	}
	for query, want := range map[string]int{"": 2, "?messageId=" + a: 1, "?url=https://b.test": 1, "?status=503": 1, "?limit=1": 1} {
		if got := len(c.do("GET", "/_understudy/deliveries"+query, "").ok().list("entries")); got != want {
			t.Errorf("deliveries%s: got %d, want %d", query, got, want)
		}
	}
	c.do("GET", "/_understudy/deliveries?limit=0", "").refused(400, "limit", "1 to 10000")
	c.do("PUT", "/_understudy/faults", `[{"on":"api","status":503,"times":1}]`).ok()
	c.do("GET", "/v2/queues", "")
	for query, want := range map[string]int{"?refused=true&status=503": 1, "?refused=false&status=503": 0, "?refused=true&status=400": 1, "?refused=false&status=200": 2} {
		if got := len(c.do("GET", "/_understudy/requests"+query, "").ok().list("entries")); got != want {
			t.Errorf("requests%s: got %d, want %d", query, got, want)
		}
	}
	c.do("DELETE", "/_understudy/requests", "").ok()
	c.do("DELETE", "/_understudy/deliveries", "").ok()
	expect.Equal(t, "deliveries after clearing", len(c.do("GET", "/_understudy/deliveries", "").ok().list("entries")), 0)
}

// TestListsAreNarrowedByEachFilterTheyHave tries filters that lists of another kind have as well.
func TestListsAreNarrowedByEachFilterTheyHave(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	c := newClient(t, u)
	for _, name := range []string{"orders", "mails"} {
		c.do("POST", "/v2/trigger/https://app.test/"+name, "{}").ok()
	}
	t.Run("runs by the start of their URL", func(t *testing.T) {
		t.Parallel()
		runs := c.do("GET", "/_understudy/runs?url=https://app.test/ord", "").ok().list("runs")
		expect.Equal(t, "number of runs", len(runs), 1)
	})
	for path, filter := range map[string]string{"runs?queueName=a": "queueName", "runs?source=message": "source", "runs?topicName=a": "topicName", "runs?scheduleId=a": "scheduleId", "dlq?state=FAILED": "state"} {
		t.Run(path+" is refused", func(t *testing.T) {
			t.Parallel()
			c.do("GET", "/_understudy/"+path, "").refused(400, "query "+filter, "unknown filter")
		})
	}
}

// TestListsCountAllPages: the numbers are those of all entries that match, by their states.
func TestListsCountAllPages(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	c := newClient(t, u)
	for _, to := range []string{"https://app.test/a", "https://app.test/b", "https://down.test/"} {
		u.Publish(to, nil, "Svc-Retries: 0")
	}
	c.do("POST", "/v2/trigger/https://down.test/flow", "{}", "Svc-Retries: 0").ok()
	u.Settle()
	for _, row := range []struct {
		path, state string
		want        int64
	}{
		{"messages?source=message", "DELIVERED", 2},
		{"messages?source=message", "FAILED", 2}, // the failure callback of the run too
		{"messages?source=message&url=https://app.test/a", "DELIVERED", 1},
		{"messages?source=message&url=https://app.test/a", "FAILED", 0},
		{"runs?url=https://down.test/", "RUN_FAILED", 1},
		{"dlq?url=https://down.test/", "message", 2},
		{"dlq?url=https://down.test/", "workflow", 1},
	} {
		query := "&count=1&counts=true"
		if strings.HasPrefix(row.path, "dlq") {
			query = "&count=1" // which always counts
		}
		expect.Equal(t, row.path+" "+row.state, c.do("GET", "/_understudy/"+row.path+query, "").ok().number("counts", row.state), row.want)
	}
	expect.Lacks(t, "messages without being asked for counts", string(c.do("GET", "/_understudy/messages", "").ok().raw), "counts")
}

func TestListsAreOfOneAccount(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	for _, list := range []string{"requests", "deliveries", "messages", "messages/msg_1", "runs", "runs/wfr_1", "dlq", "log", "explain/msg_1", "events", "schedules", "flow", "waiters", "limits"} {
		t.Run(list, func(t *testing.T) {
			c.do("GET", "/_understudy/"+list+"?account=*", "").refused(400, "query account", "the id of one account")
		})
	}
	t.Run("commands take all", func(t *testing.T) {
		c.do("POST", "/_understudy/clock/advance?account=*", `{"by":"1h"}`).ok()
		c.do("DELETE", "/_understudy/requests?account=*", "").ok()
		c.do("POST", "/_understudy/reset?account=*", "").ok()
	})
}

func TestJournalsAreBounded(t *testing.T) {
	t.Parallel()
	const bound = 8 << 20
	u := mockserver.RunT(t, mockserver.Config{Memory: bound})
	u.Stub("*")
	big := bytes.Repeat([]byte("b"), 128<<10)
	for range 80 {
		u.Publish("https://e.test/", big)
		u.Settle()
	}
	c := newClient(t, u)
	t.Run("what is kept stays below the bound", func(t *testing.T) {
		health := c.do("GET", "/_understudy/health", "").ok()
		kept, limit := health.number("memory", "observations"), health.number("memory", "limit")
		expect.Equal(t, "limit", limit, bound)
		if kept > bound {
			t.Errorf("bytes kept: got %d, want at most %d", kept, bound)
		}
		if kept < bound/4 {
			t.Errorf("bytes kept: got %d, want a quarter of %d at least", kept, bound)
		}
	})
	list := u.Deliveries()
	expect.Equal(expect.Now(t), "deliveries listed", len(list), 80)
	t.Run("the oldest delivery says that its body was dropped", func(t *testing.T) {
		d := c.do("GET", "/_understudy/deliveries?limit=80", "").ok()
		expect.Equal[any](t, "bodyDropped", d.get("entries", 0, "request", "bodyDropped"), true)
		expect.Equal(t, "bodyBytes", d.number("entries", 0, "request", "bodyBytes"), int64(len(big)))
	})
	t.Run("the newest delivery is whole", func(t *testing.T) {
		expect.Equal(t, "bytes of the body", len(list[79].Request.Body), len(big))
	})
	t.Run("the log says so as well", func(t *testing.T) {
		events := c.do("GET", "/v2/logs?count=1000", "").ok()
		n := len(events.list("logs"))
		if n == 0 {
			t.Fatal("events: got none, want one at least")
		}
		expect.Equal[any](t, "bodyDropped of the oldest event", events.get("logs", n-1, "bodyDropped"), true)
	})
}

func TestABacklogBeyondItsBoundIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mockserver.Config{"in messages": {MaxBacklog: 3}, "in bytes": {MaxBacklogBytes: 6000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, cfg)
			u.Stub("*")
			c := newClient(t, u)
			publish := func() answer {
				return c.do("POST", "/v2/publish/https://e.test/", strings.Repeat("b", 1000), "Svc-Delay: 1h")
			}
			for range 3 {
				publish().ok()
			}
			refused := publish()
			refused.refused(429, "--max-backlog")
			expect.Equal(t, "Retry-After", refused.header.Get("Retry-After"), "1")
			c.do("POST", "/v2/schedules/https://e.test/", "", "Svc-Cron: * * * * *", "Svc-Forward-X: "+strings.Repeat("h", 5000))
			u.Advance(time.Hour)
			publish().ok()
		})
	}
}

func TestSettleAndSinks(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Publish(u.URL()+"/_understudy/sink/status/204", nil)
	u.Publish(u.URL()+"/_understudy/sink/slow/50ms", nil)
	flaky := u.Publish(u.URL()+"/_understudy/sink/flaky/2", nil)
	c.do("POST", "/_understudy/settle", "").ok()
	c.do("POST", "/_understudy/settle", `{"timeout":"1s"}`).ok()
	u.Advance(time.Hour)
	got := map[int]int{}
	attempts := 0
	for _, d := range u.Deliveries() {
		got[d.Response.Status]++
		if d.MessageID == flaky {
			attempts++
		}
	}
	expect.Equal(t, "answers with status 204", got[204], 1)
	expect.Equal(t, "answers with status 200", got[200], 2)
	expect.Equal(t, "answers with status 503", got[503], 2)
	expect.Equal(t, "attempts at the flaky sink", attempts, 3)
	c.do("GET", "/_understudy/sink/status/99", "").refused(400, "99")
	c.do("GET", "/_understudy/sink/slow/soon", "").refused(400, `path duration: invalid value "soon": must be a duration such as 3s`)
}

func TestSettleGivesUp(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	release := make(chan struct{})
	s := newSink(t, func(http.ResponseWriter, *http.Request) { <-release })
	u.Publish(s.URL, nil)
	newClient(t, u).do("POST", "/_understudy/settle", `{"timeout":"20ms"}`).refused(http.StatusGatewayTimeout, "timeout: 20ms of real time passed: settle: attempts still in flight: 1")
	close(release)
}

func TestEventsAreStreamed(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(time.Minute))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", u.URL()+"/_understudy/events", nil)
	expect.NoError(t, err)
	response, err := newClient(t, u).http.Do(r)
	expect.NoError(t, err)
	defer response.Body.Close()
	expect.Equal(t, "Content-Type", response.Header.Get("Content-Type"), "text/event-stream")
	u.Publish("https://e.test/", nil)
	lines := bufio.NewScanner(response.Body)
	for _, want := range []string{"CREATED", "ACTIVE", "DELIVERED"} {
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		if !strings.Contains(lines.Text(), `"state":"`+want+`"`) {
			t.Errorf("event: got %s, want state %s", lines.Text(), want)
		}
	}
}

func TestTheControlAPIIsForLoopbackOnly(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{ControlToken: "secret", ControlOpenOnLoopback: true})
	c := newClient(t, u)
	c.do("GET", "/_understudy/health", "", "Authorization:").ok()
	c.do("GET", "/_understudy/clock", "", "Authorization:").ok()
	for name, rebound := range map[string]string{"another site by a name of its own": "evil.test"} {
		r, err := http.NewRequest("GET", u.URL()+"/_understudy/clock", nil)
		expect.NoError(t, err)
		r.Host = rebound
		response, err := c.http.Do(r)
		expect.NoError(t, err)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: got status %d, want %d", name, response.StatusCode, http.StatusUnauthorized)
		}
	}
	for token, want := range map[string]int{"Bearer secret": 200, "Bearer guess": 401, "secret": 401, "": 401} {
		r, err := http.NewRequest("GET", u.URL()+"/_understudy/clock", nil)
		expect.NoError(t, err)
		r.Host = "mock.example.org"
		r.Header.Set("Authorization", token)
		response, err := c.http.Do(r)
		expect.NoError(t, err)
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("from elsewhere with %q: got status %d, want %d", token, response.StatusCode, want)
		}
	}
}

func TestMetricsSayWhatHealthSays(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{MaxBacklogBytes: 1 << 20})
	u.Publish("https://e.test/", []byte("b"), "Svc-Delay: 1h")
	c := newClient(t, u)
	health := c.do("GET", "/_understudy/health", "").ok()
	text := string(c.do("GET", "/_understudy/metrics", "").ok().raw)
	for name, want := range map[string]int64{
		"understudy_accounts":                 1,
		"understudy_backlog_bytes":            health.number("memory", "backlog", "bytes"),
		"understudy_backlog_limit_bytes":      1 << 20,
		"understudy_backlog_messages":         1,
		"understudy_observations_limit_bytes": health.number("memory", "limit"),
		"understudy_violations":               0,
	} {
		t.Run(name, func(t *testing.T) {
			_, rest, _ := strings.Cut(text, "\n"+name+" ")
			line, _, _ := strings.Cut(rest, "\n")
			got, err := strconv.ParseFloat(line, 64)
			expect.Nil(t, "error of the number", err)
			expect.Equal(t, "value", int64(got), want)
		})
	}
}

// TestAJournalIsReadInPages: without a limit, an answer is a page of the newest entries, and
// says how many it leaves out.
func TestAJournalIsReadInPages(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	c := newClient(t, u)
	const all = 1003
	c.do("POST", "/v2/batch", "["+strings.Repeat(`{"destination":"https://app.test/"},`, all-1)+`{"destination":"https://app.test/last"}]`).ok()
	u.Settle()
	for query, want := range map[string][2]int{"": {1000, all - 1000}, "?limit=10000": {all, 0}, "?limit=3": {3, all - 3}, "?url=https://app.test/last": {1, 0}} {
		a := c.do("GET", "/_understudy/deliveries"+query, "").ok()
		expect.Equal(t, "entries of deliveries"+query, len(a.list("entries")), want[0])
		expect.Equal(t, "older entries of deliveries"+query, a.number("older"), int64(want[1]))
	}
}
