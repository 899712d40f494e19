package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// runBugs are the planted bugs of the shop with runs.
var runBugs = []programs.Planted{
	{Name: "effect-outside-steps", Fault: "lost-answer", Says: "duplicated effect: mail POST /welcome", Faults: 1},
	{Name: "step-not-idempotent", Fault: "lost-answer", Says: "duplicated effect: payments", Faults: 1},
	{Name: "swallowed-error", Fault: "outside-down", Says: "lost effect: payments", Faults: 1},
}

// testExplore explores the examples with the published clients.
func testExplore(t *testing.T, app string) {
	folder := filepath.Join(app, "explore")
	expect.NoError(t, os.CopyFS(folder, os.DirFS(root+"/examples/explore")))
	binary := filepath.Join(app, "node_modules/.bin/understudy")
	programs.FindBugs(t, binary, filepath.Join(folder, "messaging"), programs.ShopBugs, "node", "shop.mjs")
	programs.FindBugs(t, binary, filepath.Join(folder, "workflow"), runBugs, "node", "shop.mjs")
	programs.FindBugs(t, binary, filepath.Join(folder, "parallel"), []programs.Planted{{Name: "key-per-attempt", Fault: "repeat", Says: "duplicated effect: payments POST /captures", Faults: 1}}, "node", "shop.mjs")
	programs.FindBugs(t, binary, filepath.Join(folder, "database"), []programs.Planted{{Name: "recorded-first", Fault: "outside-down", Says: "lost effect: payments", Faults: 1}}, "node", "shop.mjs")
	programs.FindBugs(t, binary, filepath.Join(folder, "compensation"), []programs.Planted{{Name: "no-compensation", Fault: "outage", Says: "reserved for ever", Faults: 1}}, "node", "shop.mjs")

	random := programs.Explore(t, binary, filepath.Join(folder, "workflow"), "random-step-name", nil, "node", "shop.mjs")
	if random.Code != 3 || !strings.Contains(random.Said, "a step of a run was named") {
		t.Errorf("a random name of a step: exit code %d, want 3 and what was named: %s", random.Code, random.Said)
	}
}
