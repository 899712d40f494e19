package harness

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// Bound is a binding of the target file, "" when it has none.
func (s *Scenario) Bound(section, name string) string {
	b := s.Suite.Target.Bindings
	if section == "headers" && name == "flow_value" && b.Headers[name] == "" {
		return header.FlowControlValue // as the document shows it
	}
	return map[string]map[string]string{
		"publish": b.Publish, "stats": b.Stats, "headers": b.Headers, "delay": b.Delay, "logs": b.Logs, "dlq": b.DLQ,
		"fields.dlq": b.Fields["dlq"], "fields.log": b.Fields["log"], "fields.step": b.Fields["step"],
	}[section][name]
}

// Binding is a binding, or the reason why the scenario cannot judge.
func (s *Scenario) Binding(section, name string) (string, error) {
	if v := s.Bound(section, name); v != "" {
		return v, nil
	}
	return "", Inconclusive(report.BindingMissing, "%s.%s: the interface document does not show the name; say in the target file what it is", section, name)
}

// PublishMethod is POST unless the target file says otherwise.
func (s *Scenario) PublishMethod() string { return s.Suite.Target.Bindings.Publish["method"] }

// StatsPath is where the target has its statistics: the document contradicts
// itself about it.
func (s *Scenario) StatsPath() string {
	path := s.Bound("stats", "path")
	if path == "" {
		path = route.GetUsageStatistics.Template()
	}
	return strings.ReplaceAll(path, "{id}", url.PathEscape(s.User))
}

// OperationHomes are the profile and the area of the operations that scenarios about
// signing in ask for.
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

// Claimed is an error for an operation that the target neither claims nor has.
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

// Name makes a name that no other scenario and no other run has.
func (s *Scenario) Name(kind string) string {
	return s.Suite.Target.Isolation.Prefix + "-" + s.Key + "-" + kind
}

// Prefixes are those of the neutral and the built-in dialects.
func Prefixes() []string {
	list := []string{header.Prefix}
	for _, d := range spec.BuiltInDialects() {
		if !slices.Contains(list, d.HeaderPrefix) {
			list = append(list, d.HeaderPrefix)
		}
	}
	return list
}

// NeedsBrand is why a request with these names cannot be sent: nobody knows the
// prefix on the wire.
func (st *Suite) NeedsBrand(names ...string) error {
	branded := func(name string) bool {
		return strings.HasPrefix(strings.ToLower(name), header.Query(header.Prefix)) || strings.EqualFold(name, "svc_token")
	}
	if !st.Unbranded || !slices.ContainsFunc(names, branded) {
		return nil
	}
	return Inconclusive(report.BindingMissing, "bindings.brand_prefix: the target takes none of the known header prefixes (%s); say in the target file what it is", strings.Join(Prefixes(), ", "))
}

// Disposable gives away an index of the target file, each once.
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

// Skew is what the target's clock may differ.
func (s *Scenario) Skew() time.Duration { return s.Suite.Target.Timing.ClockSkewMax }
