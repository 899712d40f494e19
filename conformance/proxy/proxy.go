// Package proxy passes traffic through to an implementation and reports what of
// it breaks the document.
//
//	p, err := proxy.New(proxy.Config{Upstream: upstream, Report: file})
//	http.ListenAndServe(addr, p)
//
// It changes nothing that passes, except in enforcing mode, where a violation is
// answered instead.
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"github.com/gorilla/mux"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// ProxyConfig is what a validating proxy is made of. Upstream is required.
type Config struct {
	Upstream *url.URL
	Dialect  *spec.Dialect // nil: every built-in one, each request by its own names
	Enforce  bool          // answer a violation instead of passing it on
	Report   io.Writer     // one line of JSON for each violation; nil: none
	Record   bool          // keep the exchanges for WriteRecording, secrets masked
	Log      *slog.Logger  // nil: slog.Default()
}

// Violation is a request or an answer that breaks the document.
type Violation struct {
	Operation string       `json:"operation"` // operationId, "" for a path that the document lacks
	Method    string       `json:"method"`
	Path      string       `json:"path"`
	In        string       `json:"in"` // request or response
	Status    int          `json:"status,omitempty"`
	Problem   spec.Problem `json:"problem"`
}

// maxChecked is the largest body that is checked, in bytes; larger ones are
// passed on as they are.
const maxChecked = 8 << 20

// Proxy passes traffic through and holds it to the document. It is an
// http.Handler, and safe for concurrent use.
type Proxy struct {
	cfg      Config
	dialects spec.Dialects // the configured one first
	router   *mux.Router
	next     *httputil.ReverseProxy

	mu         sync.Mutex // guards the writers and the counts
	exchanges  int
	violations int
	recording  Recording
}

// NewProxy prepares a proxy.
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
	p := &Proxy{cfg: cfg, dialects: spec.BuiltInDialects(), router: mux.NewRouter()}
	if cfg.Dialect != nil {
		p.dialects = p.dialects.With(cfg.Dialect)
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
			r.Out.URL.RawPath = r.In.URL.EscapedPath() // a destination in the path stays as it was written
			if prefix := strings.TrimRight(cfg.Upstream.EscapedPath(), "/"); prefix != "" {
				r.Out.URL.RawPath = prefix + r.Out.URL.RawPath
			}
			r.Out.Host = cfg.Upstream.Host
		},
		ModifyResponse: p.answered,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if v, ok := errors.AsType[*enforced](err); ok {
				refuseProxy(w, http.StatusBadGateway, "the answer of the upstream breaks the document: "+v.problem.String())
				return
			}
			cfg.Log.Error("upstream cannot be reached", "method", r.Method, "path", mask.URL(r.URL.EscapedPath()), "error", err)
			refuseProxy(w, http.StatusBadGateway, fmt.Sprintf("upstream %s: %v", cfg.Upstream.Host, err))
		},
	}
	return p, nil
}

// operation is what the router finds; it is never called.
type operation struct{ *spec.Operation }

func (operation) ServeHTTP(http.ResponseWriter, *http.Request) {}

// enforced is an answer that is not passed on.
type enforced struct{ problem spec.Problem }

func (e *enforced) Error() string { return e.problem.String() }

type proxiedKey struct{}

// proxied is what the way back needs to know of a request.
type proxied struct {
	op      *spec.Operation
	dialect *spec.Dialect
	path    string
	body    []byte
}

// ServeHTTP checks the request and passes it on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, mixed := p.speaks(r)
	neutral, u := *r, *r.URL
	u.RawQuery = d.NeutralQuery(r.URL.RawQuery)
	neutral.URL, neutral.Header = &u, d.NeutralHeader(r.Header)
	x := proxied{path: mask.URL(r.URL.RequestURI()), dialect: d}
	var vars map[string]string
	var m mux.RouteMatch
	if p.router.Match(&neutral, &m) && m.MatchErr == nil {
		if found, ok := m.Handler.(operation); ok {
			x.op, vars = found.Operation, unescapedVars(found.Operation, m.Vars)
		}
	}
	body, whole, err := p.body(r)
	if err != nil {
		refuseProxy(w, http.StatusBadRequest, "the body broke off: "+err.Error())
		return
	}
	x.body = body
	var problems []spec.Problem
	switch {
	case x.op == nil:
		problems = []spec.Problem{{In: "path", Rule: "operation", Message: "no operation of the document", Received: r.Method + " " + x.path}}
	case whole:
		if x.op.BodyJSON {
			body = d.NeutralJSON(body)
		}
		problems = x.op.CheckRequest(&neutral, vars, body)
	}
	problems = append(problems, mixed...)
	p.report(r, x, "request", 0, problems)
	if len(problems) > 0 && p.cfg.Enforce {
		refuseProxy(w, http.StatusBadRequest, "the request breaks the document: "+problems[0].String())
		return
	}
	p.next.ServeHTTP(w, r.WithContext(contextWith(r, x)))
}

// speaks is the dialect of a request: the configured one, else that of its
// names. Names of another dialect are a problem.
func (p *Proxy) speaks(r *http.Request) (*spec.Dialect, []spec.Problem) {
	named, err := p.dialects.OfRequest(r.Header, r.URL.RawQuery)
	d := p.dialects[0]
	if p.cfg.Dialect == nil && named.Dialect != nil {
		d = named.Dialect
	}
	if err == nil && named.Dialect != nil && named.Dialect != d {
		err = fmt.Errorf("%s belongs to the dialect %s, in the dialect %s it is %s", named, named.Dialect.Name, d.Name, named.As(d))
	}
	if err != nil {
		return d, []spec.Problem{{In: "header", Name: named.Name, Rule: "dialect", Message: err.Error()}}
	}
	return d, nil
}

// body reads what can be checked and puts it back.
func (p *Proxy) body(r *http.Request) (body []byte, whole bool, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, true, nil
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, maxChecked+1))
	if err != nil {
		return nil, false, err
	}
	rest := r.Body
	whole = len(body) <= maxChecked
	r.Body = readCloser{io.MultiReader(bytes.NewReader(body), rest), rest}
	return body, whole, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// answered checks an answer on its way back.
func (p *Proxy) answered(response *http.Response) error {
	x, _ := response.Request.Context().Value(proxiedKey{}).(proxied)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return nil // it never ends
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxChecked+1))
	if err != nil {
		return err
	}
	rest := response.Body
	response.Body = readCloser{io.MultiReader(bytes.NewReader(body), rest), rest}
	if x.op == nil || len(body) > maxChecked {
		return nil
	}
	d := x.dialect
	problems := x.op.CheckResponse(response.StatusCode, d.NeutralHeader(response.Header), d.NeutralJSON(body))
	p.report(response.Request, x, "response", response.StatusCode, problems)
	if p.cfg.Record {
		p.record(response, x, body)
	}
	if len(problems) > 0 && p.cfg.Enforce {
		return &enforced{problems[0]}
	}
	return nil
}

// report tells violations: a line of the log, and one of the report.
func (p *Proxy) report(r *http.Request, x proxied, in string, status int, problems []spec.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in == "request" {
		p.exchanges++
	}
	for _, problem := range problems {
		p.violations++
		v := Violation{Method: r.Method, Path: x.path, In: in, Status: status, Problem: shownProblem(problem)}
		if x.op != nil {
			v.Operation = x.op.ID
		}
		p.cfg.Log.Warn("the "+in+" breaks the document", "operation", v.Operation, "method", v.Method, "path", v.Path, "problem", v.Problem.String())
		if p.cfg.Report != nil {
			if err := json.NewEncoder(p.cfg.Report).Encode(v); err != nil {
				p.cfg.Log.Error("the report cannot be written", "error", err)
			}
		}
	}
}

// Recording is what a live implementation was asked and answered: requests, and
// stubs that play it, in the form that the control API takes.
type Recording struct {
	Upstream string            `yaml:"upstream"`
	Stubs    []RecordedStub    `yaml:"stubs"`
	Requests []RecordedRequest `yaml:"requests"`
}

// RecordedStub answers a method and a URL as the implementation did, in turn.
type RecordedStub struct {
	Method  string           `yaml:"method"`
	URL     string           `yaml:"url"`
	Answers []RecordedAnswer `yaml:"answers"`
}

// RecordedAnswer is one answer.
type RecordedAnswer struct {
	Status  int               `yaml:"status"`
	Headers map[string]string `yaml:"headers,omitempty"`
	Body    string            `yaml:"body,omitempty"`
}

// RecordedRequest is one request, with its secrets masked.
type RecordedRequest struct {
	Operation string              `yaml:"operation"`
	Method    string              `yaml:"method"`
	Path      string              `yaml:"path"`
	Headers   map[string][]string `yaml:"headers"`
	Body      string              `yaml:"body,omitempty"`
}

// recorded is a body in a recording, which leaves the machine: credentials are
// taken out of what a message carries, too.
func recorded(body []byte) string { return mask.Text(string(mask.JSON(body))) }

// shownProblem is a violation without the credentials that it may quote.
func shownProblem(p spec.Problem) spec.Problem {
	p.Received, p.Message = mask.Value(p.Received), mask.Text(p.Message)
	if mask.Secret(p.Name) && p.Received != "" {
		p.Received = mask.Hidden
	}
	return p
}

// maxRecorded bounds a recording; what comes later is counted only.
const maxRecorded = 20_000

// record keeps an exchange.
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

// WriteRecording writes what was recorded so far, as YAML.
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

// Summary is what passed so far, in one line.
func (p *Proxy) Summary() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d requests, %d violations of the document", p.exchanges, p.violations)
}

// Violations is how many there were.
func (p *Proxy) Violations() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.violations
}

func refuseProxy(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string]string{"error": text}) // a string always encodes
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// unescapedVars decodes path variables; greedy ones stay as they stood.
func unescapedVars(op *spec.Operation, vars map[string]string) map[string]string {
	for name, v := range vars {
		if plain, err := url.PathUnescape(v); err == nil && !op.Greedy(name) {
			vars[name] = plain
		}
	}
	return vars
}

func contextWith(r *http.Request, x proxied) context.Context {
	return context.WithValue(r.Context(), proxiedKey{}, x)
}
