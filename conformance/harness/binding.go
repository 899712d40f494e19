package harness

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// Bound returns a binding of the target file, "" when it is missing.
func (s *Scenario) Bound(section, name string) string {
	b := s.Suite.Target.Bindings
	if section == "headers" && name == "flow_value" && b.Headers[name] == "" {
		return header.FlowControlValue // as the document shows it
	}
	return b.Sections()[section][name]
}

// Binding returns a binding. Without one, the error makes the scenario inconclusive.
func (s *Scenario) Binding(section, name string) (string, error) {
	if v := s.Bound(section, name); v != "" {
		return v, nil
	}
	return "", Inconclusive(report.BindingMissing, "%s.%s: the interface document does not show the name; say in the target file what it is", section, name)
}

// PublishMethod returns the method of a publish, a binding with the default POST.
func (s *Scenario) PublishMethod() string {
	return cmp.Or(s.Suite.Target.Bindings.Publish["method"], http.MethodPost)
}

// StatsPath returns the path of the statistics. It is a binding, because the document
// contradicts itself about it.
func (s *Scenario) StatsPath() string {
	path := s.Bound("stats", "path")
	if path == "" {
		path = route.GetUsageStatistics.Template()
	}
	return strings.ReplaceAll(path, "{id}", url.PathEscape(s.User))
}

// OperationHomes maps operations of scenarios about credentials to their profile and area.
var OperationHomes = map[string]struct{ Profile, area string }{
	"getUsageStatistics":      {"USAGE", "stats"},
	"getVectorInfo":           {"INDEX", "vector"},
	"listWorkflowDLQ":         {"WF-RECOVER", "dlq"},
	"listWorkflowMessageLogs": {"WF-READ", "log"},
	"publishMessage":          {"MSG", "publish"},
	"resumeFlowControlKey":    {"FLOW", "flow"},
	"restartWorkflowRun":      {"WF-RECOVER", "restart"},
	"deleteSearchIndex":       {"INDEX", "search"},
	"updateURLGroup":          {"GROUP", "group"},
}

// Claimed returns nil for an operation that the target has. The error is NotApplicable: the
// target does not claim the profile, or the probes did not find the area.
func (s *Scenario) Claimed(op string) error {
	home, claims := OperationHomes[op], s.Suite.Target.Profiles
	if len(claims) > 0 && !slices.Contains(claims, home.Profile) {
		return &NoVerdict{Verdict: report.NotApplicable, Detail: "the target does not claim the profile " + home.Profile}
	}
	if why := s.Suite.Absent[home.area]; why != "" {
		return &NoVerdict{Verdict: report.NotApplicable, Detail: why}
	}
	return nil
}

// Name returns a name that is unique to this scenario and run.
func (s *Scenario) Name(kind string) string {
	return s.Suite.Target.Isolation.Prefix + "-" + s.Key + "-" + kind
}

// Prefixes returns the header prefixes of the neutral and the built-in dialects.
func Prefixes() []string {
	list := []string{header.Prefix}
	for _, d := range spec.BuiltInDialects() {
		if !slices.Contains(list, d.HeaderPrefix) {
			list = append(list, d.HeaderPrefix)
		}
	}
	return list
}

// NeedsBrand returns an error for a request with names that depend on the header prefix of
// the target, if that prefix is unknown.
func (st *Suite) NeedsBrand(names ...string) error {
	branded := func(name string) bool {
		return strings.HasPrefix(strings.ToLower(name), header.Query(header.Prefix)) || strings.EqualFold(name, "svc_token")
	}
	if !st.Unbranded || !slices.ContainsFunc(names, branded) {
		return nil
	}
	return Inconclusive(report.BindingMissing, "bindings.brand_prefix: the target takes none of the known header prefixes (%s); say in the target file what it is", strings.Join(Prefixes(), ", "))
}

// FlowValues are the names of two flow-control values in scenarios. The document does not
// define their syntax, so that the target file may replace them.
var FlowValues = []string{"parallelism=5", "parallelism=2"}

// FlowValue returns a value in the syntax of the target.
func (s *Scenario) FlowValue(value string) string {
	bound := s.Suite.Target.Bindings.FlowValues
	if i := slices.Index(FlowValues, value); i >= 0 && i < len(bound) {
		return bound[i]
	}
	return value
}

// Disposable returns a search index of the target file that may be deleted, each only once;
// "" when none is left.
func (st *Suite) Disposable() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	ids := &st.Target.Fixtures.DisposableSearchIndexIDs
	if len(*ids) == 0 {
		return ""
	}
	id := (*ids)[0]
	*ids = (*ids)[1:]
	return id
}

// Skew is the largest allowed difference between the target's clock and the suite's.
func (s *Scenario) Skew() time.Duration { return s.Suite.Target.Timing.ClockSkewMax }

// IsHeader reports whether given is the neutral name or the target's name of the same
// header, ignoring case.
func (s *Scenario) IsHeader(given, neutral string) bool {
	rest, ok := strings.CutPrefix(neutral, header.Prefix)
	return strings.EqualFold(given, neutral) || ok && strings.EqualFold(given, s.Suite.Dialect.HeaderPrefix+rest)
}
