package mockserver

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// setting is one configuration value and where it stood.
type setting struct {
	in, name string // header Svc-Retries, query svc-retries
	values   []string
}

// settings are the configuration of one publish, by canonical name without
// Svc-.
type settings map[string]setting

const configPrefix = "Svc-"

// headerSettings collects configuration from headers.
func headerSettings(h http.Header) settings {
	set := settings{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, configPrefix); ok && len(values) > 0 {
			set[rest] = setting{"header", name, values}
		} else if misspeltPrefix(name) != "" {
			set[name] = setting{"header", name, values} // which no option has
		}
	}
	return set
}

// withQuery adds what the query says; a header wins (decided: 10).
func (set settings) withQuery(q url.Values) settings {
	for name, values := range q {
		if !strings.EqualFold(name[:min(len(name), len(configPrefix))], configPrefix) {
			continue
		}
		key := textproto.CanonicalMIMEHeaderKey(name)
		rest, ok := strings.CutPrefix(key, configPrefix)
		if _, taken := set[rest]; ok && !taken {
			set[rest] = setting{"query", name, values}
		}
	}
	return set
}

// below is the part of the settings that configures a callback.
func (set settings) below(prefix string) settings {
	sub := settings{}
	for name, s := range set {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			sub[rest] = s
		}
	}
	return sub
}

// elsewhereNames are names that mean something, but not here.
var elsewhereNames = []string{"Cron", "Schedule-Id", "Warning"}

// parse reads settings into options. It returns the names that nobody knows,
// and every value that is refused.
func (set settings) parse() (o engine.Options, unknown []setting, problems []spec.Problem) {
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
		problems = s.read(problems, func(v string) error { return row.parse(&o, v) })
	}
	if known < len(set) {
		problems = set.parseWorkflow(&o, problems)
		unknown, problems = set.parseFamilies(&o, problems)
	}
	return o, unknown, set.paired(problems)
}

// read hands the value to a parser; a value given twice is refused.
func (s setting) read(problems []spec.Problem, parse func(string) error) []spec.Problem {
	if len(s.values) > 1 {
		return append(problems, s.problem(unfitValue("given "+strconv.Itoa(len(s.values))+" times", "one value")))
	}
	if err := parse(s.values[0]); err != nil {
		return append(problems, s.problem(err))
	}
	return problems
}

func (set settings) parseWorkflow(o *engine.Options, problems []spec.Problem) []spec.Problem {
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
		problems = s.read(problems, func(v string) error { return row.parse(o.Workflow, v) })
	}
	return problems
}

// parseFamilies reads the names that go on after a prefix: Forward-NAME,
// Callback-OPTION, Failure-Callback-OPTION.
func (set settings) parseFamilies(o *engine.Options, problems []spec.Problem) ([]setting, []spec.Problem) {
	var unknown []setting
	for name, s := range set {
		if rest, ok := strings.CutPrefix(name, "Forward-"); ok && rest != "" {
			if o.Forward == nil {
				o.Forward = engine.Header{}
			}
			if rest = textproto.CanonicalMIMEHeaderKey(rest); !slices.Contains(ofTheHop, rest) {
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
		nested, odd, wrong := sub.parse()
		problems, unknown = append(problems, wrong...), append(unknown, odd...)
		if *family.target == nil {
			*family.target = &engine.Callback{}
		}
		(*family.target).Options = nested
	}
	slices.SortFunc(unknown, func(x, y setting) int { return strings.Compare(x.name, y.name) })
	return unknown, problems
}

func knownName(name string) bool {
	return slices.ContainsFunc(optionTable, func(o option) bool { return o.name == name }) ||
		slices.Contains(elsewhereNames, name) || name == "Feature-Set" ||
		strings.HasPrefix(name, "Workflow-") || strings.HasPrefix(name, "Telemetry-") ||
		strings.HasPrefix(name, "Callback-") || strings.HasPrefix(name, "Failure-Callback-")
}

// unfitValue is the refusal of a value whose name and place the caller knows.
func unfitValue(why, want string) error {
	return &refusal.Error{Why: why, Want: want, Kind: refusal.Invalid}
}

// refuseValue is the refusal of one value of a request.
func refuseValue(in, name, value string, err error) error {
	return response.Refused([]spec.Problem{response.Value(in, name, value, err)})
}

// problem says which value of which name is wrong.
func (s setting) problem(err error) spec.Problem {
	return response.Value(s.in, s.name, s.values[0], err)
}

// paired refuses a flow-control key without value and a value without key.
func (set settings) paired(problems []spec.Problem) []spec.Problem {
	key, hasKey := set["Flow-Control-Key"]
	value, hasValue := set["Flow-Control-Value"]
	if hasKey == hasValue {
		return problems
	}
	given, have, want := key, "Key", "Value"
	if hasValue {
		given, have, want = value, "Value", "Key"
	}
	if given.in == "query" {
		have, want = strings.ToLower(have), strings.ToLower(want)
	}
	missing := strings.TrimSuffix(given.name, have) + want
	return append(problems, spec.Problem{In: given.in, Name: missing, Rule: "required", Message: "missing beside " + given.name + ": flow control needs a key and a value"})
}
