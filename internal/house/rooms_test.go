package house

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

var roomRule = rule{"packages below the engine have no locks", eachNode(belowEngine, roomProblem), []breach{
	{
		"packages below the engine have no locks",
		"engine/vector/index.go", "package vector\nimport \"sync\"\nvar mu sync.Mutex",
		"engine/vector/index.go:2: imports sync, but the account that keeps these values has the lock",
	},
}}

var wireRule = rule{"names and bytes of the wire are outside of the engine", eachNode(besidesWire, wireProblem), []breach{
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
var storeFiles = regexp.MustCompile(`^engine/internal/state/snapshot`)

func besidesWire(s *source) bool {
	return inEngine(s.path) && s.product() && !storeFiles.MatchString(s.path)
}

// wireProblem finds names and bodies of the wire in the engine.
func wireProblem(_ *source, n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if name := wireHeader.FindString(n.Value); name != "" {
			return "names the header " + name + ", which is for mockserver/wire"
		}
	case *ast.Field:
		if n.Tag != nil && strings.Contains(n.Tag.Value, "json:") {
			return "has a JSON name, but bodies of the wire are for mockserver/wire"
		}
	}
	return ""
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

// belowEngine matches the packages below the engine, without the stores, which serve all accounts.
func belowEngine(s *source) bool {
	return strings.HasPrefix(s.path, "engine/") && path.Dir(s.path) != "engine" && s.product() &&
		!slices.Contains(sharedFiles, s.path) && !strings.HasPrefix(s.path, "engine/store/")
}

// roomProblem finds locks in packages below the engine.
func roomProblem(_ *source, n ast.Node) string {
	name := imported(n)
	if name != "sync" && name != "sync/atomic" {
		return ""
	}
	return "imports " + name + ", but the account that keeps these values has the lock"
}
