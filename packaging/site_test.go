package packaging

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

var siteLink = regexp.MustCompile(`(?:href|src)="?([^"\s>]+)`)

// TestPackagingSite builds the site as `make docs` does, follows all its links, and searches
// for a word. The tools are installed before, because the build has no network access.
func TestPackagingSite(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	programs.Need(t, "the site is NOT built", "python3")
	root, err := filepath.Abs("..")
	expect.NoError(t, err)
	tools := exec.CommandContext(t.Context(), "make", filepath.Join(root, ".tmp", "site-tools", ".installed"))
	tools.Dir = root
	if out, err := tools.CombinedOutput(); err != nil {
		programs.SkipLoud(t, "the generator of the site cannot be installed: the site is NOT built: "+string(out))
	}
	dist := t.TempDir()
	build := exec.CommandContext(t.Context(), "make", "docs", "DIST="+dist)
	build.Dir = root
	build.Env = append(os.Environ(), "http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9") // an address without a listener
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make docs: %v\n%s", err, out)
	}
	site := os.DirFS(filepath.Join(dist, "site"))
	pages := map[string]string{}
	err = fs.WalkDir(site, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".html" && name != "404.html" { // links of 404.html are absolute
			text, err := fs.ReadFile(site, name)
			pages[name] = string(text)
			return err
		}
		return err
	})
	if err != nil || len(pages) < 20 {
		t.Fatalf("got %d pages, want at least 20: %v", len(pages), err)
	}
	for name, text := range pages {
		for _, found := range siteLink.FindAllStringSubmatch(text, -1) {
			checkSiteLink(t, site, pages, name, found[0], found[1])
		}
	}
	t.Run("the search finds a section by a word in it", func(t *testing.T) {
		t.Parallel()
		text, err := fs.ReadFile(site, "search/search_index.json")
		expect.NoError(t, err)
		var index struct {
			Docs []struct{ Location, Title, Text string }
		}
		expect.NoError(t, json.Unmarshal(text, &index))
		for _, doc := range index.Docs {
			if doc.Location == "reference/wire.html#signatures" && strings.Contains(strings.ToLower(doc.Text), "hs256") {
				return
			}
		}
		t.Error("the section on signatures is not found by the word HS256")
	})
}

// checkSiteLink checks that a link leads to a file of the site. Pages may load nothing from
// another host.
func checkSiteLink(t *testing.T, site fs.FS, pages map[string]string, name, attribute, link string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" {
		if strings.HasPrefix(attribute, "src") || strings.Contains(link, "fonts.") {
			t.Errorf("%s: loads %s from another host", name, link)
		}
		return
	}
	to := name
	if u.Path != "" {
		to = path.Join(path.Dir(name), u.Path)
	}
	if _, err := fs.Stat(site, to); err != nil {
		t.Errorf("%s: %s: file not found", name, link)
		return
	}
	if u.Fragment == "" || pages[to] == "" || strings.HasPrefix(u.Fragment, "__") { // an anchor of the theme
		return
	}
	if !strings.Contains(pages[to], `id="`+u.Fragment+`"`) && !strings.Contains(pages[to], "id="+u.Fragment) {
		t.Errorf("%s: %s: anchor not found", name, link)
	}
}
