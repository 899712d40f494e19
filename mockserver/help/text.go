package help

import (
	"html"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/markdown"
)

// Text is a page as Markdown, for readers without a browser.
type Text struct{ Name, Title, Text string }

// Pages are the pages for users of a server, in the order of the menu.
var Pages = sync.OnceValue(func() []Text {
	all := []Text{{home, shelf()[home].Title, source(home)}}
	for _, g := range menu() {
		for _, e := range g.Entries {
			if !strings.HasPrefix(files()[e.Name], "contributing/") && e.Name != "decisions" {
				all = append(all, Text{e.Name, e.Title, source(e.Name)})
			}
		}
	}
	return all
})

func source(name string) string { return string(read(docs.Files.ReadFile(files()[name]))) }

// Section is a part of a page: from the heading with the id, or the beginning for "", to the next
// heading that is not below it. false: the page does not have it.
func Section(name, id string) (text string, ok bool) {
	p := shelf()[name]
	if p == nil || id == "" {
		if p != nil {
			text = source(name)
		}
		return text, p != nil
	}
	first := slices.IndexFunc(p.Sections, func(s markdown.Section) bool { return s.ID == id })
	if first < 0 {
		return "", false
	}
	lines, from, level := strings.Split(source(name), "\n"), p.Sections[first].Line-1, p.Sections[first].Level
	to := len(lines)
	for _, s := range p.Sections[first+1:] {
		if s.Level <= level {
			to = s.Line - 1
			break
		}
	}
	return strings.Join(lines[from:to], "\n"), true
}

// Found is a section that a search has found.
type Found struct {
	Page    string `json:"page"`
	Section string `json:"section,omitempty"` // its id
	Title   string `json:"title"`
	Text    string `json:"text"` // an excerpt
}

// Find returns the sections that contain all words, the best first.
func Find(words string) (list []Found) {
	for _, h := range search(words) {
		name, id, _ := strings.Cut(strings.TrimPrefix(h.Link, Root), "#")
		if name == "" {
			name = home
		}
		text := html.UnescapeString(strings.NewReplacer("<mark>", "", "</mark>", "").Replace(string(h.Text)))
		list = append(list, Found{name, id, h.Page + ": " + h.Section, text})
	}
	return list
}
