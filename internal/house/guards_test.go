package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// guards maps the locks of the server, outside of the engine, to what they guard. A key
// is a package, a type and a field. The text says which locks are taken before others.
// Code that holds one neither waits nor calls the engine.
var guards = map[string]string{
	"mockserver/certificate Certificate mu": "the certificate that is shown, and the versions of its files",
	"mockserver/delivery connections mu":    "open: the connections of this server to itself",
	"mockserver/explore Conductor mu":       "the progress of a case: what waits, what is in progress, the points so far",
	"mockserver/explore/program tail mu":    "the end of the log of an application",
	"mockserver/stub Faults mu":             "list, and how often each rule has applied; one for each account",
	"mockserver relief busy":                "no data: one request at a time makes room",
	"mockserver Server mu":                  "violations",
	"mockserver/control Sinks mu":           "seen: the attempts at the flaky sink",
	"mockserver/fleet Fleet mu":             "who is in the fleet, who has which account, what is being done with it",
	"mockserver/fleet feed mu":              "how far the bucket has been seen",
	"mockserver/otlp follower mu":           "the messages and runs that are followed, and their spans",
	"mockserver/traffic Journal mu":         "entries and who waits for one; two for each account: requests and deliveries",
	"mockserver/listener freshConns mu":     "open: the connections on which no request has arrived",
	"mockserver/listener lazyConn mu":       "want, have, passed, waiting",
	"mockserver/kv KV mu":                   "embedded, which starts when it is first needed",
	"mockserver/kv embedded mu":             "no data: one command, transaction or script at a time; comes before the others of kv",
	"mockserver/stub List mu":               "list, and what was used of each stub; one for each account",
	"mockserver/tenant Meter mu":            "the rate of attempts; one for each account",
	"mockserver/tenant Outside mu":          "attempts in the network and who waits for one; one for each account",
	"mockserver/tenant Registry mu":         "the accounts by id and token, and the modes of their clocks; comes before all others",
	"mockserver/tenant gate mu":             "who is inside; two for each account: requests and attempts",
	"mockserver/saved Points mu":            "points of undo, and their bytes",
	"mockserver/tenant Tenant opening":      "indexes: the vector indexes that clients may open; one for each account",
}

// engineFields are the fields through which the server calls the engine. Its methods take
// the lock of the account, so the caller must not hold another one.
var engineFields = []string{"account", "Account"}

var guardRule = rule{"locks of the server are named, and held in one block", guardProblems, []breach{
	{
		"a lock has a row that says what it guards",
		"mockserver/queue.go", "package mockserver\ntype queues struct {\n mu sync.Mutex\n}",
		"mockserver/queue.go:3: lock mockserver queues mu: no row of guards says what it guards",
	},
	{
		"a row has a lock",
		"mockserver/queue.go", "package mockserver",
		"guards: mockserver Server mu: lock not found",
	},
	{
		"a lock is given back in the block that takes it",
		"mockserver/queue.go", "package mockserver\nfunc (q *queues) f() {\n q.mu.Lock()\n if q.done {\n  q.mu.Unlock()\n }\n}",
		"mockserver/queue.go:3: q.mu.Lock(): the next statement must be its deferred Unlock, or a later one of the block its Unlock",
	},
	{
		"no return is between taking a lock and giving it back",
		"mockserver/queue.go", "package mockserver\nfunc (q *queues) f() {\n q.mu.Lock()\n if q.done {\n  return\n }\n q.mu.Unlock()\n}",
		"mockserver/queue.go:5: returns with q.mu",
	},
	{
		"a method does not take its lock twice",
		"mockserver/queue.go", "package mockserver\nfunc (q *queues) list() {\n q.mu.Lock()\n defer q.mu.Unlock()\n}\nfunc (q *queues) f() {\n q.mu.Lock()\n defer q.mu.Unlock()\n q.list()\n}",
		"mockserver/queue.go:9: calls list, which takes a lock of queues, with q.mu",
	},
	{
		"the engine is not called with a lock",
		"mockserver/queue.go", "package mockserver\nfunc (s *Server) f(w *tenant) {\n s.mu.Lock()\n defer s.mu.Unlock()\n w.account.Pause()\n}",
		"mockserver/queue.go:5: calls the engine with s.mu",
	},
	{
		"nobody waits with a lock",
		"mockserver/queue.go", "package mockserver\nfunc (q *queues) f() {\n q.mu.Lock()\n defer q.mu.Unlock()\n <-q.done\n}",
		"mockserver/queue.go:5: waits with q.mu",
	},
}}

// guardProblems finds locks without a row, rows without a lock, and wrong uses of locks
// in blocks.
func guardProblems(tree []source) []string {
	var problems []string
	found := map[string]bool{}
	takers := lockTakers(tree)
	for _, s := range tree {
		if !guarded(&s) {
			continue
		}
		for name, at := range lockFields(&s) {
			found[name] = true
			if guards[name] == "" {
				problems = append(problems, s.at(at)+": lock "+name+": no row of guards says what it guards")
			}
		}
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				ast.Inspect(f.Body, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.BlockStmt:
						problems = append(problems, blockProblems(&s, f, n.List, takers)...)
					case *ast.CaseClause:
						problems = append(problems, blockProblems(&s, f, n.Body, takers)...)
					case *ast.CommClause:
						problems = append(problems, blockProblems(&s, f, n.Body, takers)...)
					}
					return true
				})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(guards)) {
		if !found[name] {
			problems = append(problems, "guards: "+name+": lock not found")
		}
	}
	return problems
}

func guarded(s *source) bool {
	return s.product() && strings.HasPrefix(s.path, "mockserver/") && path.Dir(s.path) != "mockserver/fleet/jetstream" // as engine/store
}

// lockFields returns the mutex fields of a file's structs, by package, type and field.
func lockFields(s *source) map[string]ast.Node {
	fields := map[string]ast.Node{}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		structure, ok := t.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range structure.Fields.List {
			if kind := expression(field.Type); kind == "sync.Mutex" || kind == "sync.RWMutex" {
				for _, name := range field.Names {
					fields[path.Dir(s.path)+" "+t.Name.Name+" "+name.Name] = field
				}
			}
		}
		return true
	})
	return fields
}

// lockTakers returns the methods that take a lock of their receiver: "type method".
func lockTakers(tree []source) map[string]bool {
	takers := map[string]bool{}
	for _, s := range tree {
		if !guarded(&s) {
			continue
		}
		for _, d := range s.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
				continue
			}
			for _, statement := range f.Body.List {
				if lock := taken(statement, "Lock"); strings.HasPrefix(lock, f.Recv.List[0].Names[0].Name+".") {
					takers[receiverType(f)+" "+f.Name.Name] = true
				}
			}
		}
	}
	return takers
}

// taken is the lock whose method by (Lock or Unlock) a statement calls, "" for none.
func taken(statement ast.Stmt, by string) string {
	var call *ast.CallExpr
	switch statement := statement.(type) {
	case *ast.ExprStmt:
		call, _ = statement.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		call = statement.Call
	}
	if call == nil {
		return ""
	}
	if name := expression(call.Fun); strings.HasSuffix(name, "."+by) {
		return strings.TrimSuffix(name, "."+by)
	}
	return ""
}

// blockProblems checks the locks that the statements of a block take.
func blockProblems(s *source, f *ast.FuncDecl, block []ast.Stmt, takers map[string]bool) []string {
	var problems []string
	for i, statement := range block {
		lock := taken(statement, "Lock")
		if _, deferred := statement.(*ast.DeferStmt); lock == "" || deferred {
			continue
		}
		rest := block[i+1:]
		until := slices.IndexFunc(rest, func(later ast.Stmt) bool { return taken(later, "Unlock") == lock })
		if until < 0 {
			problems = append(problems, fmt.Sprintf("%s: %s.Lock(): the next statement must be its deferred Unlock, or a later one of the block its Unlock", s.at(statement), lock))
			continue
		}
		_, deferred := rest[until].(*ast.DeferStmt)
		if deferred {
			rest = rest[until+1:]
		} else {
			rest = rest[:until]
		}
		for _, held := range rest {
			problems = append(problems, heldProblems(s, f, held, lock, deferred, takers)...)
		}
	}
	return problems
}

// heldProblems checks a statement that runs while a lock is held.
func heldProblems(s *source, f *ast.FuncDecl, held ast.Stmt, lock string, deferred bool, takers map[string]bool) []string {
	var problems []string
	report := func(n ast.Node, what string) {
		problems = append(problems, fmt.Sprintf("%s: %s with %s", s.at(n), what, lock))
	}
	ast.Inspect(held, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // it runs later
		case *ast.ReturnStmt:
			if !deferred {
				report(n, "returns")
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "waits")
			}
		case *ast.CallExpr:
			name := expression(n.Fun)
			parts := strings.Split(name, ".")
			owner, _, _ := strings.Cut(lock, ".")
			kind := receiverType(f)
			if len(parts) == 2 && parts[0] == owner && takers[kind+" "+parts[1]] {
				report(n, "calls "+parts[1]+", which takes a lock of "+kind+",")
			}
			if len(parts) > 2 && slices.Contains(engineFields, parts[len(parts)-2]) {
				report(n, "calls the engine")
			}
		}
		return true
	})
	return problems
}
