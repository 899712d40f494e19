package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

func TestMain(m *testing.M) {
	testscript.Main(programs.Main{M: m}, map[string]func(){"understudy": main, "runner": runner, "shop": shop})
}

// TestScripts runs testdata/*.txtar, which check output and exit codes of the commands.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, programs.Script("testdata"))
}
