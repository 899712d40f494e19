package help

import (
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// TestMistakes compares the table with the page: each section of a row must exist, and
// the error that the section shows must lead to it.
func TestMistakes(t *testing.T) {
	t.Parallel()
	text := string(read(docs.Files.ReadFile("troubleshooting.md")))
	place := regexp.MustCompile(`^(?:{"error":"|understudy: |\S+-Warning: )`)
	block := regexp.MustCompile("(?s)```text\n(.*?)```")
	for _, m := range mistakes {
		t.Run(m.section, func(t *testing.T) {
			t.Parallel()
			number, _, _ := strings.Cut(m.section, "-")
			_, section, _ := strings.Cut(text, "\n### "+number+". ")
			section, _, _ = strings.Cut(section, "\n### ")
			shown := block.FindStringSubmatch(section)
			if shown == nil {
				t.Fatalf("section %s of docs/troubleshooting.md shows no error", number)
			}
			found := ""
			for line := range strings.SplitSeq(shown[1], "\n") {
				line = strings.NewReplacer(`\"`, `"`, `...`, "Svc-Delay").Replace(line)
				if _, after, ok := strings.Cut(line, `{"error":"publishMessage: `); ok {
					line = after
				}
				line = place.ReplaceAllString(line, "")
				if found == "" {
					found = Explains(line)
				}
			}
			expect.Equal(t, "link", found, Root+"troubleshooting#"+m.section)
			expect.Equal(t, "the page has the anchor", strings.Contains(string(shelf()["troubleshooting"].body), ` id="`+m.section+`"`), true)
		})
	}
	t.Run("another error has no link", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "link", Explains("queue: name: must not be empty"), "")
	})
}
