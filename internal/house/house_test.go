package house

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// root is the root folder of the repository.
const root = "../.."

// TestHouse checks all rules on the source.
func TestHouse(t *testing.T) {
	t.Parallel()
	tree, err := readTree(expect.Repository(root))
	expect.NoError(t, err)
	for _, rule := range allRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			for _, problem := range rule.check(tree) {
				t.Error(problem)
			}
		})
	}
	t.Run("imports point one way", func(t *testing.T) {
		t.Parallel()
		for _, problem := range importProblems(listPackages(t), importRules) {
			t.Error(problem)
		}
	})
}

// TestHouseRules checks that each rule reports the files that break it.
func TestHouseRules(t *testing.T) {
	t.Parallel()
	for _, rule := range allRules {
		for _, b := range rule.breaks {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				tree, err := readTree(fstest.MapFS{b.path: {Data: []byte(b.text)}})
				expect.NoError(t, err)
				if got := rule.check(tree); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, b.want) }) {
					t.Errorf("problems %q, want %q", got, b.want)
				}
			})
		}
	}
	t.Run("imports point one way", func(t *testing.T) {
		t.Parallel()
		packages := []listed{
			{ImportPath: module + "/engine", Deps: []string{"fmt", "net/http"}},
			{ImportPath: module + "/spec", Deps: []string{module + "/engine"}},
			{ImportPath: module + "/spec/api", Deps: []string{module + "/engine"}},
			{ImportPath: module + "/spec/mask", Deps: []string{module + "/engine"}},
			{ImportPath: module + "/conformance", Deps: []string{module + "/engine/clock", "github.com/cucumber/godog"}},
			{ImportPath: module + "/stray"},
		}
		got := importProblems(packages, []importRule{
			{"engine", "net/http", ""},
			{"spec/...", "engine", "spec/api"},
			{"conformance", "engine/... github.com/cucumber/...", ""},
			{"moved", "", ""},
		})
		want := []string{
			"engine reaches net/http",
			"spec reaches engine",
			"spec/mask reaches engine",
			"conformance reaches engine/...",
			"conformance reaches github.com/cucumber/...",
			"a rule names moved, which is no package",
			"spec/api has no rule in importRules",
			"stray has no rule in importRules",
		}
		if !slices.Equal(got, want) {
			t.Errorf("problems %q, want %q", got, want)
		}
	})
}

// listPackages lists the packages of the module with their direct and indirect imports.
func listPackages(t *testing.T) []listed {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Deps", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		expect.NoError(t, d.Decode(&p))
		packages = append(packages, p)
	}
	return packages
}
