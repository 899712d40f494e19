package docs_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/markdown"
)

// maxGuides is the largest number of pages outside of docs/reference.
const maxGuides = 26

// reader follows the links of pages, from the README of the repository on.
type reader struct {
	t      *testing.T
	root   fs.FS
	clicks map[string]int // to each page that was reached
	pages  map[string]*markdown.Page
}

// read follows the links of all pages, the nearest first.
func read(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, root: os.DirFS(".."), clicks: map[string]int{"README.md": 0}, pages: map[string]*markdown.Page{}}
	for queue := []string{"README.md"}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		text, err := fs.ReadFile(r.root, at)
		if err != nil {
			t.Fatal(err)
		}
		r.pages[at] = markdown.Parse(text)
		for _, link := range r.pages[at].Links {
			to, _ := target(at, link.To)
			if _, known := r.clicks[to]; !known && path.Ext(to) == ".md" && r.exists(to) {
				r.clicks[to] = r.clicks[at] + 1
				queue = append(queue, to)
			}
		}
	}
	return r
}

// target is the file of the repository to which a link of a page leads, "" for another
// host, and the id of the section.
func target(page, link string) (file, id string) {
	file, id, _ = strings.Cut(link, "#")
	switch {
	case strings.Contains(file, ":"):
		return "", ""
	case file == "":
		return page, id
	}
	return path.Join(path.Dir(page), file), id
}

func (r *reader) exists(file string) bool {
	_, err := fs.Stat(r.root, file)
	return err == nil
}

// has reports whether a page has a section.
func has(p *markdown.Page, id string) bool {
	for _, s := range p.Sections {
		if s.ID == id {
			return true
		}
	}
	return false
}

func TestAReaderOfTheREADME(t *testing.T) {
	t.Parallel()
	r := read(t)
	var pages []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := fs.Glob(docs.Files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	t.Run("reaches every page in three clicks", func(t *testing.T) {
		t.Parallel()
		for _, page := range pages {
			if n, ok := r.clicks["docs/"+page]; !ok || n > 3 {
				t.Errorf("docs/%s: got %d clicks, reached: %v; want at most 3", page, n, ok)
			}
		}
	})
	t.Run("finds no dead link", func(t *testing.T) {
		t.Parallel()
		for at, page := range r.pages {
			for _, link := range page.Links {
				to, id := target(at, link.To)
				if to == "" {
					continue
				}
				if !r.exists(to) {
					t.Errorf("%s:%d: %s: file not found", at, link.Line, link.To)
				} else if p := r.pages[to]; id != "" && p != nil && !has(p, id) {
					t.Errorf("%s:%d: %s: section not found", at, link.Line, link.To)
				}
			}
		}
	})
	t.Run("reads first what each page is for", func(t *testing.T) {
		t.Parallel()
		for _, page := range pages {
			if page == "README.md" || page == "reference/interface.md" { // a list, and a document of others
				continue
			}
			if body := r.pages["docs/"+page].Sections[0].Body; !strings.HasPrefix(body, "After this page you ") {
				t.Errorf("docs/%s: begins with %.60q, want what the reader can do after it", page, body)
			}
		}
	})
	t.Run("has at most 26 guides", func(t *testing.T) {
		t.Parallel()
		guides := 0
		for _, page := range pages {
			if !strings.HasPrefix(page, "reference/") {
				guides++
			}
		}
		if guides > maxGuides {
			t.Errorf("pages outside of docs/reference: got %d, want at most %d", guides, maxGuides)
		}
	})
}

// The server leaves folders out of the names of pages, and calls the README of a folder by
// the name of the folder.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	known := map[string]string{}
	err := fs.WalkDir(docs.Files, ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := path.Base(file)
		if name == "README.md" {
			name = path.Base(path.Dir(file)) + ".md"
		}
		if other := known[name]; other != "" {
			t.Errorf("%s has the name of %s", file, other)
		}
		known[name] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
