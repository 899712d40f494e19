package request

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// Setting is one configuration value and its place in the request.
type Setting struct {
	In, Name string // header Svc-Retries, query svc-retries
	option   string // canonical name without Svc-
	values   []string
}

// Settings are the configuration of one publish, each option once. A publish has
// few: a list costs less than a map.
type Settings []Setting

// usualSettings is a capacity that suffices for most publishes.
const usualSettings = 8

// SettingsOf collects configuration from headers. It is short, so that the compiler
// keeps the list in the frame of the caller.
func SettingsOf(h http.Header) Settings { return make(Settings, 0, usualSettings).withHeader(h) }

func (set Settings) withHeader(h http.Header) Settings {
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, header.Prefix); ok && len(values) > 0 {
			set = append(set, Setting{"header", name, rest, values})
		} else if misspeltPrefix(name) != "" {
			set = append(set, Setting{"header", name, name, values}) // no option has this name
		}
	}
	return set
}

// Find returns the setting of an option.
func (set Settings) Find(option string) (s Setting, ok bool) {
	for i := range set {
		if set[i].option == option {
			return set[i], true
		}
	}
	return Setting{}, false
}

// Without removes the settings of options. It changes set.
func (set Settings) Without(options ...string) Settings {
	return slices.DeleteFunc(set, func(s Setting) bool { return slices.Contains(options, s.option) })
}

// WithQuery adds the settings of a query; headers take precedence (decided: 10).
func (set Settings) WithQuery(q url.Values) Settings {
	for name, values := range q {
		if !strings.EqualFold(name[:min(len(name), len(header.Prefix))], header.Prefix) {
			continue
		}
		key := textproto.CanonicalMIMEHeaderKey(name)
		rest, ok := strings.CutPrefix(key, header.Prefix)
		if _, taken := set.Find(rest); ok && !taken {
			set = append(set, Setting{"query", name, rest, values})
		}
	}
	return set
}

// below returns the settings whose names start with a prefix, and removes the prefix.
func (set Settings) below(prefix string) (sub Settings) {
	for _, s := range set {
		if rest, ok := strings.CutPrefix(s.option, prefix); ok {
			s.option = rest
			sub = append(sub, s)
		}
	}
	return sub
}

// elsewhereNames are names that other parts of the server read.
var elsewhereNames = []string{"Cron", "Schedule-Id", "Warning"}

// optionsPool has empty options in which Parse collects values.
var optionsPool = sync.Pool{New: func() any { return &engine.Options{} }}

// Parse reads settings into options. It also returns the unknown names, sorted, and
// a problem for each invalid value.
func (set Settings) Parse() (parsed engine.Options, unknown []Setting, problems []spec.Problem) {
	o := optionsPool.Get().(*engine.Options)
	defer func() {
		*o = engine.Options{}
		optionsPool.Put(o)
	}()
	known := 0
	for _, row := range optionTable {
		s, ok := set.Find(row.name)
		if !ok {
			continue
		}
		known++
		if row.name == "Label" {
			if o.Labels = s.oneLabel(); o.Labels != nil {
				continue
			}
			s.values = []string{strings.Join(s.values, ",")}
		}
		problems = s.Read(problems, func(v string) error { return row.parse(o, v) })
	}
	if known < len(set) {
		problems = set.parseWorkflow(o, problems)
		unknown, problems = set.parseFamilies(o, problems)
	}
	return *o, unknown, set.paired(problems)
}

// oneLabel returns the values of a setting that is one valid label, else nil.
func (s Setting) oneLabel() []string {
	var label string
	if len(s.values) != 1 || ReadName(&label, s.values[0]) != nil {
		return nil
	}
	return s.values[:1:1]
}

// Read parses the value, and adds a problem if it is invalid or given twice.
func (s Setting) Read(problems []spec.Problem, parse func(string) error) []spec.Problem {
	if len(s.values) > 1 {
		return append(problems, s.problem(response.Unfit("given "+strconv.Itoa(len(s.values))+" times", "one value")))
	}
	if err := parse(s.values[0]); err != nil {
		return append(problems, s.problem(err))
	}
	return problems
}

// parseWorkflow reads the protocol fields, which only workflow clients send. Without
// them, o.Workflow stays nil.
func (set Settings) parseWorkflow(o *engine.Options, problems []spec.Problem) []spec.Problem {
	for _, row := range workflowOptions {
		s, ok := set.Find(row.name)
		if !ok {
			continue
		}
		if o.Workflow == nil {
			o.Workflow = &engine.Workflow{}
		}
		if row.name == "Feature-Set" && len(s.values) > 1 { // some clients send one header line for each feature
			s.values = []string{strings.Join(s.values, ",")}
		}
		problems = s.Read(problems, func(v string) error { return row.parse(o.Workflow, v) })
	}
	return problems
}

// parseFamilies reads the names that follow a prefix: Forward-NAME,
// Callback-OPTION, Failure-Callback-OPTION.
func (set Settings) parseFamilies(o *engine.Options, problems []spec.Problem) ([]Setting, []spec.Problem) {
	var unknown []Setting
	for _, s := range set {
		name := s.option
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

// knownName reports whether a name is known. Families are known by their prefix:
// clients add names to them.
func knownName(name string) bool {
	return slices.ContainsFunc(optionTable, func(o option) bool { return o.name == name }) ||
		slices.Contains(elsewhereNames, name) || name == "Feature-Set" ||
		strings.HasPrefix(name, "Workflow-") || strings.HasPrefix(name, "Telemetry-") ||
		strings.HasPrefix(name, "Callback-") || strings.HasPrefix(name, "Failure-Callback-")
}

// problem returns the problem with the first value of a setting.
func (s Setting) problem(err error) spec.Problem {
	return response.Value(s.In, s.Name, s.values[0], err)
}

// paired refuses a flow-control key without value and a value without key.
func (set Settings) paired(problems []spec.Problem) []spec.Problem {
	key, hasKey := set.Find("Flow-Control-Key")
	value, hasValue := set.Find("Flow-Control-Value")
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
	return append(problems, spec.Problem{In: given.In, Name: missing, Rule: "required", Message: "missing", Accepted: "set together with " + given.Name})
}
