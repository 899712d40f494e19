package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// The house rules. Each is a function over a source tree, so that a small tree
// that breaks it shows that it can fail: see the table of TestHouseRules.

// module is the import path of the repository.
const module = "github.com/understudy-mock/understudy"

// importRule says what a package must never reach, directly or not.
type importRule struct {
	pkg    string   // below the module
	banned []string // below the module, or of the standard library
}

// importRules are the table "Who may import whom". Sorted by package.
var importRules = []importRule{
	{"cmd/understudy", nil},
	{"conformance", []string{"engine", "mockserver"}},
	{"conformance/mutant", []string{"engine", "mockserver", "conformance", "features", "fixtures"}},
	{"docs/outage", []string{"conformance", "features", "fixtures"}},
	{"engine", []string{"net/http", "spec", "spec/api", "mockserver", "conformance", "fixtures", "features", "engine/ratelimit"}},
	{"engine/ratelimit", []string{"engine", "net/http", "spec", "mockserver", "conformance", "fixtures", "features"}},
	{"features", []string{"spec", "engine", "mockserver", "conformance", "fixtures"}},
	{"fixtures", []string{"engine", "mockserver", "conformance", "features"}},
	{"mockserver", []string{"conformance", "features", "fixtures"}},
	{"mockserver/kv", []string{"engine", "spec", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/ratelimit", []string{"engine", "mockserver", "conformance", "features", "fixtures"}},
	{"mockserver/ui", []string{"engine", "spec", "mockserver", "mockserver/kv", "conformance", "features", "fixtures"}},
	{"spec", []string{"spec/api", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec/api", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec/compact", []string{"spec", "engine", "mockserver", "conformance", "features", "fixtures"}},
	{"spec/mask", []string{"spec", "spec/api", "engine", "mockserver", "conformance", "features", "fixtures"}},
}

// lockExceptions are exported methods of *Account that do not begin with lock
// and defer unlock, with the reason.
var lockExceptions = map[string]string{
	"Close":    "must not start anything any more, and waits outside the lock",
	"Observed": "reads one atomic value, for whoever looks for the largest account",
}

// lockers are unexported methods of *Account that do lock.
var lockers = map[string]string{
	"attempt": "body of an attempt's goroutine",
	"lock":    "is the lock",
	"free":    "gives the lock back, and does without it what is left to do",
	"skipTo":  "body of the auto clock's goroutine",
	"tick":    "called by the alarm",
	"unlock":  "is the unlock",
	"wakeOn":  "its function is called by the context",
}

// goFiles are the files that may start goroutines; each says who waits.
var goFiles = []string{
	"cmd/understudy/logging.go",
	"cmd/understudy/run.go",
	"conformance/receiver.go",
	"conformance/relay.go",
	"conformance/tunnel.go",
	"engine/account.go",
	"engine/advance.go",
	"mockserver/listen.go",
}

// clockFiles may read the time of the world.
var clockFiles = []string{
	"conformance/clock.go",
	"conformance/mutant/clock.go",
	"engine/clock.go",
	"mockserver/kv/clock.go",
	"mockserver/pause.go",
	"mockserver/ratelimit/clock.go",
}

// brandFiles may name a brand: the dialect's data, and what speaks to the
// brand's published clients.
var brandFiles = regexp.MustCompile(`^spec/dialect(_test)?\.go$|^conformance/clients/|^cmd/understudy/(clients?\w*_test\.go|readme_test\.go|house_test\.go|testdata/)|^README\.md$|^docs/`)

// brandNames are what no other file may say. The path of the usage statistics
// is the interface document's own; a dialect is picked by its name.
var (
	brandNames   = regexp.MustCompile(`(?i)upstash|qstash`)
	brandAllowed = regexp.MustCompile(`/v2/qstash/stats|svc, upstash, or a YAML file|"upstash"`)
)

// statusFiles of mockserver may name failing statuses: the only place that
// chooses one, and what plays somebody: the sink a destination, faults a service.
var statusFiles = []string{"mockserver/error.go", "mockserver/fault.go", "mockserver/sink.go"}

const (
	maxFunction = 80  // lines
	maxFile     = 500 // lines
)

func TestHouse(t *testing.T) {
	t.Parallel()
	tree := readTree(t, os.DirFS("../.."))
	for _, rule := range houseRules {
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

// houseRules are the rules over the source, each with a tree that breaks it
// and what it then says.
var houseRules = []struct {
	name  string
	check func([]source) []string
	file  string // of the breaking tree
	text  string
	want  string
}{
	{
		"an exported method of the account locks first", lockProblems,
		"engine/queue.go", "package engine\nfunc (a *Account) Queues() int { return a.queues() }",
		"engine/queue.go:2: Queues is exported: it begins with a.lock() and defer a.unlock()",
	},
	{
		"an unexported method of the account never locks", lockProblems,
		"engine/queue.go", "package engine\nfunc (a *Account) queues() { a.lock(); defer a.unlock() }",
		"engine/queue.go:2: queues is unexported: it never calls lock",
	},
	{
		"an exported method of the account calls no other", lockProblems,
		"engine/queue.go", "package engine\nfunc (a *Account) Now() {\n a.lock()\n defer a.unlock()\n}\nfunc (a *Account) Queues() {\n a.lock()\n defer a.unlock()\n a.Now()\n}",
		"engine/queue.go:9: Queues calls the exported Now while it holds the lock",
	},
	{
		"roles are compared in their table", roleProblems,
		"engine/queue.go", "package engine\nfunc (m *Message) f() bool { return m.Role == RoleStep }",
		"engine/queue.go:2: compares roles, which is for engine/role.go",
	},
	{
		"goroutines start in few files", goProblems,
		"mockserver/publish.go", "package mockserver\nfunc f() {\n go f()\n}",
		"mockserver/publish.go:3: a goroutine starts here",
	},
	{
		"goroutines of a wait group start in few files", goProblems,
		"mockserver/publish.go", "package mockserver\nfunc f(s *Server) {\n s.serving.Go(f)\n}",
		"mockserver/publish.go:3: a goroutine starts here",
	},
	{
		"only clocks read the time", clockProblems,
		"mockserver/publish.go", "package mockserver\nimport \"time\"\nvar now = time.Now()",
		"mockserver/publish.go:3: time.Now is for the clock files",
	},
	{
		"a test does not sleep", clockProblems,
		"engine/a_test.go", "package engine\nimport \"time\"\nfunc f() { time.Sleep(1) }",
		"engine/a_test.go:3: time.Sleep is for the clock files",
	},
	{
		"a test asserts no time of the world", durationProblems,
		"engine/a_test.go", "package engine\nimport \"time\"\nfunc f(at time.Time) {\n took := time.Since(at)\n if took > time.Second {}\n}",
		"engine/a_test.go:5: compares measured time with a limit, which a slow machine exceeds: measure in a benchmark",
	},
	{
		"a test asserts no duration of a report", durationProblems,
		"engine/a_test.go", "package engine\nimport \"time\"\nfunc f(r report) {\n if r.Duration > time.Second {}\n}",
		"engine/a_test.go:4: compares measured time with a limit, which a slow machine exceeds: measure in a benchmark",
	},
	{
		"brands are named in the dialect only", brandProblems,
		"engine/flow.go", "package engine\n// As Upstash does.\n",
		"engine/flow.go:2: names a brand: Upstash",
	},
	{
		"functions fit a screen", sizeProblems,
		"engine/flow.go", "package engine\nfunc f() {" + strings.Repeat("\n", maxFunction) + "}",
		"engine/flow.go:2: f has 81 lines; accepted are 80",
	},
	{
		"files are short", sizeProblems,
		"engine/flow.go", "package engine" + strings.Repeat("\n", maxFile+1),
		"engine/flow.go: 501 lines; accepted are 500",
	},
	{
		"every package has a manual", docProblems,
		"engine/flow.go", "package engine\n",
		"engine: no file has a package comment",
	},
	{
		"what is exported is documented", docProblems,
		"engine/flow.go", "// Package engine.\npackage engine\ntype Flow struct{}\n",
		"engine/flow.go:3: Flow has no comment",
	},
	{
		"one place chooses a status", statusProblems,
		"mockserver/flow.go", "package mockserver\nimport \"net/http\"\nvar s = http.StatusConflict",
		"mockserver/flow.go:3: http.StatusConflict is for mockserver/error.go",
	},
}

// TestHouseRules shows that each rule can fail.
func TestHouseRules(t *testing.T) {
	t.Parallel()
	for _, rule := range houseRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			tree := readTree(t, fstest.MapFS{rule.file: {Data: []byte(rule.text)}})
			if got := rule.check(tree); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, rule.want) }) {
				t.Errorf("problems %q, want %q", got, rule.want)
			}
		})
	}
	t.Run("imports point one way", func(t *testing.T) {
		t.Parallel()
		packages := []listed{
			{ImportPath: module + "/engine", Deps: []string{"fmt", "net/http"}},
			{ImportPath: module + "/spec", Deps: []string{module + "/engine"}},
			{ImportPath: module + "/stray"},
		}
		got := importProblems(packages, []importRule{{"engine", []string{"net/http"}}, {"spec", []string{"engine"}}, {"moved", nil}})
		want := []string{
			"engine reaches net/http",
			"spec reaches engine",
			"a rule names moved, which is no package",
			"stray has no rule in importRules",
		}
		if !slices.Equal(got, want) {
			t.Errorf("problems %q, want %q", got, want)
		}
	})
}

// source is one file of the repository.
type source struct {
	path      string
	text      string
	syntax    *ast.File // nil when it is not Go
	positions *token.FileSet
	generated bool
	test      bool
}

// at is file and line of a node.
func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.positions.Position(n.Pos()).Line)
}

// lines is how many lines a node takes.
func (s *source) lines(n ast.Node) int {
	return s.positions.Position(n.End()).Line - s.positions.Position(n.Pos()).Line + 1
}

// house reports whether a file is ours to judge: Go, written by hand, no test.
func (s *source) house() bool { return s.syntax != nil && !s.generated && !s.test }

// textFiles are read beside Go, for the names in them.
var textFiles = []string{".go", ".yaml", ".json", ".feature", ".html", ".css", ".js", ".mjs"}

func readTree(t *testing.T, root fs.FS) []source {
	t.Helper()
	var tree []source
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(textFiles, path.Ext(name)) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		s := source{path: name, text: string(text), test: strings.HasSuffix(name, "_test.go")}
		if path.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
			s.positions = token.NewFileSet()
			if s.syntax, err = parser.ParseFile(s.positions, name, text, parser.ParseComments); err != nil {
				return err
			}
			s.generated = ast.IsGenerated(s.syntax)
		}
		tree = append(tree, s)
		return nil
	})
	if err != nil || len(tree) == 0 {
		t.Fatalf("source tree of %d files: %v", len(tree), err)
	}
	return tree
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Deps       []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Deps", "./...")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

// importProblems holds packages to the rules: nothing banned is reached, every
// rule names a package, every package has a rule.
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
			for _, banned := range append(rule.banned, "cmd/understudy") {
				if slices.Contains(p.Deps, banned) || slices.Contains(p.Deps, module+"/"+banned) {
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

// lockProblems holds the methods of *engine.Account to the lock discipline.
func lockProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if path.Dir(s.path) != "engine" || !s.house() {
			continue
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || receiver(f) != "*Account" {
				continue
			}
			problems = append(problems, methodProblems(&s, f)...)
		}
	}
	return problems
}

// roleProblems keeps what follows from the role of a message in one table.
func roleProblems(tree []source) []string {
	var problems []string
	role := regexp.MustCompile(`^Role([A-Z]|$)`)
	names := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return role.MatchString(e.Name)
		case *ast.SelectorExpr:
			return role.MatchString(e.Sel.Name)
		}
		return false
	}
	for _, s := range tree {
		if path.Dir(s.path) != "engine" || !s.house() || s.path == "engine/role.go" {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			compares := false
			switch n := n.(type) {
			case *ast.BinaryExpr:
				compares = (n.Op == token.EQL || n.Op == token.NEQ) && (names(n.X) || names(n.Y))
			case *ast.SwitchStmt:
				compares = names(n.Tag)
			}
			if compares {
				problems = append(problems, s.at(n)+": compares roles, which is for engine/role.go")
			}
			return true
		})
	}
	return problems
}

func methodProblems(s *source, f *ast.FuncDecl) []string {
	name := f.Name.Name
	if !f.Name.IsExported() {
		if _, ok := lockers[name]; !ok && (calls(f.Body, "lock") || calls(f.Body, "Lock")) {
			return []string{fmt.Sprintf("%s: %s is unexported: it never calls lock", s.at(f), name)}
		}
		return nil
	}
	if lockExceptions[name] == "" && !locksFirst(f.Body) {
		return []string{fmt.Sprintf("%s: %s is exported: it begins with a.lock() and defer a.unlock()", s.at(f), name)}
	}
	var problems []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if on, called := method(call); on == f.Recv.List[0].Names[0].Name && ast.IsExported(called) {
				problems = append(problems, fmt.Sprintf("%s: %s calls the exported %s while it holds the lock", s.at(n), name, called))
			}
		}
		return true
	})
	return problems
}

// receiver is the type of a method's receiver, as written.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
		if name, ok := star.X.(*ast.Ident); ok {
			return "*" + name.Name
		}
	}
	return ""
}

// locksFirst reports whether a body begins with lock and defer unlock.
func locksFirst(body *ast.BlockStmt) bool {
	if len(body.List) < 2 {
		return false
	}
	first, ok1 := body.List[0].(*ast.ExprStmt)
	second, ok2 := body.List[1].(*ast.DeferStmt)
	if !ok1 || !ok2 {
		return false
	}
	call, ok := first.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	_, locks := method(call)
	_, unlocks := method(second.Call)
	return locks == "lock" && unlocks == "unlock"
}

// method is receiver and name of x.name().
func method(call *ast.CallExpr) (on, name string) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := selector.X.(*ast.Ident); ok {
		on = x.Name
	}
	return on, selector.Sel.Name
}

// calls reports whether a method of that name is called in the body.
func calls(body *ast.BlockStmt, name string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if _, called := method(call); called == name {
				found = true
			}
		}
		return !found
	})
	return found
}

func goProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !s.house() || slices.Contains(goFiles, s.path) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			_, starts := n.(*ast.GoStmt)
			if call, ok := n.(*ast.CallExpr); ok {
				_, name := method(call)
				starts = name == "Go" // of a sync.WaitGroup
			}
			if starts {
				problems = append(problems, s.at(n)+": a goroutine starts here; goFiles lists where they may, and each needs an owner that waits")
			}
			return true
		})
	}
	return problems
}

// timeReaders read or wait for the time of the world. A test may read it, to
// measure, but not wait for it.
var timeReaders = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}

func clockProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if s.syntax == nil || s.generated || slices.Contains(clockFiles, s.path) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			banned := slices.Contains(timeReaders, x.Sel.Name)
			if s.test {
				banned = x.Sel.Name == "Sleep" || x.Sel.Name == "Tick"
			}
			if on, ok := x.X.(*ast.Ident); ok && on.Name == "time" && banned {
				problems = append(problems, fmt.Sprintf("%s: time.%s is for the clock files", s.at(n), x.Sel.Name))
			}
			return true
		})
	}
	return problems
}

// durationProblems finds tests that compare measured time: that of time.Since,
// directly or by a variable, or the Duration of a report.
func durationProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if s.syntax == nil || !s.test {
			continue
		}
		measured := map[string]bool{}
		isMeasured := func(e ast.Expr) bool {
			switch e := e.(type) {
			case *ast.Ident:
				return measured[e.Name]
			case *ast.SelectorExpr:
				return e.Sel.Name == "Duration"
			case *ast.CallExpr:
				on, name := method(e)
				return on == "time" && name == "Since"
			}
			return false
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && isMeasured(n.Rhs[0]) {
					measured[name.Name] = true
				}
			case *ast.BinaryExpr:
				compares := n.Op == token.LSS || n.Op == token.GTR || n.Op == token.LEQ || n.Op == token.GEQ
				if compares && (isMeasured(n.X) || isMeasured(n.Y)) {
					problems = append(problems, s.at(n)+": compares measured time with a limit, which a slow machine exceeds: measure in a benchmark")
				}
			}
			return true
		})
	}
	return problems
}

func brandProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if brandFiles.MatchString(s.path) {
			continue
		}
		for i, line := range strings.Split(s.text, "\n") {
			if name := brandNames.FindString(brandAllowed.ReplaceAllString(line, "")); name != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: names a brand: %s", s.path, i+1, name))
			}
		}
	}
	return problems
}

func sizeProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !s.house() {
			continue
		}
		if n := s.positions.File(s.syntax.FileStart).LineCount(); n > maxFile {
			problems = append(problems, fmt.Sprintf("%s: %d lines; accepted are %d", s.path, n, maxFile))
		}
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.lines(f) > maxFunction {
				problems = append(problems, fmt.Sprintf("%s: %s has %d lines; accepted are %d", s.at(f), f.Name.Name, s.lines(f), maxFunction))
			}
		}
	}
	return problems
}

// docProblems wants a manual for every package, and a comment for 95 of 100
// exported names.
func docProblems(tree []source) []string {
	manuals := map[string]bool{}
	all := 0
	var bare []string
	for _, s := range tree {
		if s.syntax == nil || s.test {
			continue
		}
		pkg := path.Dir(s.path)
		manuals[pkg] = manuals[pkg] || s.syntax.Doc != nil || s.generated
		if s.generated {
			continue
		}
		for _, d := range s.syntax.Decls {
			n, without := undocumented(d)
			all += n
			for _, id := range without {
				bare = append(bare, fmt.Sprintf("%s: %s has no comment", s.at(id), id.Name))
			}
		}
	}
	var problems []string
	for _, pkg := range slices.Sorted(maps.Keys(manuals)) {
		if !manuals[pkg] {
			problems = append(problems, pkg+": no file has a package comment")
		}
	}
	if len(bare)*20 > all {
		problems = append(problems, append(bare, strconv.Itoa(len(bare))+" of "+strconv.Itoa(all)+" exported names have no comment; accepted are 5 in 100")...)
	}
	return problems
}

// undocumented counts the exported names of a declaration and lists those
// without a comment. A comment on a group holds for its members.
func undocumented(d ast.Decl) (n int, without []*ast.Ident) {
	count := func(id *ast.Ident, doc ...*ast.CommentGroup) {
		if !id.IsExported() {
			return
		}
		n++
		if !slices.ContainsFunc(doc, func(c *ast.CommentGroup) bool { return c != nil }) {
			without = append(without, id)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(strings.TrimPrefix(receiver(d), "*")) {
			count(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				count(spec.Name, spec.Doc, spec.Comment, d.Doc)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					count(id, spec.Doc, spec.Comment, d.Doc)
				}
			}
		}
	}
	return n, without
}

// successes are statuses that a handler may name.
var successes = []string{"StatusOK", "StatusCreated", "StatusAccepted", "StatusNoContent", "StatusText"}

func statusProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if !s.house() || path.Dir(s.path) != "mockserver" || slices.Contains(statusFiles, s.path) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if on, ok := x.X.(*ast.Ident); ok && on.Name == "http" && strings.HasPrefix(x.Sel.Name, "Status") && !slices.Contains(successes, x.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s: http.%s is for %s", s.at(n), x.Sel.Name, statusFiles[0]))
			}
			return true
		})
	}
	return problems
}
