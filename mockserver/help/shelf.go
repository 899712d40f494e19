package help

import (
	"bytes"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/markdown"
)

const (
	home = "README" // the page that links to all others

	// sourceHost is the base URL of linked files that are not pages.
	sourceHost = "https://github.com/understudy-mock/understudy/blob/main/"
)

// page is a page and its rendered form.
type page struct {
	*markdown.Page
	body  template.HTML
	parts []part
}

// part is an entry of a table of contents.
type part struct{ ID, Text string }

// group is a group of pages in the menu.
type group struct {
	Title   string
	Entries []entry
}

// entry is a page in the menu.
type entry struct{ Name, Title string }

// shelf returns all pages by name. The first request renders them, so that they do not
// slow down the start of the server.
var shelf = sync.OnceValue(func() map[string]*page {
	pages := map[string]*page{}
	for name, file := range files() {
		if path.Ext(file) != ".md" {
			continue
		}
		p := &page{Page: markdown.Parse(read(docs.Files.ReadFile(file)))}
		var b bytes.Buffer
		if err := p.HTML(&b, func(to string) string { return target(path.Dir(file), to) }); err != nil {
			panic(err) // a test renders every page
		}
		p.body = template.HTML(scrolls.Replace(b.String())) //nolint:gosec // the project's own pages
		for _, s := range p.Sections {
			if s.Level == 2 {
				p.parts = append(p.parts, part{s.ID, s.Text})
			}
		}
		pages[name] = p
	}
	return pages
})

// scrolls lets keyboards scroll code and tables that are wider than the screen.
var scrolls = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`)

// files returns the paths of pages and pictures by their name on the server.
var files = sync.OnceValue(func() map[string]string {
	paths := map[string]string{}
	_ = fs.WalkDir(docs.Files, ".", func(file string, e fs.DirEntry, _ error) error { // an embedded folder can be read
		if !e.IsDir() {
			paths[nameOf(file)] = file
		}
		return nil
	})
	return paths
})

// nameOf is the name of a file on the server: that of the file without its folder and without
// .md. The README of a folder has the name of the folder.
func nameOf(file string) string {
	if folder, ok := strings.CutSuffix(file, "/"+home+".md"); ok {
		return folder
	}
	return strings.TrimSuffix(path.Base(file), ".md")
}

// menu is the list of pages, grouped by the sections of the home page.
var menu = sync.OnceValue(func() []group {
	p := markdown.Parse(read(docs.Files.ReadFile(home + ".md")))
	var groups []group
	at := 0
	for i, s := range p.Sections {
		if s.Level != 2 {
			continue
		}
		end := 1 << 30
		if i+1 < len(p.Sections) {
			end = p.Sections[i+1].Line
		}
		g := group{Title: s.Text}
		for ; at < len(p.Links) && p.Links[at].Line < end; at++ {
			link := p.Links[at]
			if link.Line > s.Line && strings.HasSuffix(link.To, ".md") && !strings.HasPrefix(link.To, "../") {
				g.Entries = append(g.Entries, entry{nameOf(link.To), link.Text})
			}
		}
		if len(g.Entries) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
})

// target converts a link of a page in a folder into its URL on the server.
func target(folder, to string) string {
	file, fragment, _ := strings.Cut(to, "#")
	if file == "" || strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
		return to
	}
	file = path.Join(folder, file)
	if outside, ok := strings.CutPrefix(file, "../"); ok {
		to = sourceHost + outside
	} else {
		to = Root + strings.TrimPrefix(nameOf(file), home)
	}
	if fragment != "" {
		to += "#" + fragment
	}
	return to
}
