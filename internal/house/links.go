package house

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/markdown"
)

// startPages are the pages from which links must lead to all others. Pages in packaging
// are exempt, because they are published with their packages.
var startPages = []string{"README.md", "docs/README.md"}

// linkProblems finds links, anchors and pictures without a target, duplicate headings,
// and pages that readers cannot reach.
func linkProblems(root fs.FS) ([]string, error) {
	pages := map[string]*markdown.Page{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "dist"):
			return fs.SkipDir
		case path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		pages[name] = markdown.Parse(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read pages: %w", err)
	}
	var problems []string
	reached := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		problems = append(problems, headingProblems(name, pages[name])...)
		for _, link := range pages[name].Links {
			if problem := linkProblem(root, pages, name, link); problem != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: %s: %s", name, link.Line, link.To, problem))
			}
		}
	}
	for _, name := range startPages {
		reach(pages, name, reached)
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if !reached[name] && !strings.HasPrefix(name, "packaging/") {
			problems = append(problems, fmt.Sprintf("%s: no link leads here from %s", name, strings.Join(startPages, " or ")))
		}
	}
	return problems, nil
}

// headingProblems finds duplicate headings of a page: an anchor can mean only one.
func headingProblems(name string, page *markdown.Page) (problems []string) {
	taken := map[string]bool{}
	for _, s := range page.Sections {
		if taken[s.Text] {
			problems = append(problems, fmt.Sprintf("%s:%d: heading %q: must be unique on its page", name, s.Line, s.Text))
		}
		taken[s.Text] = true
	}
	return problems
}

// linkProblem describes what is wrong with a link, "" for a valid one.
func linkProblem(root fs.FS, pages map[string]*markdown.Page, from string, link markdown.Link) string {
	file, fragment, hasFragment := strings.Cut(link.To, "#")
	if strings.Contains(file, ":") {
		return "" // a URL on another host
	}
	to := from
	if file != "" {
		to = path.Join(path.Dir(from), file)
	}
	if _, err := fs.Stat(root, to); errors.Is(err, fs.ErrNotExist) || !fs.ValidPath(to) {
		return "file not found"
	}
	if !hasFragment {
		return ""
	}
	if pages[to] == nil {
		return "anchor of a file that is no page"
	}
	if !slices.ContainsFunc(pages[to].Sections, func(s markdown.Section) bool { return s.ID == fragment }) {
		return "heading not found"
	}
	return ""
}

// reach marks a page and all pages that it links to, directly or indirectly.
func reach(pages map[string]*markdown.Page, name string, reached map[string]bool) {
	if pages[name] == nil || reached[name] {
		return
	}
	reached[name] = true
	for _, link := range pages[name].Links {
		file, _, _ := strings.Cut(link.To, "#")
		reach(pages, path.Join(path.Dir(name), file), reached)
	}
}
