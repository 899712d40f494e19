// Package help serves the documentation, which is embedded in the program, to browsers:
// it works offline and needs no other server.
//
//	http.Handle(help.Root, help.Handler{})
//
// The pages are the files of the folder docs and the folders in it, in the order of its
// README.md, which is the home page. Links to files outside the folder lead to the source
// repository.
package help

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/similar"
)

// Root is the path of the home page.
const Root = "/_understudy/docs/"

//go:embed help.html help.css
var embedded embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(embedded, "help.html"))
})

// contentPolicy is the content security policy: browsers load nothing from other hosts.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the paths below Root.
type Handler struct{}

// screen is the data of the template.
type screen struct {
	Title   string
	Menu    []group
	Name    string        // of the page; "": no page
	Body    template.HTML // of the page
	Parts   []part        // the table of contents
	Query   string        // of a search
	Found   []hit
	Missing string // the name of a page that does not exist
	Near    *entry // the page with the most similar name
}

// moved are names that pages had before, which programs have printed: where their text is now.
var moved = map[string]string{
	"client-suite":      "judge-a-client",
	"fleet":             "operating#several-servers",
	"replay":            "state#replay",
	"terminal":          "commands",
	"writing-scenarios": "conformance#writing-scenarios",
}

// plainFiles are the extensions of the files that are sent as they are.
var plainFiles = []string{".png", ".svg", ".txt"}

// models is the list of pages for language models.
const models = "llms.txt"

// ServeHTTP shows a page, the results of a search, a picture, or llms.txt.
func (Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	if r.URL.Path+"/" == Root {
		http.Redirect(w, r, Root, http.StatusSeeOther)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Root)
	switch name {
	case models:
		send(w, r, models, read(docs.Files.ReadFile(models)))
		return
	case "/_understudy/llms.txt":
		http.Redirect(w, r, Root+models, http.StatusSeeOther) // its links are relative
		return
	}
	short := nameOf(name)
	to := moved[short]
	if short != name && shelf()[short] != nil { // the path of the source file
		to = strings.TrimPrefix(short, home)
	}
	if to != "" || name == home+".md" {
		http.Redirect(w, r, Root+to, http.StatusSeeOther) //nolint:gosec // a page of the shelf
		return
	}
	switch {
	case name == "" && r.URL.Query().Has("q"):
		query := strings.TrimSpace(r.URL.Query().Get("q"))
		show(w, r, http.StatusOK, &screen{Title: "Search", Query: query, Found: search(query)})
	case name == "" || name != home && shelf()[name] != nil:
		if name == "" {
			name = home
		}
		p := shelf()[name]
		show(w, r, http.StatusOK, &screen{Title: p.Title, Name: name, Body: p.body, Parts: p.parts})
	case name == "help.css":
		send(w, r, name, read(embedded.ReadFile(name)))
	case slices.Contains(plainFiles, path.Ext(name)) && files()[name] != "":
		send(w, r, name, read(docs.Files.ReadFile(files()[name])))
	default:
		show(w, r, http.StatusNotFound, &screen{Title: "Page not found", Missing: name, Near: nearest(name)})
	}
}

// show fills the template and sends it.
func show(w http.ResponseWriter, r *http.Request, status int, s *screen) {
	s.Menu = menu()
	var b bytes.Buffer
	if err := templates().Execute(&b, s); err != nil {
		http.Error(w, "documentation: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if status == http.StatusOK {
		send(w, r, "page.html", b.Bytes())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // fails if the browser has disconnected
}

// send answers with a file. Browsers may cache it but must revalidate: another version
// of the server has other pages at the same paths.
func send(w http.ResponseWriter, r *http.Request, name string, content []byte) {
	sum := sha256.Sum256(content)
	w.Header().Set("Etag", `"`+hex.EncodeToString(sum[:8])+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// read returns the content of an embedded file; it panics if the file is missing.
func read(content []byte, err error) []byte {
	if err != nil {
		panic(fmt.Errorf("documentation: %w", err))
	}
	return content
}

// nearest is the page whose name is most similar to one that does not exist; nil: none is.
func nearest(name string) *entry {
	var known []string
	for _, g := range menu() {
		for _, e := range g.Entries {
			known = append(known, e.Name)
		}
	}
	best, distance := similar.Nearest(name, known)
	if distance > max(2, len(best)/3) {
		return nil
	}
	return &entry{Name: best, Title: shelf()[best].Title}
}
