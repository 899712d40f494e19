//go:build browser

package ui_test

import (
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// TestOneShapePerState checks that a state has one shape, colour and word in the lists, the
// entries and the counts, in both themes.
func TestOneShapePerState(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	failed(w, "r")
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	good := u.Publish("https://app.test/x", nil)
	bad := u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	u.Publish("https://down.test/y", nil, "Svc-Retries: 3")
	u.Settle()
	b := look(t, u, "")
	for _, theme := range themes {
		b.theme(theme)
		looks := map[string]string{}
		for _, path := range []string{"", "ui/messages", "ui/messages/" + good, "ui/messages/" + bad, "ui/runs", "ui/runs/r"} {
			b.visit(path)
			for state, seen := range ask[map[string]string](b, `Object.fromEntries([...document.querySelectorAll("#view .state:has(.g)")].map((s) => [s.title, [s.textContent.trim(), s.querySelector("use").getAttribute("href"), getComputedStyle(s.querySelector(".g")).stroke].join(" ")]))`) {
				if known := looks[state]; known != "" && known != seen {
					t.Errorf("%s, %s, %s: got %s, want %s as elsewhere", theme, path, state, seen, known)
				}
				looks[state] = seen
			}
		}
		shapes := map[string]string{}
		for _, state := range []string{"DELIVERED", "FAILED", "RETRY", "ACTIVE", "CREATED", "CANCELED"} {
			if looks[state] == "" {
				t.Errorf("%s: no view shows the state %s", theme, state)
			}
			if other := shapes[looks[state]]; other != "" {
				t.Errorf("%s: %s and %s look the same", theme, state, other)
			}
			shapes[looks[state]] = state
		}
	}
}
