package help_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/help"
)

// get requests a path below the root.
func get(t *testing.T, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, help.Root+path, nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	help.Handler{}.ServeHTTP(w, r)
	return w
}

var reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// TestEveryPage follows every link of every page, from the home page on.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	known := map[string]string{} // path below the root: its text
	queue := []string{""}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if _, ok := known[at]; ok {
			continue
		}
		w := get(t, http.MethodGet, at)
		if w.Code != http.StatusOK {
			t.Errorf("page %q: got %d, want 200", at, w.Code)
		}
		known[at] = w.Body.String()
		for _, found := range reference.FindAllStringSubmatch(known[at], -1) {
			if to, ok := strings.CutPrefix(found[1], help.Root); ok {
				to, _, _ = strings.Cut(to, "#")
				queue = append(queue, to)
			}
		}
	}
	err := fs.WalkDir(docs.Files, ".", func(file string, e fs.DirEntry, err error) error {
		name := strings.TrimSuffix(path.Base(file), ".md")
		if name == "README" {
			name = strings.TrimPrefix(path.Dir(file), ".")
		}
		if _, ok := known[name]; !ok && !e.IsDir() {
			t.Errorf("%s: the home page does not lead to it", file)
		}
		return err
	})
	expect.NoError(t, err)
	for at, text := range known {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			to, fragment, ok := strings.Cut(strings.TrimPrefix(found[1], help.Root), "#")
			if !ok || strings.Contains(to, "://") || strings.HasPrefix(to, "/") {
				continue
			}
			if found[1][0] == '#' {
				to = at
			}
			expect.Contains(t, "page "+to+", to which page "+at+" links", known[to], ` id="`+fragment+`"`)
		}
		if strings.Contains(text, " style=") || strings.Contains(text, "<script>") {
			t.Errorf("page %q has something that its content security policy stops", at)
		}
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for fact, c := range map[string]struct {
		path   string
		status int
		want   string
	}{
		"a page names itself in the title":          {"durability", 200, " · Understudy documentation</title>"},
		"a page has a table of contents":            {"wire", 200, `<li><a href="#signatures">Signatures</a></li>`},
		"a link between pages stays on the server":  {"target", 200, `href="/_understudy/docs/`},
		"a search finds a section by its heading":   {"?q=signatures", 200, `<a href="/_understudy/docs/wire#signatures">`},
		"a search marks the word in the text":       {"?q=JETSTREAM", 200, "<mark>JetStream</mark>"},
		"a search needs every word":                 {"?q=signatures+zzzz", 200, "No section has signatures zzzz."},
		"a search without words says what to do":    {"?q=+", 200, "Type one or more words."},
		"the query of a search is escaped":          {"?q=%3Cscript%3Ealert", 200, "&lt;script&gt;alert"},
		"an unknown page has a hint":                {"durabilty", 404, `Did you mean <a href="/_understudy/docs/durability">`},
		"a name without a similar page has no hint": {"zzzzzzzzzzzzzzzzzzz", 404, "There is no page <code>zzzzzzzzzzzzzzzzzzz</code>.</p>"},
		"a file that is not a page is not found":    {"docs.go", 404, "There is no page"},
		"an unknown page is escaped":                {"%3Cscript%3E", 404, "&lt;script&gt;"},
		"a long search is cut":                      {"?q=" + strings.Repeat("a", 100_000), 200, "No section has"},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			w := get(t, http.MethodGet, c.path)
			expect.Equal(t, "status", w.Code, c.status)
			expect.Contains(t, "page", w.Body.String(), c.want)
		})
	}
	t.Run("the path of a file leads to its page", func(t *testing.T) {
		t.Parallel()
		for file, page := range map[string]string{"durability.md": "durability", "reference/wire.md": "wire", "reference/wire": "wire", "conformance/README.md": "conformance", "README.md": ""} {
			w := get(t, http.MethodGet, file)
			expect.Equal(t, "status of "+file, w.Code, http.StatusSeeOther)
			expect.Equal(t, "location of "+file, w.Header().Get("Location"), "/_understudy/docs/"+page)
		}
	})
	t.Run("the former name of a page leads to its text", func(t *testing.T) {
		t.Parallel()
		for name, text := range map[string]string{"fleet": ` id="several-servers"`, "replay": ` id="replay"`, "terminal": ` id="search"`, "writing-scenarios": ` id="writing-scenarios"`} {
			to := get(t, http.MethodGet, name).Header().Get("Location")
			page, _, _ := strings.Cut(strings.TrimPrefix(to, help.Root), "#")
			expect.Contains(t, "page to which "+name+" leads", get(t, http.MethodGet, page).Body.String(), text)
		}
	})
	t.Run("the root without its slash redirects to the root", func(t *testing.T) {
		t.Parallel()
		w := httptest.NewRecorder()
		help.Handler{}.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_understudy/docs", nil))
		expect.Equal(t, "location", w.Header().Get("Location"), "/_understudy/docs/")
	})
	t.Run("a page that has not changed is not sent again", func(t *testing.T) {
		t.Parallel()
		first := get(t, http.MethodGet, "durability")
		w := get(t, http.MethodGet, "durability", "If-None-Match: "+first.Header().Get("Etag"))
		expect.Equal(t, "status", w.Code, http.StatusNotModified)
		expect.Equal(t, "bytes", w.Body.Len(), 0)
	})
	t.Run("HEAD has the length and no body", func(t *testing.T) {
		t.Parallel()
		w := get(t, http.MethodHead, "durability")
		expect.Equal(t, "status", w.Code, http.StatusOK)
		expect.Equal(t, "bytes", w.Body.Len(), 0)
		expect.Contains(t, "content type", w.Header().Get("Content-Type"), "text/html")
	})
	t.Run("a picture has its content type", func(t *testing.T) {
		t.Parallel()
		expect.Equal(t, "content type", get(t, http.MethodGet, "page.png").Header().Get("Content-Type"), "image/png")
	})
}
