package main

import (
	"os/exec"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// The JavaScript test of examples/outage runs with the command in its first lines.
func TestClientOutage(t *testing.T) {
	t.Parallel()
	programs.Need(t, "examples/outage/outage.test.mjs is NOT run", "node")
	c := exec.CommandContext(t.Context(), build(t), "run", "--clock", "manual", "--", "node", "--test", "../../examples/outage/outage.test.mjs")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}
