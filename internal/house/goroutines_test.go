package house

import (
	"go/ast"
	"slices"
)

// goFiles are the files that may start goroutines. Each documents what waits for them.
var goFiles = []string{
	"cmd/understudy/progress.go",
	"cmd/understudy/eof.go",
	"cmd/understudy/logging.go",
	"cmd/understudy/run.go",
	"conformance/client.go",
	"conformance/client/adapter.go",
	"conformance/client/server.go",
	"conformance/client/session.go",
	"conformance/client/tunnel.go",
	"conformance/step/parallel.go",
	"conformance/world/world.go",
	"conformance/receiver/receiver.go",
	"conformance/receiver/relay.go",
	"engine/advance.go",
	"engine/delivery.go",
	"mockserver/fleet/jetstream/jetstream.go",
	"mockserver/fleet/jetstream/log.go",
	"mockserver/fleet/jetstream/snapshot.go",
	"engine/store/sqlite/sqlite.go",
	"engine/store/sqlite/turn.go",
	"mockserver/fleet/feed.go",
	"mockserver/fleet/fleet.go",
	"mockserver/fleet/forward.go",
	"mockserver/fleet/owner.go",
	"internal/testkit/programs/process.go",
	"mockserver/listen.go",
	"mockserver/explore/case.go",
	"mockserver/explore/search.go",
	"mockserver/explore/program/driver.go", // reads standard input until it ends
	"mockserver/explore/program/process.go",
	"cmd/understudy/explore_init.go",
	"mockserver/tenant/registry.go",
}

var goroutineRule = rule{"goroutines start in few files", eachNode(startsNone, goroutineProblem), []breach{
	{
		"goroutines start in few files",
		"mockserver/publish.go", "package mockserver\nfunc f() {\n go f()\n}",
		"mockserver/publish.go:3: a goroutine starts here",
	},
	{
		"goroutines of a wait group start in few files",
		"mockserver/publish.go", "package mockserver\nfunc f(s *Server) {\n s.serving.Go(f)\n}",
		"mockserver/publish.go:3: a goroutine starts here",
	},
}}

func startsNone(s *source) bool { return s.product() && !slices.Contains(goFiles, s.path) }

// goroutineProblem finds goroutines that start in other files.
func goroutineProblem(_ *source, n ast.Node) string {
	_, starts := n.(*ast.GoStmt)
	if call, ok := n.(*ast.CallExpr); ok {
		_, name := method(call)
		starts = name == "Go" // of a sync.WaitGroup
	}
	if !starts {
		return ""
	}
	return "a goroutine starts here; goFiles lists where they may, and each needs an owner that waits"
}
