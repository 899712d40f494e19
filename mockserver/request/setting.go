package request

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// Setting is one configuration value and where it stood.
type Setting struct {
	In, Name string // header Svc-Retries, query svc-retries
	values   []string
}

// Settings are the configuration of one publish, by canonical name without
// Svc-.
type Settings map[string]Setting

// SettingsOf collects configuration from headers.
func SettingsOf(h http.Header) Settings {
	set := Settings{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, header.Prefix); ok && len(values) > 0 {
			set[rest] = Setting{"header", name, values}
		} else if misspeltPrefix(name) != "" {
			set[name] = Setting{"header", name, values} // which no option has
		}
	}
	return set
}

// WithQuery adds what the query says; a header wins (decided: 10).
func (set Settings) WithQuery(q url.Values) Settings {
	for name, values := range q {
		if !strings.EqualFold(name[:min(len(name), len(header.Prefix))], header.Prefix) {
			continue
		}
		key := textproto.CanonicalMIMEHeaderKey(name)
		rest, ok := strings.CutPrefix(key, header.Prefix)
		if _, taken := set[rest]; ok && !taken {
			set[rest] = Setting{"query", name, values}
		}
	}
	return set
}

// below is the part of the settings that configures a callback.
func (set Settings) below(prefix string) Settings {
	sub := Settings{}
	for name, s := range set {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			sub[rest] = s
		}
	}
	return sub
}

// elsewhereNames are names that mean something, but not here.
var elsewhereNames = []string{"Cron", "Schedule-Id", "Warning"}

// Parse reads settings into options. It returns the names that nobody knows,
// and every value that is refused.
func (set Settings) Parse() (o engine.Options, unknown []Setting, problems []spec.Problem) {
	known := 0
	for _, row := range optionTable {
		s, ok := set[row.name]
		if !ok {
			continue
		}
		known++
		if row.name == "Label" {
			s.values = []string{strings.Join(s.values, ",")}
		}
		problems = s.Read(problems, func(v string) error { return row.parse(&o, v) })
	}
	if known < len(set) {
		problems = set.parseWorkflow(&o, problems)
		unknown, problems = set.parseFamilies(&o, problems)
	}
	return o, unknown, set.paired(problems)
}

// Read hands the value to a parser; a value given twice is refused.
func (s Setting) Read(problems []spec.Problem, parse func(string) error) []spec.Problem {
	if len(s.values) > 1 {
		return append(problems, s.problem(response.Unfit("given "+strconv.Itoa(len(s.values))+" times", "one value")))
	}
	if err := parse(s.values[0]); err != nil {
		return append(problems, s.problem(err))
	}
	return problems
}

// parseWorkflow reads the protocol of workflow clients, which is present in calls of
// theirs only.
func (set Settings) parseWorkflow(o *engine.Options, problems []spec.Problem) []spec.Problem {
	for _, row := range workflowOptions {
		s, ok := set[row.name]
		if !ok {
			continue
		}
		if o.Workflow == nil {
			o.Workflow = &engine.Workflow{}
		}
		if row.name == "Feature-Set" { // some clients send one line for each
			s.values = []string{strings.Join(s.values, ",")}
		}
		problems = s.Read(problems, func(v string) error { return row.parse(o.Workflow, v) })
	}
	return problems
}

// parseFamilies reads the names that go on after a prefix: Forward-NAME,
// Callback-OPTION, Failure-Callback-OPTION.
func (set Settings) parseFamilies(o *engine.Options, problems []spec.Problem) ([]Setting, []spec.Problem) {
	var unknown []Setting
	for name, s := range set {
		if rest, ok := strings.CutPrefix(name, "Forward-"); ok && rest != "" {
			if o.Forward == nil {
				o.Forward = engine.Header{}
			}
			if rest = textproto.CanonicalMIMEHeaderKey(rest); !slices.Contains(hopHeaders, rest) {
				o.Forward[rest] = s.values
			}
		} else if !knownName(name) || misspeltProtocol(name) {
			unknown = append(unknown, s)
		}
	}
	for _, family := range []struct {
		prefix string
		target **engine.Callback
	}{{"Callback-", &o.Callback}, {"Failure-Callback-", &o.FailureCallback}} {
		sub := set.below(family.prefix)
		if len(sub) == 0 {
			continue
		}
		nested, odd, wrong := sub.Parse()
		problems, unknown = append(problems, wrong...), append(unknown, odd...)
		if *family.target == nil {
			*family.target = &engine.Callback{}
		}
		(*family.target).Options = nested
	}
	slices.SortFunc(unknown, func(x, y Setting) int { return strings.Compare(x.Name, y.Name) })
	return unknown, problems
}

// knownName knows names of families by their beginning: clients add to them.
func knownName(name string) bool {
	return slices.ContainsFunc(optionTable, func(o option) bool { return o.name == name }) ||
		slices.Contains(elsewhereNames, name) || name == "Feature-Set" ||
		strings.HasPrefix(name, "Workflow-") || strings.HasPrefix(name, "Telemetry-") ||
		strings.HasPrefix(name, "Callback-") || strings.HasPrefix(name, "Failure-Callback-")
}

// problem says which value of which name is wrong.
func (s Setting) problem(err error) spec.Problem {
	return response.Value(s.In, s.Name, s.values[0], err)
}

// paired refuses a flow-control key without value and a value without key.
func (set Settings) paired(problems []spec.Problem) []spec.Problem {
	key, hasKey := set["Flow-Control-Key"]
	value, hasValue := set["Flow-Control-Value"]
	if hasKey == hasValue {
		return problems
	}
	given, have, want := key, "Key", "Value"
	if hasValue {
		given, have, want = value, "Value", "Key"
	}
	if given.In == "query" {
		have, want = strings.ToLower(have), strings.ToLower(want)
	}
	missing := strings.TrimSuffix(given.Name, have) + want
	return append(problems, spec.Problem{In: given.In, Name: missing, Rule: "required", Message: "missing beside " + given.Name + ": flow control needs a key and a value"})
}
