package house

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// module is the import path of the repository.
const module = "github.com/understudy-mock/understudy"

// importRule lists what a package must not import, directly or indirectly.
type importRule struct {
	pkg    string   // relative to the module
	banned []string // relative to the module, or a path in another one; "x/..." is x and all below
}

// importRules has a row for every package of the module.
var importRules = []importRule{
	{"cmd/understudy", []string{"github.com/nats-io/nats-server/...", "conformance", "conformance/report", "conformance/survey", "conformance/mutant", "features", "github.com/cucumber/...", "testing"}},
	{"cmd/understudy-conform", []string{"engine/...", "mockserver/..."}},
	{"conformance", []string{"engine", "mockserver"}},
	{"conformance/check", []string{"engine", "mockserver", "conformance", "conformance/receiver", "conformance/report", "features", "fixtures"}},
	{"conformance/harness", []string{"engine", "mockserver", "conformance", "conformance/step", "features", "fixtures"}},
	{"conformance/mutant", []string{"engine", "mockserver", "conformance", "features", "fixtures"}},
	{"conformance/proxy", []string{"engine", "mockserver", "conformance", "features", "fixtures"}},
	{"conformance/ratelimit", []string{"engine", "mockserver", "conformance", "features", "fixtures", "conformance/step"}},
	{"conformance/receiver", []string{"engine", "mockserver", "conformance", "conformance/report", "features", "fixtures"}},
	{"conformance/report", []string{"engine", "mockserver", "conformance", "conformance/receiver", "features", "fixtures"}},
	{"conformance/step", []string{"engine", "mockserver", "conformance", "features"}},
	{"conformance/survey", []string{"engine", "mockserver", "conformance", "conformance/receiver", "conformance/report", "features", "fixtures"}},
	{"conformance/target", []string{"engine", "mockserver", "conformance", "conformance/receiver", "conformance/report", "features", "fixtures"}},
	{"conformance/vector", []string{"engine", "mockserver", "conformance", "features", "fixtures", "conformance/step"}},
	{"conformance/workflow", []string{"engine", "mockserver", "conformance", "features", "fixtures", "conformance/step"}},
	{"docs", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"examples/first", []string{"conformance", "features", "fixtures"}},
	{"examples/outage", []string{"conformance", "features", "fixtures"}},
	{"engine", []string{"net/http", "spec", "spec/api", "mockserver", "conformance", "fixtures", "features", "engine/ratelimit"}},
	{"engine/codec", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/clock", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/duration", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/formula", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/internal/snapshot", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/internal/state", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/journal", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/memory", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/ratelimit", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/refusal", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/search", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/store", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/store/jetstream", []string{"engine", "spec", "mockserver", "conformance", "fixtures", "features", "github.com/nats-io/nats-server/..."}},
	{"engine/store/sqlite", []string{"engine", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/store/storetest", []string{"engine", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/usage", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"engine/vector", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"features", []string{"spec", "engine", "mockserver", "conformance", "fixtures"}},
	{"fixtures", []string{"engine", "mockserver", "conformance", "features"}},
	{"internal/command", []string{"spec/api", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/crash", []string{"engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/drift", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/effort", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/expect", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/house", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/natstest", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/markdown", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/programs", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/recorder", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/jsonsyntax", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/similar", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"internal/yamlfile", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver", []string{"conformance", "features", "fixtures"}},
	{"mockserver/call", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/certificate", []string{"spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/compare", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/control", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/cronwords", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/delivery", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/encoded", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/fault", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/fleet", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures", "github.com/nats-io/nats-server/..."}},
	{"mockserver/fixture", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/help", []string{"engine", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/journal", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/kv", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/listener", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/origin", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/pause", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/query", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/ratelimit", []string{"engine", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/replay", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/request", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/response", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/stacktrace", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/stub", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/ui", []string{"engine", "spec", "mockserver", "mockserver/kv", "conformance", "features", "fixtures"}},
	{"mockserver/tenant", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/undo", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/vectors", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/view", []string{"mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/wire", []string{"net/http", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"packaging", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"packaging/build", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"packaging/npm", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"packaging/pypi", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec", []string{"spec/api", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec/api", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec/header", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec/mask", []string{"spec", "spec/api", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec/route", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
}

// listed is a package as go list reports it.
type listed struct {
	ImportPath string
	Deps       []string
}

// importProblems finds packages that import what their rule bans, rules without a
// package, and packages without a rule.
func importProblems(packages []listed, rules []importRule) []string {
	var problems []string
	seen := map[string]bool{}
	for _, p := range packages {
		seen[strings.TrimPrefix(p.ImportPath, module+"/")] = true
	}
	for _, rule := range rules {
		if !seen[rule.pkg] {
			problems = append(problems, fmt.Sprintf("a rule names %s, which is no package", rule.pkg))
		}
		delete(seen, rule.pkg)
		for _, p := range packages {
			if p.ImportPath != module+"/"+rule.pkg {
				continue
			}
			for _, banned := range append(rule.banned, "cmd/...") {
				if slices.ContainsFunc(p.Deps, func(dep string) bool { return below(dep, banned) || below(strings.TrimPrefix(dep, module+"/"), banned) }) {
					problems = append(problems, fmt.Sprintf("%s reaches %s", rule.pkg, banned))
				}
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(seen)) {
		problems = append(problems, fmt.Sprintf("%s has no rule in importRules", pkg))
	}
	return problems
}

// below reports whether a package matches a pattern: its path, or with /... also a path
// below it.
func below(pkg, pattern string) bool {
	root, ok := strings.CutSuffix(pattern, "/...")
	return pkg == root || ok && strings.HasPrefix(pkg, root+"/")
}
