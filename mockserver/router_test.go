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
		change func(map[string]bool)
		want   string
	}{
		{"a missing handler", func(h map[string]bool) { delete(h, "publishMessage") }, "publishMessage"},
		{"a surplus handler", func(h map[string]bool) { h["publishPigeon"] = true }, "publishPigeon"},
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

func TestOperationsNotBuiltYet(t *testing.T) {
	t.Parallel()
	t.Logf("%d operations are not built yet", mockserver.NotBuilt())
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
