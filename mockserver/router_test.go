package mockserver_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// Not parallel: it swaps the handler table.
func TestStartRefusesWhatDoesNotMatchTheDocument(t *testing.T) {
	cases := []struct {
		name   string
		change func(map[string]string)
		want   string
	}{
		{"a missing handler", func(h map[string]string) { delete(h, "publishMessage") }, "publishMessage"},
		{"a surplus handler", func(h map[string]string) { h["publishPigeon"] = "wrong" }, "publishPigeon"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mockserver.WithHandlers(c.change, func() {
				if _, err := mockserver.New(mockserver.Config{}); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want one that names %s", err, c.want)
				}
			})
		})
	}
}

// Not parallel, either.
func TestBugsOfOursAreSeenAndSurvived(t *testing.T) {
	cases := []struct {
		mark       string
		status     int
		violations int
	}{
		{"panics", 500, 0},
		{"unencodable", 500, 0},
		{"wrong", 200, 2}, // a wrong type and a missing field
	}
	for _, c := range cases {
		t.Run(c.mark, func(t *testing.T) {
			mockserver.WithHandlers(func(h map[string]string) { h["getSigningKeys"] = c.mark }, func() {
				s, err := mockserver.New(mockserver.Config{})
				expect.NoError(t, err)
				defer s.Close()
				for range 2 {
					w := httptest.NewRecorder()
					r := httptest.NewRequest("GET", "/v2/keys", nil)
					r.Header.Set("Authorization", "Bearer "+s.Token())
					s.ServeHTTP(w, r)
					expect.Equal(t, "status", w.Code, c.status)
					expect.Lacks(t, "body", w.Body.String(), "goroutine")
					expect.Lacks(t, "body", w.Body.String(), "a bug")
				}
				if n := len(s.Violations()); n != 2*c.violations {
					t.Errorf("%d violations: %v", n, s.Violations())
				}
			})
		})
	}
}

// Every operation of the documents is built: New refuses to start otherwise.
func TestOperationsNotBuiltYet(t *testing.T) {
	t.Parallel()
	left := mockserver.NotBuilt()
	t.Logf("%d operations are not built yet", len(left))
	if len(left) > 0 {
		t.Errorf("not built: %v", left)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	c.do("GET", "/v2/nothing", "").refused(http.StatusNotFound, "/v2/nothing: operation not found")
	a := c.do("PUT", "/v2/keys", "")
	a.refused(http.StatusMethodNotAllowed, "method PUT on /v2/keys: must be one of GET, HEAD, OPTIONS")
	expect.Equal(t, "Allow", a.header.Get("Allow"), "GET, HEAD, OPTIONS")
	a = c.do("POST", "/v2/topics/g", "")
	a.refused(http.StatusMethodNotAllowed, "POST")
	expect.Equal(t, "Allow", a.header.Get("Allow"), "DELETE, GET, HEAD, OPTIONS, PATCH")
}

// An unknown path comes with the operation that was meant.
func TestUnknownPathsHaveANearestOne(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for path, want := range map[string]string{
		"/publish/https://app.test/":         "/v2/publish/{destination}",
		"/v1/publish/https://app.test/":      "/v2/publish/{destination}",
		"/v2/v2/publish/https://app.test/":   "/v2/publish/{destination}",
		"/v2/publsh/https://app.test/":       "/v2/publish/{destination}",
		"/v2/message/msg_1":                  "/v2/messages/{messageId}",
		"/v2/queue/mail":                     "/v2/queues/{queueName}",
		"/v2/queue/mail/resume":              "/v2/queues/{queueName}/resume",
		"/v2/flowcontol/k/pin":               "/v2/flowControl/{flowControlKey}/pin",
		"/dlq":                               "/v2/dlq",
		"/v2/dlqs":                           "/v2/dlq",
		"/v2/schedule":                       "/v2/schedules",
		"/v2/url-groups":                     "",
		"/batch":                             "/v2/batch",
		"/v2/workflow/dlq":                   "/v2/workflows/dlq",
		"/_understudy/delivery":              "/_understudy/deliveries",
		"/understudy/health":                 "/_understudy/health",
		"/health":                            "/_understudy/health",
		"/favicon.ico":                       "",
		"/v2/" + strings.Repeat("x", 10_000): "",
	} {
		t.Run(path[:min(len(path), 40)], func(t *testing.T) {
			a := c.do("POST", path, "{}")
			a.refused(http.StatusNotFound)
			_, hint, _ := strings.Cut(a.text("error"), "; did you mean ")
			if hint, _, _ = strings.Cut(hint, "?"); hint != want {
				t.Errorf("%s, want %s", a.raw, want)
			}
		})
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	for _, path := range []string{"/v2/keys", "/v2/dlq", "/_understudy/", "/_understudy/health", "/_understudy/events", "/_understudy/deliveries?follow=true", "/"} {
		t.Run("like GET: "+path, func(t *testing.T) {
			a := c.do("HEAD", path, "")
			expect.Equal(t, "status", a.status, http.StatusOK)
			expect.Equal(t, "body", string(a.raw), "")
		})
	}
	t.Run("not for a GET that acts", func(t *testing.T) {
		a := c.do("HEAD", "/v2/publish/https://app.test/", "")
		expect.Equal(t, "status", a.status, http.StatusMethodNotAllowed)
		expect.Equal(t, "number of deliveries", len(u.Deliveries()), 0)
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	t.Run("names the methods", func(t *testing.T) {
		a := c.do("OPTIONS", "/v2/topics/g", "", "Authorization:")
		expect.Equal(t, "status", a.status, http.StatusNoContent)
		expect.Equal(t, "header Allow", a.header.Get("Allow"), "DELETE, GET, HEAD, OPTIONS, PATCH")
	})
	t.Run("a path of its own is not a value of a variable", func(t *testing.T) {
		for _, path := range []string{"/v2/dlq/retry", "/v2/workflows/dlq/restart", "/v2/workflows/dlq/resume", "/kv/pipeline", "/kv/Multi-Exec"} {
			if a := c.do("OPTIONS", path, "", "Authorization:"); a.header.Get("Allow") != "OPTIONS, POST" {
				t.Errorf("%s: Allow: %s", path, a.header.Get("Allow"))
			}
			c.do("GET", path, "").refused(http.StatusMethodNotAllowed, "OPTIONS, POST")
		}
	})
	t.Run("of an unknown path", func(t *testing.T) {
		c.do("OPTIONS", "/v2/dlqs", "", "Authorization:").refused(http.StatusNotFound, "did you mean /v2/dlq?")
	})
	for _, path := range []string{"/v2/publish/https://app.test/", "/_understudy/settle", "/kv/incr/x", "/query", "/v2/unknown"} {
		t.Run("preflight of a page of this machine: "+path, func(t *testing.T) {
			a := c.do("OPTIONS", path, "", "Authorization:", "Origin: http://localhost:3000",
				"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type,svc-delay,svc-telemetry-sdk")
			expect.Equal(t, "status", a.status, http.StatusNoContent)
			expect.Equal(t, "header Access-Control-Allow-Origin", a.header.Get("Access-Control-Allow-Origin"), "http://localhost:3000")
			expect.Contains(t, "header Access-Control-Allow-Methods", a.header.Get("Access-Control-Allow-Methods"), "POST")
			expect.Equal(t, "header Access-Control-Allow-Headers", a.header.Get("Access-Control-Allow-Headers"), "authorization,content-type,svc-delay,svc-telemetry-sdk")
		})
	}
}

// Pages of this machine may read answers, errors included; others may not.
func TestOrigins(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for origin, want := range map[string]bool{
		"http://localhost:3000": true, "http://127.0.0.1:5173": true, "http://[::1]:8000": true, "https://app.localhost": true,
		"https://evil.test": false, "null": false, "http://localhost.evil.test": false, "file://": false, "http://127.0.0.1.evil.test": false,
	} {
		for _, path := range []string{"/v2/queues", "/v2/nothing"} {
			t.Run(origin+path, func(t *testing.T) {
				a := c.do("GET", path, "", "Origin: "+origin)
				if got := a.header.Get("Access-Control-Allow-Origin") == origin; got != want {
					t.Errorf("allowed %v, want %v: %v", got, want, a.header)
				}
				if want && a.header.Get("Access-Control-Expose-Headers") != "*" {
					t.Errorf("exposed headers: %v", a.header)
				}
			})
		}
	}
}

func TestUnauthorizedSaysWhereTheTokenIs(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for _, path := range []string{"/v2/queues", "/info", "/v2/search", "/v2/queues?svc_token=wrong", "/kv/get/x"} {
		for _, header := range []string{"Authorization:", "Authorization: Bearer wrong"} {
			t.Run(path+" "+header, func(t *testing.T) {
				c.do("GET", path, "", header).refused(http.StatusUnauthorized, "`understudy env` prints the credentials")
			})
		}
	}
}

// A stand-in works without listeners as well.
func TestServerIsAHandler(t *testing.T) {
	t.Parallel()
	s, err := mockserver.New(mockserver.Config{Clock: "manual"})
	expect.NoError(t, err)
	defer s.Close()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/v2/keys", nil)
	r.Header.Set("Authorization", "Bearer "+s.Token())
	s.ServeHTTP(w, r)
	expect.Equal(t, "status", w.Code, http.StatusOK)
	expect.Contains(t, "body", w.Body.String(), `"current"`)
}

func TestFixedSegmentsMatchInAnyCase(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	c := newClient(t, u)
	c.do("POST", "/v2/Schedules/https://E.test/Pause", "x", "Svc-Cron: * * * * *", "Svc-Schedule-Id: Mine").ok()
	t.Run("a variable keeps its case", func(t *testing.T) {
		t.Parallel()
		if got, want := c.do("GET", "/V2/SCHEDULES/Mine", "").ok().text("destination"), "https://E.test/Pause"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		c.do("GET", "/v2/schedules/mine", "").refused(404, "mine")
	})
	t.Run("a longer path wins over a greedy variable", func(t *testing.T) {
		t.Parallel()
		c.do("POST", "/v2/schedules/Mine/PAUSE", "").ok()
		if a := c.do("GET", "/v2/schedules/Mine", "").ok(); a.get("isPaused") != true {
			t.Errorf("the schedule: got %s, want isPaused true", a.raw)
		}
	})
	t.Run("of the key-value store", func(t *testing.T) {
		t.Parallel()
		kv := *c
		kv.token = u.KVToken()
		if a := kv.do("POST", "/KV/Pipeline", `[["SET","Key/1","Value"]]`).ok(); a.text(0, "result") != "OK" {
			t.Errorf("the pipeline: got %s, want result OK", a.raw)
		}
		if a := kv.do("GET", "/Kv/get/Key%2F1", "").ok(); a.text("result") != "Value" {
			t.Errorf("the value of the key: got %s, want result Value", a.raw)
		}
	})
	t.Run("of a vector index", func(t *testing.T) {
		t.Parallel()
		vector := *c
		vector.token = u.Env()[slices.IndexFunc(u.Env(), func(v mockserver.EnvVar) bool { return v.Name == "UNDERSTUDY_VECTOR_TOKEN" })].Value
		vector.do("GET", "/INFO", "").ok()
		vector.do("GET", "/Index/default/Info", "").ok()
	})
	t.Run("every method that a path knows is named", func(t *testing.T) {
		t.Parallel()
		c.do("PUT", "/v2/Topics/g", "").refused(405, "DELETE, GET, HEAD, OPTIONS, PATCH")
	})
}

func TestASlashAtTheEndIsTheSamePath(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	id := c.do("GET", "/_understudy/messages?source=message&state=CREATED", "").ok().text("messages", 0, "messageId")
	c.do("POST", "/v2/topics/g/endpoints/", `{"endpoints":[{"url":"https://app.test/"}]}`).ok()
	for _, op := range declared(t) {
		if op.Method != http.MethodGet || strings.Contains(op.Path, "{") || op.Tag == "page" || op.ID == "controlEvents" || op.ID == "controlSnapshot" || strings.HasSuffix(op.Path, "/") {
			continue
		}
		expect.Equal(t, "status of "+op.Path+"/", c.do("GET", op.Path+"/", "").status, c.do("GET", op.Path, "").status)
	}
	expect.Equal(t, "id of the message", c.do("GET", "/v2/messages/"+id+"/", "").ok().text("messageId"), id)
	expect.Equal(t, "name of the group", c.do("GET", "/V2/Topics/g/", "").ok().text("name"), "g")
	c.do("GET", "/v2/dlq//", "").refused(404)
	c.do("GET", "/v2/dlq/retry/", "").refused(405)
	c.do("GET", "/v2/messages/", "").refused(405)
	c.do("POST", "/v2/publish/", "").refused(400, "destination")
	expect.Equal(t, "cancelled by filter", c.do("DELETE", "/v2/messages/?label=none", "").ok().number("cancelled"), 0)
}

// An id that was never set leaves a slash at the end.
func TestABulkOperationWithoutIDAndFilterIsRefused(t *testing.T) {
	t.Parallel()
	_, c := full(t)
	before := contents(c)
	for _, op := range filteringOperations(t) {
		c.do(op.Method, op.Path+"/", "").refused(400, "path "+op.Path+"/", "filter")
	}
	expect.Equal(t, "contents", contents(c), before)
}

func TestAnUnknownPathNamesItsSiblings(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for _, op := range declared(t) {
		if parent, ok := strings.CutSuffix(op.Path, "/stats/{id}"); ok {
			for _, path := range []string{"/user", "/rotatetoken", "/rotatetoken/"} {
				c.do("GET", parent+path, "").refused(404, "the operations below "+parent+" are "+op.Path)
			}
			return
		}
	}
	t.Error("no operation returns statistics")
}
