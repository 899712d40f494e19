package survey_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/conformance/survey"
	"github.com/understudy-mock/understudy/conformance/target"
)

// implementation is a server with one of the allowed behaviours. It records the
// methods of requests.
type implementation struct {
	token   string // "": no token is needed
	strict  bool   // unknown filters are refused
	brand   string // in the text of refusals
	mu      sync.Mutex
	methods map[string]bool
}

func (i *implementation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.methods[r.Method] = true
	i.mu.Unlock()
	lists := map[string]string{"/v2/workflows/dlq": `{"messages":[]}`, "/v2/workflows/messageLogs": `{"events":[]}`}
	answer, known := lists[r.URL.Path]
	switch {
	case !known:
		http.NotFound(w, r)
	case i.token != "" && r.Header.Get("Authorization") != "Bearer "+i.token:
		http.Error(w, `{"error":"send a token, or `+i.brand+`"}`, http.StatusUnauthorized)
	default:
		for name := range r.URL.Query() {
			if i.strict && name != "count" && name != "runId" {
				http.Error(w, `{"error":"unknown filter"}`, http.StatusBadRequest)
				return
			}
		}
		_, _ = w.Write([]byte(answer))
	}
}

func ask(t *testing.T, i *implementation, token string) *survey.Survey {
	t.Helper()
	i.methods = map[string]bool{}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	found, err := survey.Ask(t.Context(), server.URL, func(name string) string { return map[string]string{"TARGET_TOKEN": token}[name] })
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestQuestionsAreReadsOnly(t *testing.T) {
	t.Parallel()
	i := &implementation{token: "secret", strict: true}
	ask(t, i, "secret")
	if diff := cmp.Diff(map[string]bool{"GET": true}, i.methods); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	t.Run("a profile with an operation that answers is proposed", func(t *testing.T) {
		t.Parallel()
		found := ask(t, &implementation{token: "secret"}, "secret")
		if diff := cmp.Diff([]string{"WF-RECOVER", "WF-READ"}, found.Profiles); diff != "" {
			t.Errorf("profiles (-want +got):\n%s", diff)
		}
	})
	t.Run("the prefix is that of a header in a response", func(t *testing.T) {
		t.Parallel()
		if got := ask(t, &implementation{token: "secret", brand: "Acme-Retries"}, "").Prefix; got != "Acme" {
			t.Errorf("prefix: got %q, want Acme", got)
		}
	})
	t.Run("the filters of a server that refuses unknown ones are found", func(t *testing.T) {
		t.Parallel()
		found := ask(t, &implementation{strict: true}, "")
		if diff := cmp.Diff(map[string]string{"count": "count", "run_id": "runId"}, found.Filters["dlq"]); diff != "" {
			t.Errorf("filters (-want +got):\n%s", diff)
		}
	})
	t.Run("the filters of a server that ignores unknown ones are not found", func(t *testing.T) {
		t.Parallel()
		if got := ask(t, &implementation{}, "").Filters["dlq"]; len(got) != 0 {
			t.Errorf("filters: got %v, want none", got)
		}
	})
	t.Run("a web page is refused as another service", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
		}))
		defer server.Close()
		if _, err := survey.Ask(t.Context(), server.URL, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "another service") {
			t.Errorf("got %v, want an error", err)
		}
	})
}

// What was not found out is a comment: a guess that is wrong would fail the target.
func TestTheFileHasNoGuesses(t *testing.T) {
	t.Setenv("TARGET_TOKEN", "secret")
	var b bytes.Buffer
	if err := ask(t, &implementation{token: "secret"}, "secret").WriteTarget(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "target.yaml")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := target.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{}, written.Bindings.ByName()); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
	for _, key := range []string{"#callback_request_headers:", "#invoker_run_id:", "#wait_deadline:"} {
		if !strings.Contains(b.String(), key) {
			t.Errorf("the file does not list %s", key)
		}
	}
}

// TestTheFileIsATargetFile loads the written file, unchanged and with every
// suggestion uncommented.
func TestTheFileIsATargetFile(t *testing.T) {
	for _, name := range []string{"TARGET_TOKEN", "TARGET_VECTOR_TOKEN", "TARGET_USERNAME", "TARGET_PASSWORD", "TARGET_USER_ID"} {
		t.Setenv(name, "secret")
	}
	suggestion := regexp.MustCompile(`(?m)^(\s*)#( *[a-z_]+:)`)
	for _, i := range []*implementation{{}, {token: "secret"}, {token: "secret", strict: true, brand: "Acme-Delay"}} {
		var b bytes.Buffer
		if err := ask(t, i, "secret").WriteTarget(&b); err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"as written": b.String(), "with each suggestion": suggestion.ReplaceAllString(b.String(), "$1$2")} {
			file := filepath.Join(t.TempDir(), "target.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := target.Load(file); err != nil {
				t.Errorf("%s: %v\n%s", form, err, text)
			}
		}
	}
}
