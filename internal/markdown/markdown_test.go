package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/markdown"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

const sample = "# Retries of `publish`\n\nFirst\nline, [see](state.md#how-long) and ![a picture](page.png).\n\n" +
	"## What's next?\n\n| a | n |\n|---|--:|\n| [x](state.md) | 1 |\n\n```sh\nmake run\n```\n\n## What's next?\n\n<https://app.test/>\n"

func TestParse(t *testing.T) {
	t.Parallel()
	p := markdown.Parse([]byte(sample))
	t.Run("the title is the first heading", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "title", p.Title, "Retries of publish")
	})
	t.Run("a section has the id that code hosts give it, and its text", func(t *testing.T) {
		t.Parallel()
		want := []markdown.Section{
			{Heading: markdown.Heading{Level: 1, Text: "Retries of publish", ID: "retries-of-publish", Line: 1}, Body: "First line, see and a picture."},
			{Heading: markdown.Heading{Level: 2, Text: "What's next?", ID: "whats-next", Line: 6}, Body: "a\nn\nx\n1\nmake run"},
			{Heading: markdown.Heading{Level: 2, Text: "What's next?", ID: "whats-next-1", Line: 16}},
		}
		if diff := cmp.Diff(want, p.Sections); diff != "" {
			t.Errorf("sections (want -, got +):\n%s", diff)
		}
	})
	t.Run("links and pictures are found with their lines", func(t *testing.T) {
		t.Parallel()
		want := []markdown.Link{
			{To: "state.md#how-long", Text: "see", Line: 4}, {To: "page.png", Text: "a picture", Picture: true, Line: 4},
			{To: "state.md", Text: "x", Line: 10}, {To: "https://app.test/", Text: "https://app.test/", Line: 18},
		}
		if diff := cmp.Diff(want, p.Links); diff != "" {
			t.Errorf("links (want -, got +):\n%s", diff)
		}
	})
	t.Run("blocks of code are found with their language and line", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff([]markdown.Block{{Language: "sh", Text: "make run\n", Line: 13}}, p.Blocks); diff != "" {
			t.Errorf("blocks (want -, got +):\n%s", diff)
		}
	})
}

func TestHTML(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := markdown.Parse([]byte(sample)).HTML(&b, func(to string) string { return "/docs/" + to })
	expect.NoError(t, err)
	for fact, want := range map[string]string{
		"the caller maps links":             `<a href="/docs/state.md#how-long">see</a>`,
		"the caller maps pictures":          `<img src="/docs/page.png" alt="a picture">`,
		"headings have ids":                 `<h2 id="whats-next">`,
		"cells are aligned without a style": `<td align="right">1</td>`,
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			expect.Contains(t, "the page", b.String(), want)
		})
	}
}
