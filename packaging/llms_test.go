package packaging

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

var relativeLink = regexp.MustCompile(`\]\(([^):]+)\)`)

// TestGeneratedLLMs compares the list of pages for coding agents (llmstxt.org) with the home
// page of the documentation. The server and the site have it as a file.
func TestGeneratedLLMs(t *testing.T) {
	t.Parallel()
	home, err := os.ReadFile("../docs/README.md")
	expect.NoError(t, err)
	_, groups, _ := strings.Cut(string(home), "\n## ")
	groups = relativeLink.ReplaceAllStringFunc(groups, func(link string) string {
		if outside, ok := strings.CutPrefix(link, "](../"); ok {
			return "](" + rawSource + outside
		}
		return link // in a checkout and on a server, the pages are beside it
	})
	groups = strings.NewReplacer("\n* ", "\n- ", "\n  ", " ").Replace(groups)
	expect.Generated(t, "../docs/llms.txt", "# Understudy\n\n> "+sentence+".\n\n## "+groups)
}

// rawSource is where files of the repository are plain text.
const rawSource = "https://raw.githubusercontent.com/understudy-mock/understudy/main/"
