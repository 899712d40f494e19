package house

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var roomRule = rule{"packages below the engine have no locks", roomProblems, []breach{
	{
		"packages below the engine have no locks",
		"engine/vector/index.go", "package vector\nimport \"sync\"\nvar mu sync.Mutex",
		"engine/vector/index.go:2: imports sync, but the account that keeps these values has the lock",
	},
}}

var wireRule = rule{"names and bytes of the wire are outside of the engine", wireProblems, []breach{
	{
		"the engine names no header of the wire",
		"engine/run.go", "package engine\nconst header = \"Svc-Workflow-Runid\"",
		"engine/run.go:2: names the header Svc-Workflow-Runid, which is for mockserver/wire",
	},
	{
		"the engine has no bodies of the wire",
		"engine/callback.go", "package engine\ntype report struct {\n Status int `json:\"status\"`\n}",
		"engine/callback.go:3: has a JSON name, but bodies of the wire are for mockserver/wire",
	},
}}

// wireHeader is a header of the service by its neutral name.
var wireHeader = regexp.MustCompile(`Svc-[A-Za-z-]*`)

// storeFiles write snapshots: their JSON names are not names of the wire.
var storeFiles = regexp.MustCompile(`^engine/internal/snapshot/`)

// wireProblems finds names and bodies of the wire in the engine.
func wireProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !inEngine(s.path) || !s.product() || storeFiles.MatchString(s.path) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if name := wireHeader.FindString(n.Value); name != "" {
					problems = append(problems, fmt.Sprintf("%s: names the header %s, which is for mockserver/wire", s.at(n), name))
				}
			case *ast.Field:
				if n.Tag != nil && strings.Contains(n.Tag.Value, "json:") {
					problems = append(problems, s.at(n)+": has a JSON name, but bodies of the wire are for mockserver/wire")
				}
			}
			return true
		})
	}
	return problems
}

// inEngine reports whether a file belongs to package engine, or to a package that only
// the engine imports.
func inEngine(name string) bool {
	return path.Dir(name) == "engine" || strings.HasPrefix(name, "engine/internal/")
}

// sharedFiles need locks, because their values are shared between accounts. Sorted.
var sharedFiles = []string{
	"engine/clock/clock.go", // the alarm of a real clock rings in a goroutine of package time
	"engine/codec/form.go",  // the forms of types, for all accounts of a process
}

// roomProblems finds locks in packages below the engine.
func roomProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !strings.HasPrefix(s.path, "engine/") || strings.Count(s.path, "/") < 2 || !s.product() {
			continue
		}
		if slices.Contains(sharedFiles, s.path) || strings.HasPrefix(s.path, "engine/store/") { // stores serve all accounts
			continue
		}
		for _, spec := range s.syntax.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err == nil && slices.Contains([]string{"sync", "sync/atomic"}, name) {
				problems = append(problems, fmt.Sprintf("%s: imports %s, but the account that keeps these values has the lock", s.at(spec), name))
			}
		}
	}
	return problems
}
