package conformance

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

// bound is a binding of the target file, "" when it has none.
func (s *toolkit) bound(section, name string) string {
	b := s.suite.target.Bindings
	if section == "headers" && name == "flow_value" && b.Headers[name] == "" {
		return header.FlowControlValue // as the document shows it
	}
	return map[string]map[string]string{
		"publish": b.Publish, "stats": b.Stats, "headers": b.Headers, "delay": b.Delay, "logs": b.Logs, "dlq": b.DLQ,
		"fields.dlq": b.Fields["dlq"], "fields.log": b.Fields["log"], "fields.step": b.Fields["step"],
	}[section][name]
}

// binding is a binding, or the reason why the scenario cannot judge.
func (s *toolkit) binding(section, name string) (string, error) {
	if v := s.bound(section, name); v != "" {
		return v, nil
	}
	return "", skip(report.BindingMissing, "%s.%s: the interface document does not show the name; say in the target file what it is", section, name)
}

// publishMethod is POST unless the target file says otherwise.
func (s *toolkit) publishMethod() string { return s.suite.target.Bindings.Publish["method"] }

// statsPath is where the target has its statistics: the document contradicts
// itself about it.
func (s *toolkit) statsPath() string {
	path := s.bound("stats", "path")
	if path == "" {
		path = route.GetUsageStatistics.Template()
	}
	return strings.ReplaceAll(path, "{id}", url.PathEscape(s.user))
}

// homes are the profile and the area of the operations that scenarios about
// signing in ask for.
var homes = map[string]struct{ profile, area string }{
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

// claimed is an error for an operation that the target neither claims nor has.
func (s *toolkit) claimed(op string) error {
	home, claims := homes[op], s.suite.target.Profiles
	if len(claims) > 0 && !slices.Contains(claims, home.profile) {
		return &inconclusive{verdict: report.NotApplicable, detail: "the target does not claim the profile " + home.profile}
	}
	if why := s.suite.absent[home.area]; why != "" {
		return &inconclusive{verdict: report.NotApplicable, detail: why}
	}
	return nil
}

// name makes a name that no other scenario and no other run has.
func (s *toolkit) name(kind string) string {
	return s.suite.target.Isolation.Prefix + "-" + s.key + "-" + kind
}

// prefixes are those of the neutral and the built-in dialects.
func prefixes() []string {
	list := []string{header.Prefix}
	for _, d := range spec.BuiltInDialects() {
		if !slices.Contains(list, d.HeaderPrefix) {
			list = append(list, d.HeaderPrefix)
		}
	}
	return list
}

// needsBrand is why a request with these names cannot be sent: nobody knows the
// prefix on the wire.
func (st *shared) needsBrand(names ...string) error {
	branded := func(name string) bool {
		return strings.HasPrefix(strings.ToLower(name), header.Query(header.Prefix)) || strings.EqualFold(name, "svc_token")
	}
	if !st.unbranded || !slices.ContainsFunc(names, branded) {
		return nil
	}
	return skip(report.BindingMissing, "bindings.brand_prefix: the target takes none of the known header prefixes (%s); say in the target file what it is", strings.Join(prefixes(), ", "))
}

// disposable gives away an index of the target file, each once.
func (st *shared) disposable() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	ids := &st.target.Fixtures.DisposableSearchIndexIDs
	if len(*ids) == 0 {
		return ""
	}
	id := (*ids)[0]
	*ids = (*ids)[1:]
	return id
}

// skew is what the target's clock may differ.
func (s *toolkit) skew() time.Duration { return s.suite.target.Timing.ClockSkewMax }
