package mockserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for range 2 {
					w := httptest.NewRecorder()
					r := httptest.NewRequest("GET", "/v2/keys", nil)
					r.Header.Set("Authorization", "Bearer "+s.Token())
					s.ServeHTTP(w, r)
					if w.Code != c.status || strings.Contains(w.Body.String(), "goroutine") || strings.Contains(w.Body.String(), "a bug") {
						t.Errorf("%d %s", w.Code, w.Body)
					}
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
	c.do("GET", "/v2/nothing", "").refused(http.StatusNotFound, "/v2/nothing")
	c.do("POST", "/", "").refused(http.StatusNotFound, "path")
	a := c.do("PUT", "/v2/keys", "")
	a.refused(http.StatusMethodNotAllowed, "PUT", "GET")
	if allow := a.header.Get("Allow"); allow != "GET" {
		t.Errorf("Allow %q", allow)
	}
	a = c.do("POST", "/v2/topics/g", "")
	a.refused(http.StatusMethodNotAllowed, "POST")
	if allow := a.header.Get("Allow"); allow != "DELETE, GET, PATCH" {
		t.Errorf("Allow %q", allow)
	}
	a = c.do("HEAD", "/v2/keys", "")
	if a.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD: %d", a.status)
	}
}

// A stand-in works without listeners as well.
func TestServerIsAHandler(t *testing.T) {
	t.Parallel()
	s, err := mockserver.New(mockserver.Config{Clock: "manual"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/v2/keys", nil)
	r.Header.Set("Authorization", "Bearer "+s.Token())
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"current"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
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
			t.Errorf("%s", a.raw)
		}
	})
	t.Run("every method that a path knows is named", func(t *testing.T) {
		t.Parallel()
		c.do("PUT", "/v2/Topics/g", "").refused(405, "DELETE, GET, PATCH")
	})
}
