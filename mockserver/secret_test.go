package mockserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// planted is in every place where a credential may be; nothing that is shown or
// saved holds it.
const planted = "PLANTED0123456789"

// tokenParts are parts of JSON Web Tokens.
var tokenParts = regexp.MustCompile(`eyJ[\w-]+`)

// outputText is what a server writes into its log.
type outputText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *outputText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *outputText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// plant sends requests that hold it: accepted ones, refused ones, delivered ones.
func plant(t *testing.T, u *mockserver.TestServer, c *client, echo string) {
	t.Helper()
	with := "https://user:" + planted + "@app.test/a?x=1&api_key=" + planted
	dead := strings.Replace(echo, "http://", "http://user:"+planted+"@", 1) + "/?access%5Ftoken=" + planted
	forwarded := []string{
		"Svc-Forward-Authorization: Bearer " + planted, "svc-forward-COOKIE: a=" + planted, "Svc-Forward-X-Api-Key: " + planted, "Cookie: b=" + planted,
		"Svc-Callback: " + with, "Svc-Failure-Callback: " + with, "Svc-Callback-Forward-Authorization: Basic " + planted, "Svc-Retries: 0",
	}
	c.do("POST", "/v2/publish/"+with, "x", forwarded...).ok()
	c.do("POST", "/v2/publish/"+url.PathEscape(with), "x", forwarded...).ok()
	c.do("POST", "/v2/publish/"+url.PathEscape(url.PathEscape(with)), "x", forwarded...) // with any outcome
	c.do("POST", "/v2/publish/"+dead, "x", forwarded...).ok()
	c.do("POST", "/v2/publish/"+strings.Replace(dead, "http:", "https:", 1), "x", forwarded...).ok() // speaks no TLS, which the error says
	c.do("POST", "/v2/publish/https://refused.test/?svc%5Ftoken="+planted, "x", append(forwarded, "Authorization:")...).refused(401)
	c.do("POST", "/v2/publish/https://down.test/?SVC-FORWARD-AUTHORIZATION=Bearer%20"+planted, "x", "Svc-Retries: 0")
	c.do("POST", "/v2/publish/ftp://user:"+planted+"@app.test/", "x").refused(400)
	c.do("POST", "/v2/publish/https://a.test/", "x", "Svc-Callback: ftp://user:"+planted+"@app.test/").refused(400)
	c.do("POST", "/v2/publish/https://a.test/", "x", "Svc-Retries: many", "X-Api-Key: "+planted).refused(400)
	item := `{"destination":"` + with + `","headers":{"Svc-Forward-Authorization":"Bearer ` + planted + `","SVC-FORWARD-X-API-KEY":"` + planted + `","Svc-Callback":"` + with + `"},"body":"x"}`
	c.do("POST", "/v2/batch", "["+item+"]").ok()
	c.do("POST", "/v2/batch", "["+item).refused(400)
	c.do("POST", "/v2/schedules/"+with, "x", append(forwarded, "Svc-Cron: 0 0 1 1 *")...).ok()
	c.do("POST", "/v2/topics/g/endpoints", `{"endpoints":[{"url":"`+with+`"}]}`).ok()
	c.do("GET", "/v2/topics/g", "").ok()
	c.do("GET", "/kv/get/x?_token="+planted, "", "Authorization:").refused(401)
	c.do("GET", "/v2/queues", "", "Authorization: Bearer "+planted).refused(401)
	c.do("POST", "/v2/trigger/"+with, "x", append(forwarded, "Svc-Workflow-RunId: wfr_secret")...)
	u.Settle()
	c.do("GET", "/v2/logs", "").ok()
	c.do("GET", "/v2/dlq", "").ok()
}

func TestNothingShowsACredential(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for what is shown, not for races")
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "c="+planted)
		w.Header().Set("Location", "https://user:"+planted+"@elsewhere.test/")
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusConflict)
	}))
	t.Cleanup(echo.Close)
	log := &outputText{}
	u := mockserver.RunT(t, mockserver.Config{Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	u.Stub("https://user*", 503)
	u.Stub("https://down.test/*", 500)
	c := newClient(t, u)
	shown := followed(t, u, c, func() { plant(t, u, c, echo.URL) })
	shown["the log"] = log.String()
	readEverywhere(t, c, shown)
	for name, text := range shown {
		if at := strings.Index(text, planted); at >= 0 {
			t.Errorf("%s shows it: ...%s...", name, text[max(0, at-200):at+20])
		}
		for _, part := range tokenParts.FindAllString(text, -1) { // the claims of signatures
			if claims, err := base64.RawURLEncoding.DecodeString(part); err == nil && strings.Contains(string(claims), planted) {
				t.Errorf("%s shows it in a signature: %s", name, claims)
			}
		}
	}
	if len(shown) < 40 {
		t.Errorf("only %d outputs were looked at", len(shown))
	}
	t.Run("the interface itself shows its owner everything", func(t *testing.T) {
		for path, want := range map[string]string{
			"/v2/dlq": `"Bearer ` + planted, "/v2/logs": `"a=` + planted, "/v2/schedules": "user:" + planted + "@", "/v2/topics/g": "api_key=" + planted, "/_understudy/as/svcUser/v2/dlq": "Bearer " + planted,
		} {
			if a := c.do("GET", path, "").ok(); !strings.Contains(string(a.raw), want) {
				t.Errorf("%s lacks %s: %.300s", path, want, a.raw)
			}
		}
	})
	t.Run("and the destination got everything", func(t *testing.T) {
		if !strings.Contains(string(c.do("GET", "/v2/logs?state=ERROR", "").ok().raw), "Bearer "+planted) {
			t.Error("what was echoed is not in the log")
		}
	})
	t.Run("stubs and rewrites can be read and written back", func(t *testing.T) {
		stub := `[{"url":"https://user:` + planted + `@a.test/","answers":[{"status":200,"headers":{"Set-Cookie":"` + planted + `"}}]}]`
		c.do("PUT", "/_understudy/stubs", stub).ok()
		a := c.do("GET", "/_understudy/stubs", "").ok()
		if n := strings.Count(string(a.raw), planted); n != 2 {
			t.Errorf("the stubs: got the secret %d times in %s, want 2", n, a.raw)
		}
	})
	t.Run("the payload of a message stays whole in the journals", func(t *testing.T) {
		payload := `{"authorization":"` + planted + `"}`
		u.Publish("https://down.test/", []byte(payload), "Svc-Retries: 0")
		list := u.Deliveries()
		expect.Equal(t, "the payload", string(list[len(list)-1].Request.Body), payload)
	})
}

// followed is what each event stream of the control API sends while do runs.
func followed(t *testing.T, u *mockserver.TestServer, c *client, do func()) map[string]string {
	t.Helper()
	streams := map[string]*outputText{}
	ctx, stop := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for _, path := range []string{"/_understudy/events", "/_understudy/requests?follow=true", "/_understudy/deliveries?follow=true"} {
		r, err := http.NewRequestWithContext(ctx, "GET", u.URL()+path, http.NoBody)
		expect.NoError(t, err)
		response, err := c.http.Do(r)
		expect.NoError(t, err)
		to := &outputText{}
		streams[path] = to
		following.Go(func() {
			defer response.Body.Close()
			for lines := bufio.NewScanner(response.Body); lines.Scan(); {
				_, _ = to.Write(lines.Bytes())
			}
		})
	}
	do()
	ended := time.Now().Add(effort.Wait(time.Minute))
	for path, to := range streams {
		for to.String() == "" && time.Now().Before(ended) {
			c.do("GET", "/_understudy/health", "").ok()
		}
		if to.String() == "" {
			t.Errorf("nothing followed %s", path)
		}
	}
	stop()
	following.Wait()
	shown := map[string]string{}
	for path, to := range streams {
		shown[path] = to.String()
	}
	return shown
}

// readEverywhere adds what the control API and the page show.
func readEverywhere(t *testing.T, c *client, shown map[string]string) {
	t.Helper()
	read := func(path string) answer {
		t.Helper()
		a := c.do("GET", path, "").ok()
		shown[path] = string(a.raw)
		return a
	}
	for _, path := range []string{"requests", "deliveries", "messages", "log", "schedules", "runs", "waiters", "flow", "overview", "ui/overview", "ui/messages", "ui/requests", "ui/dlq", "ui/log", "ui/runs", "ui/schedules", "ui/groups", "ui/stubs"} {
		a := c.do("GET", "/_understudy/"+path, "")
		if a.status == http.StatusOK && path != "overview" {
			shown[path] = string(a.raw)
		}
	}
	for i := range read("/_understudy/messages?count=1000").list("messages") {
		id := c.do("GET", "/_understudy/messages?count=1000", "").ok().text("messages", i, "messageId")
		read("/_understudy/messages/" + id)
		read("/_understudy/explain/" + id)
		read("/_understudy/ui/messages/" + id)
	}
	for i := range read("/_understudy/dlq").list("entries") {
		read("/_understudy/ui/dlq/" + c.do("GET", "/_understudy/dlq", "").ok().text("entries", i, "dlqId"))
	}
	shown["await"] = string(c.do("POST", "/_understudy/await", `{"on":"events","count":3}`).ok().raw) + string(c.do("POST", "/_understudy/await", `{"on":"requests"}`).ok().raw) +
		string(c.do("POST", "/_understudy/await", `{"on":"deliveries"}`).ok().raw)
}
