package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestRulesReadEveryTopFolder compares the folders that tests read with those in git.
func TestRulesReadEveryTopFolder(t *testing.T) {
	t.Parallel()
	files, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Skip("not a checkout of git")
	}
	var tops []string
	for file := range strings.Lines(string(files)) {
		if top, _, _ := strings.Cut(strings.TrimSpace(file), "/"); !strings.HasPrefix(top, ".") {
			tops = append(tops, top)
		}
	}
	slices.Sort(tops)
	expect.Equal(t, "expect.Tops", expect.Tops, slices.Compact(tops))
}
