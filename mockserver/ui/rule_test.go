package ui_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestRulesAreChangedAsJSON edits a rule as JSON, and checks all rules.
func TestRulesAreChangedAsJSON(t *testing.T) {
	t.Parallel()
	const stubs = `[{"url":"https://one.test/*","answers":[{"status":503,"headers":{"Retry-After":"7"},"body":"no"},{"fail":"reset","delay":"3s"}],"perMessage":true},{"url":"https://two.test/*","answers":[{"status":"$1"}]}]`
	const faults = `[{"on":"api","operation":"listDLQ","status":503,"times":2},{"on":"delivery","url":"https://slow.test/*","delay":"30s","probability":0.5}]`
	for name, c := range map[string]struct {
		list, action string
		n            int
		from, to     string // the change of the text
		want         string // all rules of the list; after "says ", a text of the page
	}{
		"an unchanged stub":      {"stubs", "stub.change", 0, "", "", stubs},
		"the URL of a stub":      {"stubs", "stub.change", 0, "one.test", "new.test", strings.Replace(stubs, "one.test", "new.test", 1)},
		"the status of a stub":   {"stubs", "stub.change", 0, "503", "500", strings.Replace(stubs, "503", "500", 1)},
		"a new answer":           {"stubs", "stub.change", 1, `"answers": [`, `"answers": [{"status":204},`, strings.Replace(stubs, `{"status":"$1"}`, `{"status":204},{"status":"$1"}`, 1)},
		"the times of a fault":   {"faults", "fault.change", 0, `"times": 2`, `"times": 5`, strings.Replace(faults, `"times":2`, `"times":5`, 1)},
		"a text that is no JSON": {"stubs", "stub.change", 0, "{", "", "says json: "},
		"an unknown member":      {"stubs", "stub.change", 0, "perMessage", "perCall", "says perCall"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			request(t, u, http.MethodPut, "/_understudy/stubs", stubs)
			request(t, u, http.MethodPut, "/_understudy/faults", faults)
			page := press(t, u, c.action, changedRule(t, u, c.action, c.n, c.from, c.to)...)
			if says, ok := strings.CutPrefix(c.want, "says "); ok {
				expect.Contains(t, "page", page, says)
				expect.Equal(t, "stubs", fetch[any](t, u, "/_understudy/stubs"), decoded(t, stubs))
				return
			}
			expect.Equal(t, "rules", fetch[any](t, u, "/_understudy/"+c.list), decoded(t, c.want))
		})
	}
	t.Run("a rule that has changed meanwhile stays", func(t *testing.T) {
		u := mockserver.RunT(t)
		request(t, u, http.MethodPut, "/_understudy/stubs", stubs)
		expect.Contains(t, "page", press(t, u, "stub.change", "rule", "{}", "json", "{}"), "that rule is no longer there")
	})
}

// changedRule returns the fields of the n-th form for an action, with a change of its text.
func changedRule(t *testing.T, u *mockserver.TestServer, action string, n int, from, to string) []string {
	t.Helper()
	for _, form := range read(t, u, "ui/stubs").all("form", "") {
		if path, _, _ := strings.Cut(form.is("action"), "?"); !strings.HasSuffix(path, "/do/"+action) {
			continue
		}
		if n--; n >= 0 {
			continue
		}
		rule := ""
		for _, field := range form.all("input", "") {
			if field.is("name") == "rule" {
				rule = field.is("value")
			}
		}
		text := form.first("textarea", "").FirstChild.Data
		expect.Lacks(t, "the text", text, "secret-7")
		return []string{"rule", rule, "json", strings.Replace(text, from, to, 1)}
	}
	t.Fatal("no form")
	return nil
}

// TestCredentialsOfARuleStay changes a rule with a password in its URL, which the page masks.
func TestCredentialsOfARuleStay(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	request(t, u, http.MethodPut, "/_understudy/stubs", `[{"url":"https://shop:secret-7@one.test/*","answers":[{"status":503}]}]`)
	press(t, u, "stub.change", changedRule(t, u, "stub.change", 0, "503", "200")...)
	expect.Equal(t, "stubs", fetch[any](t, u, "/_understudy/stubs"), decoded(t, `[{"url":"https://shop:secret-7@one.test/*","answers":[{"status":200}]}]`))
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
