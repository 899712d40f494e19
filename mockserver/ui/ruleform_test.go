package ui_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// formOf returns the fields of the n-th form for an action, as a browser sends them.
func formOf(page reading, action string, n int) (fields []string) {
	seen := 0
	for _, form := range page.all("form", "") {
		path, _, _ := strings.Cut(form.is("action"), "?")
		if !strings.HasSuffix(path, "/do/"+action) {
			continue
		}
		if seen++; seen != n+1 {
			continue
		}
		for _, input := range form.all("", "") {
			value := input.is("value")
			switch {
			case input.is("name") == "":
				continue
			case input.is("type") == "checkbox" && !slices.ContainsFunc(input.Attr, isChecked):
				continue
			case input.Data == "textarea":
				value = ""
				if input.FirstChild != nil {
					value = input.FirstChild.Data
				}
			case input.Data == "select":
				value = ""
				for _, option := range input.all("option", "") {
					if slices.ContainsFunc(option.Attr, isSelected) {
						value = option.text()
					}
				}
			}
			fields = append(fields, input.is("name"), value)
		}
	}
	return fields
}

// TestRulesAreChangedInAForm changes fields in the form of a rule, and checks all rules.
func TestRulesAreChangedInAForm(t *testing.T) {
	t.Parallel()
	const stubs = `[{"url":"https://one.test/*","answers":[{"status":503,"headers":{"Retry-After":"7"},"body":"no"},{"fail":"reset","delay":"3s"}],"perMessage":true},{"url":"https://two.test/*","answers":[{"status":"$1"}]}]`
	const faults = `[{"on":"api","operation":"listDLQ","status":503,"times":2},{"on":"delivery","url":"https://slow.test/*","delay":"30s","probability":0.5}]`
	for name, c := range map[string]struct {
		list, action string
		n            int
		change       []string // fields with other values
		want         string   // all rules of the list; after "says ", a text of the page
	}{
		"an unchanged stub":                  {"stubs", "stub.change", 0, nil, stubs},
		"the URL of a stub":                  {"stubs", "stub.change", 0, []string{"url", "https://new.test/*"}, strings.Replace(stubs, "one.test", "new.test", 1)},
		"the status of an answer":            {"stubs", "stub.change", 0, []string{"answer-1-status", "500"}, strings.Replace(stubs, "503", "500", 1)},
		"an answer that fails gets a status": {"stubs", "stub.change", 0, []string{"answer-2-fail", "", "answer-2-status", "200"}, strings.Replace(stubs, `{"fail":"reset",`, `{"status":200,`, 1)},
		"a new answer":                       {"stubs", "stub.change", 1, []string{"answer-2-status", "204", "answer-2-headers", "X-A: 1\r\nX-B: 2"}, strings.Replace(stubs, `{"status":"$1"}`, `{"status":"$1"},{"status":204,"headers":{"X-A":"1","X-B":"2"}}`, 1)},
		"a removed answer":                   {"stubs", "stub.change", 0, []string{"answer-2-fail", "", "answer-2-delay", ""}, strings.Replace(stubs, `,{"fail":"reset","delay":"3s"}`, "", 1)},
		"a flag that is removed":             {"stubs", "stub.change", 0, []string{"perMessage", ""}, strings.Replace(stubs, `,"perMessage":true`, "", 1)},
		"an invalid header":                  {"stubs", "stub.change", 0, []string{"answer-1-headers", "no header"}, `says answer 1: header line: invalid value "no header"`},
		"a missing URL":                      {"stubs", "stub.change", 0, []string{"url", ""}, "says url"},
		"a rule that has changed meanwhile":  {"stubs", "stub.change", 0, []string{"rule", "{}"}, "says the rule has changed meanwhile; nothing was done"},
		"the times of a fault":               {"faults", "fault.change", 0, []string{"times", "5"}, strings.Replace(faults, `"times":2`, `"times":5`, 1)},
		"the operation of a fault: any":      {"faults", "fault.change", 0, []string{"operation", ""}, strings.Replace(faults, `"operation":"listDLQ",`, "", 1)},
		"an invalid number":                  {"faults", "fault.change", 0, []string{"times", "often"}, `says times: invalid value "often": must be a number`},
		"a lost delivery, not a delayed one": {"faults", "fault.change", 1, []string{"drop", "yes", "delay", ""}, strings.Replace(faults, `"delay":"30s",`, `"drop":true,`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			request(t, u, http.MethodPut, "/_understudy/stubs", stubs)
			request(t, u, http.MethodPut, "/_understudy/faults", faults)
			fields := url.Values{}
			sent := append(formOf(read(t, u, "ui/stubs"), c.action, c.n), c.change...)
			for i := 0; i+1 < len(sent); i += 2 {
				fields.Set(sent[i], sent[i+1])
			}
			pairs := []string{}
			for field := range fields {
				pairs = append(pairs, field, fields.Get(field))
			}
			page := press(t, u, c.action, pairs...)
			if says, ok := strings.CutPrefix(c.want, "says "); ok {
				expect.Contains(t, "page", page, says)
				expect.Equal(t, "stubs", fetch[any](t, u, "/_understudy/stubs"), decoded(t, stubs))
				return
			}
			expect.Equal(t, "rules", fetch[any](t, u, "/_understudy/"+c.list), decoded(t, c.want))
		})
	}
}

// TestCredentialsOfARuleStay changes a rule with a password in its URL, which the page masks.
func TestCredentialsOfARuleStay(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	request(t, u, http.MethodPut, "/_understudy/stubs", `[{"url":"https://shop:secret-7@one.test/*","answers":[{"status":503}]}]`)
	page := read(t, u, "ui/stubs")
	fields := append(formOf(page, "stub.change", 0), "answer-1-status", "200")
	expect.Lacks(t, "fields", strings.Join(fields, " "), "secret-7")
	values := map[string]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		values[fields[i]] = fields[i+1]
	}
	pairs := []string{}
	for name, value := range values {
		pairs = append(pairs, name, value)
	}
	press(t, u, "stub.change", pairs...)
	expect.Equal(t, "stubs", request(t, u, http.MethodGet, "/_understudy/stubs", ""), `[{"url":"https://shop:secret-7@one.test/*","answers":[{"status":200}]}]`)
}

// TestTheFormHasAllMembers compares the fields with the members of rules.
func TestTheFormHasAllMembers(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	request(t, u, http.MethodPut, "/_understudy/stubs", `[{"url":"*","answers":[]}]`)
	request(t, u, http.MethodPut, "/_understudy/faults", `[{"on":"api","status":503},{"on":"delivery","drop":true}]`)
	page := read(t, u, "ui/stubs")
	named := func(fields []string) map[string]bool {
		names := map[string]bool{}
		for i := 0; i < len(fields); i += 2 {
			names[strings.TrimPrefix(fields[i], "answer-1-")] = true
		}
		return names
	}
	stubs := named(allFields(page, "stub.change"))
	faults := named(allFields(page, "fault.change"))
	for _, name := range slices.Concat(membersOf(stub.Stub{}), membersOf(stub.Answer{})) {
		expect.True(t, "a field of stubs for "+name, stubs[name] || name == "answers")
	}
	for _, name := range membersOf(stub.Fault{}) {
		expect.True(t, "a field of faults for "+name, faults[name] || name == "on")
	}
}

// allFields returns the names of all fields of forms, including those that are not sent.
func allFields(page reading, action string) (fields []string) {
	for _, form := range page.all("form", "") {
		if path, _, _ := strings.Cut(form.is("action"), "?"); !strings.HasSuffix(path, "/do/"+action) {
			continue
		}
		for _, input := range form.all("", "") {
			if name := input.is("name"); name != "" {
				fields = append(fields, name, "")
			}
		}
	}
	return fields
}

// membersOf returns the names of the JSON members of a value.
func membersOf(v any) (names []string) {
	for field := range reflect.TypeOf(v).Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func isChecked(a html.Attribute) bool  { return a.Key == "checked" }
func isSelected(a html.Attribute) bool { return a.Key == "selected" }

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
