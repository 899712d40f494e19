package mockserver_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// logText is what a server has logged, for several goroutines.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestUnknownOptionNamesTheNearest(t *testing.T) {
	t.Parallel()
	d := dialect(t, "upstash")
	var text logText
	u := mockserver.RunT(t, mockserver.Config{Log: slog.New(slog.NewTextHandler(&text, nil))})
	strict := mockserver.RunT(t, mockserver.Config{StrictOptions: true})
	u.Stub("*")
	for _, x := range []struct{ name, path, body, header, want string }{
		{"a header", "publish/https://e.test/", "", "P-Dealy: 1h", "header P-Dealy: unknown option; did you mean P-Delay?"},
		{"another form of the word", "publish/https://e.test/", "", "P-Retry: 1", "header P-Retry: unknown option; did you mean P-Retries?"},
		{"an option of schedules", "publish/https://e.test/", "", "P-Cron: * * * * *", "header P-Cron: ignored by this operation; schedules are created by POST /v2/schedules/{destination}"},
		{"an option of a callback", "publish/https://e.test/", "", "P-Callback-Retires: 1", "header P-Callback-Retires: unknown option; did you mean P-Callback-Retries?"},
		{"an option of a failure callback", "publish/https://e.test/", "", "P-Failure-Callback-Timout: 1s", "header P-Failure-Callback-Timout: unknown option; did you mean P-Failure-Callback-Timeout?"},
		{"a callback itself", "publish/https://e.test/", "", "P-Failure-Calback: https://e.test/", "header P-Failure-Calback: unknown option; did you mean P-Failure-Callback?"},
		{"a forwarded header", "publish/https://e.test/", "", "P-Forwrad-X-Own: 1", "header P-Forwrad-X-Own: unknown option; did you mean P-Forward-X-Own?"},
		{"a query parameter", "publish/https://e.test/?p-retires=1", "", "", "query p-retires: unknown option; did you mean p-retries?"},
		{"a nested query parameter", "publish/https://e.test/?p-callback-retires=1", "", "", "query p-callback-retires: unknown option; did you mean p-callback-retries?"},
		{"an item of a batch", "batch", `[{"destination":"https://e.test/"},{"destination":"https://e.test/","headers":{"P-Lable":"x"}}]`, "", "item 1 header P-Lable: unknown option; did you mean P-Label?"},
		{"a schedule", "schedules/https://e.test/", "", "P-Cron: 0 0 1 1 *\nP-Schedule-Di: x", "header P-Schedule-Di: unknown option; did you mean P-Schedule-Id?"},
		{"a name of the workflow protocol", "publish/https://e.test/", "", "P-Workflow-Runidd: x", "header P-Workflow-Runidd: unknown option; did you mean P-Workflow-Runid?"},
		{"nothing like it", "publish/https://e.test/", "", "P-Xyzzy-Quux: 1", "header P-Xyzzy-Quux: unknown option"},
	} {
		for _, prefix := range []string{"Svc-", d.HeaderPrefix} {
			t.Run(x.name+" "+prefix, func(t *testing.T) {
				fill := strings.NewReplacer("P-", prefix, "p-", strings.ToLower(prefix))
				var headers []string
				if x.header != "" {
					headers = strings.Split(fill.Replace(x.header), "\n")
				}
				a := newClient(t, u).do("POST", "/v2/"+fill.Replace(x.path), fill.Replace(x.body), headers...).ok()
				want := fill.Replace(x.want)
				expect.Equal(t, "warning", a.header.Get(prefix+"Warning"), want)
				if !strings.Contains(text.String(), want) {
					t.Errorf("the log lacks %q", want)
				}
				requests := u.Requests()
				expect.Equal(t, "the journal", requests[len(requests)-1].Response.Header.Get(prefix+"Warning"), want)
				newClient(t, strict).do("POST", "/v2/"+fill.Replace(x.path), fill.Replace(x.body), headers...).refused(400, strings.TrimPrefix(want, "item 1 "))
			})
		}
	}
	t.Run("a known one is not warned of", func(t *testing.T) {
		a := newClient(t, u).do("POST", "/v2/publish/https://e.test/", "", "Svc-Callback-Retries: 1", "Svc-Forward-Dealy: x", "Svc-Workflow-Anything: 1").ok()
		expect.Equal(t, "warning", a.header.Get("Svc-Warning"), "")
	})
	word := strings.TrimSuffix(d.HeaderPrefix, "-")
	for header, meant := range map[string]string{
		word[1:] + "-Delay": "Delay", word[:4] + "-" + word[4:] + "-Label": "", word[:5] + "hs-Delay": "Delay", "Q" + word[2:] + "-Retries": "Retries", word + "_callback": "Callback",
		word[:6] + "-Failure-Callback": "Failure-Callback", word[:6] + "-Own": "", "Accept-Label": "", "Delay": "",
	} {
		header := http.CanonicalHeaderKey(header)
		t.Run("the prefix of "+header, func(t *testing.T) {
			want := ""
			if meant != "" {
				want = "header " + header + ": unknown option; did you mean " + d.HeaderPrefix + meant + "?"
			}
			a := newClient(t, u).do("POST", "/v2/publish/https://e.test/", "", header+": 1h").ok()
			expect.Equal(t, "warning", a.header.Get("Svc-Warning")+a.header.Get(d.HeaderPrefix+"Warning"), want)
		})
	}
	t.Run("a retry out of the DLQ is warned of as well", func(t *testing.T) {
		a := newClient(t, u).do("POST", "/v2/dlq/retry", "", "Svc-Dealy: 1h")
		expect.Equal(t, "warning", a.header.Get("Svc-Warning"), "header Svc-Dealy: unknown option; did you mean Svc-Delay?")
	})
}

func TestUnknownMembersOfABatchAreNamed(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	strict := mockserver.RunT(t, mockserver.Config{StrictOptions: true})
	u.Stub("*")
	const items = `[{"destination":"https://e.test/","Queue":"q"},{"destination":"https://e.test/","bodyy":"x"}]`
	t.Run("by a warning", func(t *testing.T) {
		t.Parallel()
		a := newClient(t, u).do("POST", "/v2/batch", items).ok()
		expect.Equal(t, "warning", a.header.Get(published.HeaderPrefix+"Warning"), `body /1/bodyy: unknown member, ignored; did you mean "body"?`)
	})
	t.Run("by an error of a strict server", func(t *testing.T) {
		t.Parallel()
		newClient(t, strict).do("POST", "/v2/batch", items).refused(400, `body /1/bodyy: unknown member: must be one of body, destination, headers, queue; did you mean "body"?`)
	})
}
