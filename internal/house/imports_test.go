package house

import (
	"fmt"
	"slices"
	"strings"
)

// module is the import path of the repository.
const module = "github.com/understudy-mock/understudy"

// importRule lists what packages must not import, directly or indirectly. All three are patterns
// between spaces, relative to the module or in another one; "x/..." is x and all below.
type importRule struct{ packages, banned, except string }

// importRules are, together, the layers of the module: each package has all rules that match it.
var importRules = []importRule{
	{"conformance/... docs engine/... examples/... features fixtures internal/... mockserver/... packaging/... spec/...", "cmd/...", ""},

	{"docs engine/... features fixtures internal/... packaging/... spec/...", "mockserver conformance", ""},
	{"docs features fixtures internal/... packaging/... spec/...", "engine", ""},
	{"docs engine/... features internal/... packaging/... ", "spec", "internal/command"},
	{"docs engine/... fixtures internal/... mockserver/... packaging/... spec/... examples/...", "features", ""},
	{"docs engine/... features internal/... mockserver/... packaging/... spec/... examples/...", "fixtures", ""},
	{"mockserver/... examples/...", "conformance", ""},

	{"spec/...", "spec", ""},
	{"spec spec/header spec/mask spec/route internal/command", "spec/api", ""},

	{"engine/...", "engine", ""},
	{"engine/...", "net/http", "engine/store/sqlite engine/store/storetest"},
	{"engine", "spec/api engine/ratelimit", ""},
	{"engine/store/... mockserver/... cmd/understudy", "github.com/nats-io/nats-server/...", ""},

	{"mockserver/...", "mockserver", "mockserver/complete mockserver/fleet"},
	// What a test of a Go user never needs is attached by cmd/understudy.
	{"mockserver", "docs engine/store/sqlite github.com/modelcontextprotocol/... go.opentelemetry.io/... mockserver/agent mockserver/certificate mockserver/fleet mockserver/help mockserver/otlp mockserver/ui html/template text/template github.com/nats-io/... github.com/prometheus/... github.com/yuin/goldmark/...", ""},
	{"mockserver/agent", "engine", ""},
	{"mockserver/fleet/jetstream mockserver/kv mockserver/ui", "engine spec", ""},
	{"mockserver/help mockserver/ratelimit", "engine", ""},
	{"mockserver/certificate", "spec", ""},
	{"mockserver/wire", "net/http spec", ""},
	{"mockserver/ui", "mockserver/kv", ""},

	{"conformance/...", "engine mockserver", ""},
	{"conformance/...", "conformance", ""},
	{"conformance/...", "features", "conformance"},
	{"conformance/...", "fixtures", "conformance conformance/step conformance/world"},
	{"conformance/harness conformance/survey conformance/workflow", "conformance/step", ""},
	{"conformance/check conformance/report conformance/target", "conformance/receiver", ""},
	{"conformance/check conformance/receiver conformance/target", "conformance/report", ""},

	{"cmd/understudy", "conformance conformance/report conformance/survey features github.com/cucumber/... testing", ""},
	{"cmd/understudy-conform", "engine/... mockserver/...", ""},
}

// listed is a package as go list reports it.
type listed struct {
	ImportPath string
	Deps       []string
}

// importProblems finds packages that import what a rule bans, packages without a rule, and
// patterns that match nothing.
func importProblems(packages []listed, rules []importRule) (problems []string) {
	ruled, used := map[string]bool{}, map[string]bool{}
	for _, rule := range rules {
		for _, p := range packages {
			name := strings.TrimPrefix(p.ImportPath, module+"/")
			for pattern := range strings.FieldsSeq(rule.packages + " " + rule.except) {
				used[pattern] = used[pattern] || below(name, pattern)
			}
			if !anyBelow(name, rule.packages) || anyBelow(name, rule.except) {
				continue
			}
			ruled[name] = true
			for banned := range strings.FieldsSeq(rule.banned) {
				if slices.ContainsFunc(p.Deps, func(dep string) bool { return below(strings.TrimPrefix(dep, module+"/"), banned) }) {
					problems = append(problems, fmt.Sprintf("%s reaches %s", name, banned))
				}
			}
		}
		for pattern := range strings.FieldsSeq(rule.packages + " " + rule.except) {
			if !used[pattern] {
				problems = append(problems, fmt.Sprintf("a rule names %s, which is no package", pattern))
			}
		}
	}
	for _, p := range packages {
		if name := strings.TrimPrefix(p.ImportPath, module+"/"); !ruled[name] {
			problems = append(problems, fmt.Sprintf("%s has no rule in importRules", name))
		}
	}
	return problems
}

func anyBelow(pkg, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(pattern string) bool { return below(pkg, pattern) })
}

// below reports whether a package matches a pattern.
func below(pkg, pattern string) bool {
	root, ok := strings.CutSuffix(pattern, "/...")
	return pkg == root || ok && strings.HasPrefix(pkg, root+"/")
}
