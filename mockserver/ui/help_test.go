package ui_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestHelp follows the link to the documentation from each view.
func TestHelp(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	link := regexp.MustCompile(`<a href="(/_understudy/docs/[^"]*)"[^>]*>.*Help</span></a>`)
	for view, want := range map[string]string{
		"now": "time-faults-stubs#time", "messages": "page", "runs": "workflows#a-failing-step", "dlq": "workflows#repair-then-resume-or-restart", "flow": "page", "groups": "page",
		"queues": "page", "schedules": "page", "statistics": "vectors-and-rate-limits#statistics", "indexes": "vectors-and-rate-limits#vector-index",
		"limits": "vectors-and-rate-limits#rate-limit-plugin", "requests": "page", "stubs": "time-faults-stubs#stubs", "search": "commands#search", "lost": "troubleshooting",
	} {
		t.Run("the view "+view+" leads to "+want, func(t *testing.T) {
			t.Parallel()
			m := link.FindStringSubmatch(request(t, u, http.MethodGet, "/_understudy/ui/"+view, ""))
			if m == nil {
				t.Fatal("the view has no link to its help")
			}
			expect.Equal(t, "link", m[1], "/_understudy/docs/"+want)
			page, fragment, _ := strings.Cut(m[1], "#")
			text := request(t, u, http.MethodGet, page, "")
			expect.Contains(t, "page", text, " · Understudy documentation</title>")
			if fragment != "" {
				expect.Contains(t, "page", text, ` id="`+fragment+`"`)
			}
		})
	}
}

// TestHelpOnARefusal follows the link of a refused request to the section that explains
// the error.
func TestHelpOnARefusal(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.URL()+"/v2/publish/https://app.test/hook", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+u.Token())
	r.Header.Set("Svc-Delay", "soon")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	const section = "/_understudy/docs/troubleshooting#8-an-option-has-an-invalid-value"
	t.Run("the response links the section", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "Link", response.Header.Get("Link"), "<"+section+`>; rel="help"`)
	})
	t.Run("the page links it next to the request", func(t *testing.T) {
		t.Parallel()
		expect.Contains(t, "page", request(t, u, http.MethodGet, "/_understudy/ui/requests", ""), `<a href="`+section+`"`)
	})
}
