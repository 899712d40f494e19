// Package proxy forwards traffic to an implementation and checks the responses
// against the interface document, with package check.
//
//	p, err := proxy.New(proxy.Config{Upstream: upstream, Bindings: t.Bindings})
//	http.ListenAndServe(addr, p)
//
// Violations are counted by kind, each with its first exchange. The proxy changes
// nothing that passes.
package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/gorilla/mux"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Config configures a proxy. Upstream is required.
type Config struct {
	Upstream *url.URL
	Bindings target.Bindings // names that the document leaves open: dialect, filters, fields, the path of the statistics
	Dialect  *spec.Dialect   // nil: that of the bindings; without one, recognized by the names in each request
	FailOn   spec.Basis      // which violations count: stated, or implied too; "" is stated
	Record   bool            // record the exchanges for WriteRecording, secrets masked
	Log      *slog.Logger    // nil: slog.Default()
}

// Finding is one kind of violation: a requirement, and where responses violate it.
type Finding struct {
	Requirement string     `json:"requirement"`
	Basis       spec.Basis `json:"basis"`
	Heading     string     `json:"heading"` // section of the interface document
	Quote       string     `json:"quote"`   // verbatim
	Operation   string     `json:"operation"`
	Pointer     string     `json:"pointer,omitempty"` // JSON pointer into the first response
	Message     string     `json:"message"`
	Expected    string     `json:"expected"`
	Actual      string     `json:"actual"`
	Count       int        `json:"count"`
	First       First      `json:"first"`
}

// First is the first exchange with a kind of violation, secrets masked.
type First struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Answer string `json:"answer"` // at most 4 KiB
}

// String is the finding in one line.
func (f *Finding) String() string {
	return fmt.Sprintf("%s (%s) %s: %s: expected %s, got %s (count %d, first: %s %s answered %d)",
		f.Requirement, f.Basis, strings.TrimSpace(f.Operation+" "+f.Pointer), f.Message, f.Expected, f.Actual, f.Count, f.First.Method, f.First.Path, f.First.Status)
}

// Sizes in bytes: larger bodies are forwarded without a check, and a first response is cut.
const (
	maxChecked = 8 << 20
	maxFirst   = 4 << 10
)

// Proxy forwards traffic and checks the responses. It is an http.Handler and safe for
// concurrent use.
type Proxy struct {
	cfg      Config
	dialects spec.Dialects // the configured one first
	register *spec.Register
	router   *mux.Router
	next     *httputil.ReverseProxy

	mu        sync.Mutex // guards the fields below
	exchanges int
	kinds     map[string]*Finding
	recording Recording
}

// New creates a proxy. It does not connect to the upstream.
func New(cfg Config) (*Proxy, error) {
	doc, err := spec.Load()
	if err != nil {
		return nil, err
	}
	if cfg.Upstream == nil || cfg.Upstream.Host == "" {
		return nil, errors.New("the proxy needs the URL of an upstream")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	cfg.Log = slog.New(mask.Handler(cfg.Log.Handler()))
	register, err := spec.LoadRequirements()
	if err != nil {
		return nil, err
	}
	if cfg.Dialect == nil && cfg.Bindings.BrandPrefix != "" {
		cfg.Dialect = cfg.Bindings.Dialect()
	}
	p := &Proxy{cfg: cfg, register: register, dialects: spec.BuiltInDialects(), router: mux.NewRouter(), kinds: map[string]*Finding{}}
	if cfg.Dialect != nil {
		p.dialects = p.dialects.With(cfg.Dialect)
	}
	if path := cfg.Bindings.Stats["path"]; path != "" { // the document is inconsistent about this path
		p.router.Methods(http.MethodGet).MatcherFunc(boundPath(path)).Handler(operation{doc.Operation("getUsageStatistics")})
	}
	for _, op := range doc.Operations() {
		p.router.Methods(op.Method).MatcherFunc(func(r *http.Request, m *mux.RouteMatch) (ok bool) {
			m.Vars, ok = op.Match(r.URL.EscapedPath())
			return ok
		}).Handler(operation{op})
	}
	p.next = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(cfg.Upstream)
			r.Out.URL.RawPath = r.In.URL.EscapedPath() // keep the escapes of a destination in the path
			if prefix := strings.TrimRight(cfg.Upstream.EscapedPath(), "/"); prefix != "" {
				r.Out.URL.RawPath = prefix + r.Out.URL.RawPath
			}
			r.Out.Host = cfg.Upstream.Host
		},
		ModifyResponse: p.answered,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			cfg.Log.Error("upstream cannot be reached", "method", r.Method, "path", mask.URL(r.URL.EscapedPath()), "error", err)
			refuseProxy(w, http.StatusBadGateway, fmt.Sprintf("upstream %s: %v", cfg.Upstream.Host, err))
		},
	}
	return p, nil
}

// operation is the handler of a route; it is never called.
type operation struct{ *spec.Operation }

func (operation) ServeHTTP(http.ResponseWriter, *http.Request) {}

type proxiedKey struct{}

// proxied is what answered needs from the request.
type proxied struct {
	op      *spec.Operation
	dialect *spec.Dialect
	path    string
	header  http.Header // in neutral names
	query   url.Values  // in neutral names
	body    []byte
}

// ServeHTTP forwards a request. It does not check it, because the document leaves
// open what clients may send.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := p.speaks(r)
	neutral, u := *r, *r.URL
	u.RawQuery = d.NeutralQuery(r.URL.RawQuery)
	neutral.URL, neutral.Header = &u, d.NeutralHeader(r.Header)
	x := proxied{path: mask.URL(r.URL.RequestURI()), dialect: d, header: neutral.Header, query: u.Query()}
	var m mux.RouteMatch
	if p.router.Match(&neutral, &m) && m.MatchErr == nil {
		if found, ok := m.Handler.(operation); ok {
			x.op = found.Operation
		}
	}
	body, err := p.body(r)
	if err != nil {
		refuseProxy(w, http.StatusBadRequest, "the body broke off: "+err.Error())
		return
	}
	x.body = body
	p.mu.Lock()
	p.exchanges++
	p.mu.Unlock()
	p.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), proxiedKey{}, x)))
}

// speaks is the dialect of a request: the configured one, otherwise that of its names.
func (p *Proxy) speaks(r *http.Request) *spec.Dialect {
	if p.cfg.Dialect == nil {
		if named, err := p.dialects.OfRequest(r.Header, r.URL.RawQuery); err == nil && named.Dialect != nil {
			return named.Dialect
		}
	}
	return p.dialects[0]
}

// body reads a request body up to maxChecked and restores it.
func (p *Proxy) body(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxChecked+1))
	r.Body = readCloser{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	return body, err
}

type readCloser struct {
	io.Reader
	io.Closer
}

// answered checks a response.
func (p *Proxy) answered(response *http.Response) error {
	x, _ := response.Request.Context().Value(proxiedKey{}).(proxied)
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
		return nil // the stream never ends
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxChecked+1))
	if err != nil {
		return err
	}
	response.Body = readCloser{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
	if x.op == nil || len(body) > maxChecked {
		return nil
	}
	if p.cfg.Record {
		p.record(response, x, body)
	}
	plain, ok := decoded(response.Header.Get("Content-Encoding"), body)
	if !ok {
		return nil
	}
	breaches := check.Breaches(&check.Exchange{
		Operation: x.op.ID, Header: x.header, Query: x.query, Status: response.StatusCode,
		MediaType: response.Header.Get("Content-Type"), Body: check.Decode(x.dialect.NeutralJSON(plain)),
	}, p.cfg.Bindings)
	p.found(response, x, plain, breaches)
	return nil
}

// decoded is a body without its content coding; ok is false for an unknown coding.
func decoded(coding string, body []byte) ([]byte, bool) {
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "", "identity":
		return body, true
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, false
		}
		plain, err := io.ReadAll(io.LimitReader(r, maxChecked))
		return plain, err == nil
	}
	return nil, false
}

// found counts breaches and logs each kind once.
func (p *Proxy) found(response *http.Response, x proxied, body []byte, breaches []check.Breach) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range breaches {
		b := &breaches[i]
		key := x.op.ID + " " + b.Kind()
		f := p.kinds[key]
		if f == nil {
			f = p.finding(response, x, body, b)
			p.kinds[key] = f
			p.cfg.Log.Warn("an answer breaks the document", "requirement", f.Requirement, "basis", f.Basis, "operation", f.Operation, "pointer", f.Pointer, "problem", f.Message, "expected", f.Expected, "actual", f.Actual)
		}
		f.Count++
	}
}

// finding returns a new kind of violation.
func (p *Proxy) finding(response *http.Response, x proxied, body []byte, b *check.Breach) *Finding {
	in := func(text string) string { return mask.Text(mask.Value(string(x.dialect.BrandText([]byte(text))))) } // with the names of the target
	answer := clip.Marked(recorded(body), maxFirst, fmt.Sprintf("... (%d bytes)", len(body)))
	f := &Finding{
		Requirement: b.Requirement, Operation: x.op.ID, Pointer: b.Pointer, Message: in(b.Message), Expected: in(b.Want), Actual: in(b.Got),
		First: First{response.Request.Method, x.path, response.StatusCode, answer},
	}
	if q := p.register.ByID(b.Requirement); q != nil {
		f.Basis, f.Heading = q.Basis, q.Where.Heading
		f.Quote, _ = q.Where.About(b.Pointer, x.op.ID)
	}
	return f
}

// counts reports whether a finding makes the result of the proxy a failure.
func (p *Proxy) counts(f *Finding) bool {
	return f.Basis == spec.Stated || p.cfg.FailOn == spec.Implied && f.Basis == spec.Implied
}

// Findings returns the kinds of violations so far, sorted by requirement.
func (p *Proxy) Findings() []Finding {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Finding, 0, len(p.kinds))
	for _, key := range slices.Sorted(maps.Keys(p.kinds)) {
		list = append(list, *p.kinds[key])
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return strings.Compare(a.Requirement, b.Requirement) })
	return list
}

// WriteReport writes one line of JSON for each kind of violation.
func (p *Proxy) WriteReport(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, f := range p.Findings() {
		if err := encoder.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// Recording contains exchanges with an implementation: the requests, and stubs with
// the responses, in the form of the control API.
type Recording struct {
	Upstream string            `yaml:"upstream"`
	Stubs    []RecordedStub    `yaml:"stubs"`
	Requests []RecordedRequest `yaml:"requests"`
}

// RecordedStub contains the responses to a method and URL, in order.
type RecordedStub struct {
	Method  string           `yaml:"method"`
	URL     string           `yaml:"url"`
	Answers []RecordedAnswer `yaml:"answers"`
}

// RecordedAnswer is one response.
type RecordedAnswer struct {
	Status  int               `yaml:"status"`
	Headers map[string]string `yaml:"headers,omitempty"`
	Body    string            `yaml:"body,omitempty"`
}

// RecordedRequest is one request, secrets masked.
type RecordedRequest struct {
	Operation string              `yaml:"operation"`
	Method    string              `yaml:"method"`
	Path      string              `yaml:"path"`
	Headers   map[string][]string `yaml:"headers"`
	Body      string              `yaml:"body,omitempty"`
}

// recorded is a body for a recording. Recordings are shared, so credentials in the
// body of a message are masked too.
func recorded(body []byte) string { return mask.Text(string(mask.JSON(body))) }

// maxRecorded is the largest number of requests in a recording; later ones are only counted.
const maxRecorded = 20_000

// record adds an exchange to the recording.
func (p *Proxy) record(response *http.Response, x proxied, body []byte) {
	r := response.Request
	address := strings.TrimRight(mask.URL(p.cfg.Upstream.String()), "/") + x.path
	a := RecordedAnswer{Status: response.StatusCode, Headers: map[string]string{}, Body: recorded(body)}
	for name, values := range mask.Header(response.Header) {
		if name != "Date" && name != "Content-Length" {
			a.Headers[name] = strings.Join(values, ", ")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.recording.Requests) >= maxRecorded {
		return
	}
	p.recording.Requests = append(p.recording.Requests, RecordedRequest{
		Operation: x.op.ID, Method: r.Method, Path: x.path, Headers: mask.Header(r.Header), Body: recorded(x.body),
	})
	for i := range p.recording.Stubs {
		if s := &p.recording.Stubs[i]; s.Method == r.Method && s.URL == address {
			s.Answers = append(s.Answers, a)
			return
		}
	}
	p.recording.Stubs = append(p.recording.Stubs, RecordedStub{r.Method, address, []RecordedAnswer{a}})
}

// WriteRecording writes the recording so far as YAML.
func (p *Proxy) WriteRecording(w io.Writer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recording.Upstream = mask.URL(p.cfg.Upstream.String())
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(p.recording); err != nil {
		return err
	}
	return encoder.Close()
}

// Summary is a line for each kind of violation, and the totals.
func (p *Proxy) Summary() string {
	var b strings.Builder
	list, all := p.Findings(), 0
	for i := range list {
		all += list[i].Count
		b.WriteString(list[i].String() + "\n")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(&b, "%d requests, %d violations of the document of %d kinds", p.exchanges, all, len(list))
	return b.String()
}

// Failed reports whether there is a finding that counts.
func (p *Proxy) Failed() bool {
	return slices.ContainsFunc(p.Findings(), func(f Finding) bool { return p.counts(&f) })
}

func refuseProxy(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string]string{"error": text}) // a string always encodes
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// boundPath matches a path of the target file, such as /v2/stats/{id}.
func boundPath(path string) mux.MatcherFunc {
	before, after, _ := strings.Cut(path, "{id}")
	return func(r *http.Request, _ *mux.RouteMatch) bool {
		id, ok := strings.CutPrefix(r.URL.EscapedPath(), before)
		if ok {
			id, ok = strings.CutSuffix(id, after)
		}
		return ok && id != "" && !strings.Contains(id, "/")
	}
}
