package house

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHouseLinks checks all pages of the repository.
func TestHouseLinks(t *testing.T) {
	t.Parallel()
	problems, err := linkProblems(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// TestHouseLinksBreach checks that each kind of problem is reported.
func TestHouseLinksBreach(t *testing.T) {
	t.Parallel()
	for fact, c := range map[string]struct{ page, want string }{
		"a page exists":                     {"[x](docs/lost.md)", "README.md:1: docs/lost.md: file not found"},
		"a picture exists":                  {"![x](docs/lost.png)", "README.md:1: docs/lost.png: file not found"},
		"a link stays in the repository":    {"[x](../lost)", "README.md:1: ../lost: file not found"},
		"an anchor of another page exists":  {"a\n\n[x](docs/README.md#lost)", "README.md:3: docs/README.md#lost: heading not found"},
		"an anchor of the same page exists": {"[x](#lost)", "README.md:1: #lost: heading not found"},
		"headings differ":                   {"# A\n\n# A\n", `README.md:3: heading "A": must be unique on its page`},
		"every page can be reached":         {"# A", "docs/alone.md: no link leads here from README.md or docs/README.md"},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{
				"README.md":      {Data: []byte(c.page)},
				"docs/README.md": {Data: []byte("# Docs\n\n[fine](../README.md) [host](https://e.test/#x) [own](#docs)\n")},
				"docs/alone.md":  {Data: []byte("# Alone\n")},
			}
			problems, err := linkProblems(root)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(problems, "\n"); !strings.Contains(text, c.want) {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}
