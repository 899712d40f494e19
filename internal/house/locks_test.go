package house

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
)

// lockExceptions are exported methods of *Account that neither begin with lock and defer
// unlock nor return a call of exportedDoors, with the reason.
var lockExceptions = map[string]string{
	"Close":           "must not start anything any more, and waits outside the lock",
	"CorrectClock":    "waits for the end of a snapshot before it has the lock",
	"SaveTo":          "has the lock for a few records at a time",
	"SnapshotMembers": "has the lock for a few records at a time",
	"WriteSnapshot":   "has the lock for a few records at a time",
	"Glance":          "reads atomic values, because probes never wait for an account",
	"Observed":        "reads one atomic value, for the search for the largest account",
}

// exportedDoors are functions that lock for an exported method and run its command.
var exportedDoors = []string{"do", "doDurably", "runCommand", "runDurably"}

// lockers are unexported methods of *Account that may lock, with the reason.
var lockers = map[string]string{
	"attempt": "in an attempt's goroutine",
	"lock":    "is the lock",
	"briefly": "copies a part of a snapshot, which is not a command",
	"free":    "gives the lock back, and does without it what is left to do",
	"save":    "lets one snapshot wait for another, and has the lock for a few records at a time",
	"skipTo":  "body of the auto clock's goroutine",
	"tick":    "called by the alarm",
	"unlock":  "is the unlock",
	"wakeOn":  "its function is called by the context",
}

var lockRule = rule{"methods of the account lock first or never", lockProblems, []breach{
	{
		"an exported method of the account locks first",
		"engine/queue.go", "package engine\nfunc (a *Account) Queues() int { return a.queues() }",
		"engine/queue.go:2: Queues is exported: it begins with a.lock() and defer a.unlock()",
	},
	{
		"an unexported method of the account never locks",
		"engine/queue.go", "package engine\nfunc (a *Account) queues() { a.lock(); defer a.unlock() }",
		"engine/queue.go:2: queues is unexported: it never calls lock",
	},
	{
		"an exported method of the account calls no other",
		"engine/queue.go", "package engine\nfunc (a *Account) Now() {\n a.lock()\n defer a.unlock()\n}\nfunc (a *Account) Queues() {\n a.lock()\n defer a.unlock()\n a.Now()\n}",
		"engine/queue.go:9: Queues calls the exported Now while it holds the lock",
	},
}}

// lockProblems finds methods of *engine.Account that break the lock discipline.
func lockProblems(tree []source) []string {
	var problems []string
	for _, s := range tree {
		if path.Dir(s.path) != "engine" || !s.product() {
			continue
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || receiverType(f) != "Account" {
				continue
			}
			problems = append(problems, methodProblems(&s, f)...)
		}
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
	if lockExceptions[name] == "" && !locksFirst(f.Body) && !throughDoor(f.Body) {
		return []string{fmt.Sprintf("%s: %s is exported: it begins with a.lock() and defer a.unlock(), or is one call of runCommand or do", s.at(f), name)}
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

// locksFirst reports whether a body begins with lock and defer unlock.
func locksFirst(body *ast.BlockStmt) bool {
	if len(body.List) < 2 {
		return false
	}
	_, deferred := body.List[1].(*ast.DeferStmt)
	lock := taken(body.List[0], "lock")
	return lock != "" && deferred && taken(body.List[1], "unlock") == lock
}

// throughDoor reports whether all that a body does is to return a call of exportedDoors, or
// one of two by a condition.
func throughDoor(body *ast.BlockStmt) bool {
	for _, one := range body.List {
		if either, ok := one.(*ast.IfStmt); ok && either.Init == nil && either.Else == nil && throughDoor(either.Body) {
			continue
		}
		back, ok := one.(*ast.ReturnStmt)
		if !ok || len(back.Results) != 1 || !callsDoor(back.Results[0]) {
			return false
		}
	}
	return len(body.List) > 0
}

func callsDoor(result ast.Expr) bool {
	through := false
	ast.Inspect(result, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name, ok := call.Fun.(*ast.Ident)
			through = through || ok && slices.Contains(exportedDoors, name.Name)
		}
		return !through
	})
	return through
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
