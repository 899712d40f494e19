package ui

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/api"
)

//go:embed static templates
var embeddedFiles embed.FS

// Page is the web page. It is an http.Handler for /_understudy/ and all paths
// below /_understudy/ui/.
type Page struct {
	api http.Handler
}

// New returns the page for a control API.
func New(api http.Handler) *Page { return &Page{api: api} }

// pageTemplates returns the templates. The first view parses them, so that they do not
// slow down the start of the server.
var pageTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(templateFunctions).ParseFS(embeddedFiles, "templates/*.html"))
})

// contentPolicy forbids content of other servers, and inline scripts and styles.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP shows a view, runs the action of a button, or serves a file.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	name, id, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), controlRoot), "ui/"), "/")
	switch {
	case r.URL.Path == "/" || r.URL.Path+"/" == controlRoot || strings.TrimSuffix(r.URL.Path, "/") == controlRoot+"ui":
		http.Redirect(w, r, controlRoot, http.StatusSeeOther)
	case name == "static":
		serveStatic(w, r, id)
	case name == "do" && r.Method == http.MethodPost:
		p.act(w, r, id)
	default:
		p.view(w, r, name, id)
	}
}

// visit is one request for a view.
type visit struct {
	client
	query  url.Values
	access api.Account
	now    api.Overview
	cut    bool // the words of the query find more than are counted and listed
}

// frame makes addresses of the account.
func (v *visit) frame() *frame { return &frame{Account: v.account, Query: v.query} }

// view shows a view. Errors of the API are shown on the page.
func (p *Page) view(w http.ResponseWriter, r *http.Request, name, id string) {
	f := &frame{Name: name, Query: r.URL.Query(), Path: r.URL.EscapedPath()}
	if name == "" {
		f.Name = "now"
	}
	_, err := r.Cookie("understudy-look")
	f.Settings = err == nil
	err = p.fill(f, r, id)
	status := http.StatusOK
	if err != nil {
		f.Fault, f.template, status = err.Error(), "fault", http.StatusInternalServerError
		if said, ok := errors.AsType[*failure](err); ok {
			status = said.Status
		}
	}
	f.Said, f.Status = takeSaying(w, r), status
	if f.List != nil && f.Fault == "" {
		f.Aside, _ = drawn(f.Name+".beside", f)
	}
	if f.Body, err = drawn(f.template, f); err != nil {
		f.Fault, status = "page: "+err.Error(), http.StatusInternalServerError
		f.Body, _ = drawn("fault", f) // this template cannot fail
	}
	page, err := drawn("layout", f)
	if err != nil {
		http.Error(w, "page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	text := []byte(page)
	if takesZipped(w, r) {
		text = zip(text, gzip.BestSpeed)
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // fails if the browser has disconnected
}

// drawn is a template with the data of a view; "" if it fails.
func drawn(name string, f *frame) (template.HTML, error) {
	var b bytes.Buffer
	if err := pageTemplates().ExecuteTemplate(&b, name, f); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil //nolint:gosec // html/template has made it
}

// fill loads the data of a view from the API.
func (p *Page) fill(f *frame, r *http.Request, id string) error {
	v := &visit{client: p.apiFor(r), query: f.Query}
	if err := v.get(&f.Now, "overview", nil); err != nil {
		return err
	}
	v.now, v.account, f.Account = f.Now, f.Now.Account, f.Now.Account
	var known struct{ Accounts []string }
	if err := v.get(&known, "accounts", nil); err != nil {
		return err
	}
	f.Accounts = known.Accounts
	if err := v.get(&v.access, "accounts/"+url.PathEscape(v.account), nil); err != nil {
		return err
	}
	_, alone := document("fleet")(v)
	f.Access, f.Fleet = v.access, alone == nil
	at := viewNamed(f.Name)
	if at == nil {
		return refuse(http.StatusNotFound, "view "+f.Name+": not found; the navigation lists all views")
	}
	f.Title, f.template = at.title, at.name
	var err error
	if id == "" && at.load != nil {
		f.Data, err = at.load(v)
		return err
	}
	if id, err = url.PathUnescape(id); err != nil || at.one == nil {
		return refuse(http.StatusNotFound, "page not found; the navigation lists all views")
	}
	f.Title, f.ID = at.title+" · "+id, id
	if at.load != nil {
		f.template = at.name + ".one"
	}
	if pageTemplates().Lookup(at.name+".beside") != nil {
		f.List, _ = at.load(v) // the entry is shown even if its list fails
	}
	f.Data, err = at.one(v, id)
	return err
}
