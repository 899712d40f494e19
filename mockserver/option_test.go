package mockserver_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestEveryOptionReachesTheMessage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	id := u.Publish("https://e.test/a", []byte("x"),
		"Svc-Method: put", "Svc-Delay: 1d10h30m", "Svc-Retries: 7", "Svc-Retry-Delay: pow(2, retried) * 1000", "Svc-Timeout: 30",
		"Svc-Callback: https://cb.test/", "Svc-Callback-Retries: 1", "Svc-Callback-Forward-X: y", "Svc-Callback-Flow-Control-Key: cb",
		"Svc-Callback-Flow-Control-Value: rate=1", "Svc-Failure-Callback: https://fcb.test/", "Svc-Failure-Callback-Method: PATCH",
		"Svc-Callback-Failure-Callback: https://cbf.test/", "Svc-Label: a, b", "Svc-Flow-Control-Key: k",
		"Svc-Flow-Control-Value: parallelism=5 , rate = 10,period=1m", "Svc-Redact-Fields: body, header[Authorization]",
		"Svc-Forward-Authorization: forwarded", "Svc-Header-Forward: true", "X-Own: 1", "Content-Type: text/plain")
	m := u.Message(id)
	o := m.Options
	checks := map[string]bool{
		"method":                 m.Method == "PUT",
		"delay":                  m.NotBefore.Time().Sub(m.CreatedAt.Time()) == 34*time.Hour+30*time.Minute,
		"retries":                m.MaxRetries == 7,
		"retry delay":            o.RetryDelay.Delay(3) == 8*time.Second,
		"timeout":                o.Timeout == 30*time.Second,
		"callback":               o.Callback.URL == "https://cb.test/",
		"callback retries":       *o.Callback.Options.Retries == 1,
		"callback forward":       o.Callback.Options.Forward.Get("X") == "y",
		"callback flow":          *o.Callback.Options.Flow == engine.FlowControl{Key: "cb", Rate: 1},
		"callback's failure":     o.Callback.Options.FailureCallback.URL == "https://cbf.test/",
		"failure callback":       o.FailureCallback.URL == "https://fcb.test/" && o.FailureCallback.Options.Method == "PATCH",
		"labels":                 slices.Equal(m.Options.Labels, []string{"a", "b"}),
		"flow":                   *o.Flow == engine.FlowControl{Key: "k", Parallelism: 5, Rate: 10, Period: time.Minute},
		"redaction":              o.Redact.Body && slices.Equal(o.Redact.Names, []string{"Authorization"}),
		"redacted header":        strings.HasPrefix(m.Headers.Forward().Header().Get("Authorization"), "REDACTED:"),
		"header forward":         m.Headers.Forward().Header().Get("X-Own") == "1" && m.Headers.Forward().Header().Get("Content-Type") == "text/plain",
		"nothing of the service": m.Headers.Forward().Header().Get("Svc-Method") == "" && m.Headers.Published().Header().Get("Authorization") == "",
	}
	for name, ok := range checks {
		if !ok {
			t.Errorf("%s is wrong: %+v", name, o)
		}
	}
}

func TestAHeaderWinsOverTheQueryAndTheQueryOverTheGroup(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 503)
	c := newClient(t, u)
	c.do("PATCH", "/v2/topics/g", `{"headers":{"Svc-Retries":"5","Svc-Delay":["1h"],"X-Default":["a","b"],"Authorization":"group"}}`).ok()
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"name":"one","url":"https://e.test/1"}]}`).ok()
	cases := []struct {
		name, query, header string
		want                int
	}{
		{"group", "", "", 5},
		{"query", "?svc-retries=4", "", 4},
		{"header", "?svc-retries=4", "Svc-Retries: 3", 3},
	}
	for _, row := range cases {
		a := c.do("POST", "/v2/publish/g"+row.query, "x", strings.Split(row.header, "\n")...).ok()
		m := u.Message(a.text(0, "messageId"))
		expect.Equal(t, row.name+": retries", int(m.MaxRetries), row.want)
		expect.Equal(t, row.name+": delay", m.Options.Delay, time.Hour)
		expect.Equal(t, row.name+": default header X-Default", m.Headers.Forward().Header()["X-Default"], []string{"a", "b"})
		expect.Equal(t, row.name+": default header Authorization", m.Headers.Forward().Header().Get("Authorization"), "group")
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	cases := []struct {
		header string
		texts  []string
	}{
		{"Svc-Retries: abc", []string{"Svc-Retries", `"abc"`, "integer"}},
		{"Svc-Retries: -1", []string{"Svc-Retries", `"-1"`}},
		{"Svc-Retries: +1", []string{"Svc-Retries"}},
		{"Svc-Retries: 99999999999999999999", []string{"Svc-Retries"}},
		{"Svc-Delay: 5 minutes", []string{"Svc-Delay", "5 minutes", "1d10h30m"}},
		{"Svc-Delay: -5s", []string{"Svc-Delay"}},
		{"Svc-Timeout: 0", []string{"Svc-Timeout"}},
		{"Svc-Not-Before: tomorrow", []string{"Svc-Not-Before", "Unix seconds"}},
		{"Svc-Not-Before: 1767225600000", []string{"Svc-Not-Before", "Unix seconds"}},
		{"Svc-Retry-Delay: 1000 / retried", []string{"Svc-Retry-Delay", "retried=0"}},
		{"Svc-Retry-Delay: exec(1)", []string{"Svc-Retry-Delay", "exec"}},
		{"Svc-Method: TRACE", []string{"Svc-Method", "TRACE", "PATCH"}},
		{"Svc-Callback: nowhere", []string{"Svc-Callback", "nowhere", "http"}},
		{"Svc-Failure-Callback: ftp://x", []string{"Svc-Failure-Callback", "ftp"}},
		{"Svc-Callback-Retries: many", []string{"Svc-Callback-Retries", "many"}},
		{"Svc-Failure-Callback-Delay: 1y", []string{"Svc-Failure-Callback-Delay"}},
		{"Svc-Flow-Control-Key: k", []string{"Svc-Flow-Control-Value", "missing"}},
		{"Svc-Flow-Control-Value: rate=1", []string{"Svc-Flow-Control-Key", "missing"}},
		{"Svc-Callback-Flow-Control-Key: k", []string{"Svc-Callback-Flow-Control-Value", "missing"}},
		{"Svc-Header-Forward: perhaps", []string{"Svc-Header-Forward", "true"}},
		{"Svc-Label: " + strings.Repeat("l", 10_000), []string{"Svc-Label", "256"}},
		{"Svc-Label: a b", []string{"Svc-Label"}},
		{"Svc-Redact-Fields: url", []string{"Svc-Redact-Fields", "url", "header[NAME]"}},
		{"Svc-Queue-Name: a/b", []string{"Svc-Queue-Name"}},
		{"Svc-Content-Based-Deduplication: 2", []string{"Svc-Content-Based-Deduplication"}},
	}
	for _, value := range []string{"rate=0", "parallelism=-1", "rate=1,period=1y", "period=1m", "rate=1,rate=2", "rate", "speed=1", "rate=1.5", "rate=1,period=0"} {
		cases = append(cases, struct {
			header string
			texts  []string
		}{"Svc-Flow-Control-Value: " + value, []string{"Svc-Flow-Control-Value", "parallelism=N"}})
	}
	for _, row := range cases {
		name := row.header[:min(60, len(row.header))]
		t.Run(name, func(t *testing.T) {
			headers := []string{row.header}
			if strings.HasPrefix(row.header, "Svc-Flow-Control-Value") && len(row.texts) > 1 && row.texts[1] == "parallelism=N" {
				headers = append(headers, "Svc-Flow-Control-Key: k")
			}
			c.do("POST", "/v2/publish/https://e.test/", "x", headers...).refused(400, row.texts...)
		})
	}
	c.do("POST", "/v2/publish/https://e.test/?svc-retries=abc", "x").refused(400, "query svc-retries", `"abc"`)
	c.do("POST", "/v2/publish/https://e.test/", "x", "Svc-Retries: 1", "Svc-Retries: 2").refused(400, "2 times")
	expect.Equal(t, "number of deliveries of refused messages", len(u.Deliveries()), 0)
}

func TestAllViolationsAtOnce(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	a := c.do("POST", "/v2/publish/ftp://e.test/?svc-timeout=soon", "x", "Accept: application/problem+json", "Svc-Retries: abc", "Svc-Delay: 5 minutes", "Svc-Callback-Method: X")
	expect.Equal(expect.Now(t), "status", a.status, 400)
	expect.Equal(expect.Now(t), "header Content-Type", a.header.Get("Content-Type"), "application/problem+json")
	found := map[string]bool{}
	for i := range a.list("problems") {
		found[a.text("problems", i, "name")] = true
		for _, field := range []string{"in", "rule", "message", "received", "accepted"} {
			if a.text("problems", i, field) == "" {
				t.Errorf("problem %v has no %s", a.get("problems", i), field)
			}
		}
	}
	for _, name := range []string{"destination", "Svc-Retries", "Svc-Delay", "svc-timeout", "Svc-Callback-Method"} {
		if !found[name] {
			t.Errorf("no word of %s: %s", name, a.raw)
		}
	}
}

func TestUnknownOptions(t *testing.T) {
	t.Parallel()
	lenient, strict := mockserver.RunT(t), mockserver.RunT(t, mockserver.Config{StrictOptions: true})
	lenient.Stub("*")
	a := newClient(t, lenient).do("POST", "/v2/publish/https://e.test/", "x", "Svc-Retires: 3", "Svc-Telemetry-Sdk: any").ok()
	for _, name := range []string{"Svc-Retires", "Svc-Retries"} {
		expect.Contains(t, "header Svc-Warning", a.header.Get("Svc-Warning"), name)
	}
	newClient(t, strict).do("POST", "/v2/publish/https://e.test/", "x", "Svc-Retires: 3").refused(400, "Svc-Retires", "Svc-Retries")
	newClient(t, strict).do("POST", "/v2/publish/https://e.test/?svc-retires=3", "x").refused(400, "query svc-retires: unknown option; did you mean svc-retries?")
}

func TestNotBeforeInThePastDeliversAtOnce(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	u.Publish("https://e.test/", nil, "Svc-Not-Before: 1000000000", "Svc-Delay: 1h")
	expect.Equal(t, "number of deliveries", len(u.Deliveries()), 1)
}

func TestNotBeforeWinsOverDelay(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u := mockserver.RunT(t, mockserver.Config{Start: start})
	u.Stub("*")
	u.Publish("https://e.test/", nil, "Svc-Not-Before: "+strconv.FormatInt(start.Add(time.Minute).Unix(), 10), "Svc-Delay: 1h")
	u.Advance(time.Minute)
	expect.Equal(t, "number of deliveries", len(u.Deliveries()), 1)
}

func TestWhatIsForwarded(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	send := func(path string, headers ...string) http.Header {
		t.Helper()
		id := c.do("POST", path, "x", headers...).ok().text("messageId")
		for _, d := range u.Deliveries() {
			if d.MessageID == id {
				return d.Request.Header
			}
		}
		t.Fatal("no delivery")
		return nil
	}
	headers := []string{"X-Event: 7", "Connection: X-Hop", "X-Hop: 1", "Svc-Forward-Trace: t", "Svc-Forward-Connection: close", "Content-Type: text/csv", "Svc-Label: l"}
	h := send("/v2/publish/https://e.test/", headers...)
	for name, want := range map[string]string{"X-Event": "", "Trace": "t", "Content-Type": "text/csv", "Authorization": "", "Connection": ""} {
		expect.Equal(t, "by prefix: header "+name, h.Get(name), want)
	}
	for _, all := range []http.Header{
		send("/v2/publish/https://e.test/", append(headers, "Svc-Header-Forward: true")...),
		send("/v2/publish/https://e.test/?svc-header-forward=true", headers...),
	} {
		for name, want := range map[string]string{"X-Event": "7", "X-Hop": "", "Authorization": "", "Svc-Label": "", "Trace": "t"} {
			expect.Equal(t, "all: header "+name, all.Get(name), want)
		}
	}
	expect.Equal(t, "added: header User-Agent", h.Get("User-Agent"), "Svc-Messaging")
	expect.Equal(t, "added: header Svc-Retried", h.Get("Svc-Retried"), "0")
	for _, name := range []string{"Svc-Caller-Ip", "Svc-Signature"} {
		if h.Get(name) == "" {
			t.Errorf("added: header %s: got none in %v, want a value", name, h)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"50s", "1d10h30m", "7", "365d365d", "9999999999", "1y", "-1s", strings.Repeat("365d", 400)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := duration.Parse(text)
		if err != nil {
			return
		}
		if text == "" {
			t.Errorf("an empty text: got %s, want an error", d)
		}
		if d < 0 {
			t.Errorf("%q: got %s, want at least 0", text, d)
		}
		if d > duration.Max {
			t.Errorf("%q: got %s, want at most %s", text, d, duration.Max)
		}
	})
}

func TestBodiesPassByteForByte(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	body := string([]byte{0, 1, 2, 0xff, 0xfe, '\n', 'x'})
	for _, kind := range []string{"application/octet-stream", "multipart/form-data; boundary=b", "application/x-www-form-urlencoded", "", "foo"} {
		u.Publish("https://e.test/", []byte(body), "Content-Type: "+kind)
	}
	for _, d := range u.Deliveries() {
		if string(d.Request.Body) != body {
			t.Errorf("body %q", base64.StdEncoding.EncodeToString(d.Request.Body))
		}
	}
}
