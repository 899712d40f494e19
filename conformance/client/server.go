package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/spec"
)

// maxBody is the largest body of a request that is kept, in bytes.
const maxBody = 32 << 20

// request is one request of the library, as it arrived.
type request struct {
	Proto   string // HTTP/1.1, HTTP/2.0
	Origin  string // main, tls, trap, proxy: the listener
	Method  string
	Target  string // raw, as sent
	Host    string
	Header  http.Header // names as in the dialect svc
	Wire    http.Header // as sent
	Body    []byte
	At      time.Duration // since the start of the case
	Reply   *reply
	Foreign bool // nobody expected it
}

// reply is a scripted reply.
type reply struct {
	Status   int            `json:"status,omitempty"`
	Headers  map[string]any `json:"headers,omitempty"`
	Body     any            `json:"body,omitempty"` // {text}, {base64}, {json}; nil: none
	Fault    string         `json:"fault,omitempty"`
	Redirect string         `json:"redirect,omitempty"` // same, trap: where the Location leads
	Gzip     bool           `json:"gzip,omitempty"`     // when it is asked for
	Usual    bool           `json:"usual,omitempty"`    // the usual reply of the operation
}

// scene is what the recorder knows about one case.
type scene struct {
	mu       sync.Mutex
	name     string
	start    time.Time
	replies  []reply
	route    func(*request) *reply // for what the script does not answer; nil: unscripted
	requests []*request
	used     int // replies
	over     bool
	late     []*request
}

// script sets the replies to the next requests.
func (s *scene) script(replies []reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies, s.used = replies, 0
}

// sent returns the requests so far, from the given one on.
func (s *scene) sent(from int) []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*request{}, s.requests[min(from, len(s.requests)):]...)
}

// take records a request and returns its reply. The last scripted reply is repeated.
func (s *scene) take(q *request) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.At = harness.Since(s.start)
	if s.over {
		s.late = append(s.late, q)
		return &reply{Status: statusUnscripted, Body: map[string]any{"text": "the case " + s.name + " is over"}}
	}
	s.requests = append(s.requests, q)
	switch {
	case len(s.replies) > 0:
		q.Reply = &s.replies[min(s.used, len(s.replies)-1)]
		s.used++
		if q.Reply.Usual && s.route != nil {
			q.Reply = s.route(q)
		}
	case s.route != nil:
		q.Reply = s.route(q)
	}
	if q.Reply == nil {
		q.Foreign = true
		q.Reply = &reply{Status: statusUnscripted, Body: map[string]any{"text": "no reply is scripted for this request in the case " + s.name}}
	}
	return q.Reply
}

// statusUnscripted answers requests that no case expects.
const statusUnscripted = 599

// recorder is the service of one lane: listeners that record and reply by script.
type recorder struct {
	dialect *spec.Dialect
	servers []*http.Server
	urls    map[string]string // by origin: main, tls, trap, bad

	mu      sync.Mutex
	current *scene
	scenes  map[string]*scene // by token
}

// newRecorder starts the listeners of a lane.
func newRecorder(ctx context.Context, d *spec.Dialect, ca *authority, main string) (*recorder, error) {
	r := &recorder{dialect: d, urls: map[string]string{}, scenes: map[string]*scene{}}
	for _, l := range []struct{ origin, host string }{{"main", "127.0.0.1"}, {"tls", "127.0.0.1"}, {"bad", "127.0.0.1"}, {"trap", "localhost"}} {
		addr := "127.0.0.1:0"
		if l.origin == "tls" && main != "" {
			addr = main
		}
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			r.close()
			return nil, err
		}
		r.serve(ctx, l.origin, l.host, ln, ca)
	}
	return r, nil
}

// serve starts one listener.
func (r *recorder) serve(ctx context.Context, origin, host string, ln net.Listener, ca *authority) {
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.handle(w, q, origin) }), ReadHeaderTimeout: helloTimeout,
		ErrorLog:                     log.New(io.Discard, "", 0), // a refused certificate is not an error
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	r.servers = append(r.servers, s)
	switch origin {
	case "tls", "bad":
		r.urls[origin] = "https://" + net.JoinHostPort(host, port)
		cert := &ca.server
		if origin == "bad" {
			cert = &ca.foreign
		}
		s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName != "" && origin == "tls" {
				return ca.certificate(hello.ServerName)
			}
			return cert, nil
		}}
		go s.ServeTLS(ln, "", "") //nolint:errcheck // ends with close
	default:
		r.urls[origin] = "http://" + net.JoinHostPort(host, port)
		go s.Serve(ln) //nolint:errcheck // ends with close
	}
}

// close ends all listeners.
func (r *recorder) close() {
	for _, s := range r.servers {
		_ = s.Close()
	}
}

// begin makes a scene the current one. Requests with its token belong to it, also later ones.
func (r *recorder) begin(name, token string, route func(*request) *reply) *scene {
	s := &scene{name: name, start: harness.Now(), route: route}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current, r.scenes[token] = s, s
	return s
}

// end ends a scene: what arrives from now on is late.
func (s *scene) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// sceneOf finds the scene of a request by its token, or else the current one.
func (r *recorder) sceneOf(q *request) *scene {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range q.Wire.Values("Authorization") {
		scheme, credential, _ := strings.Cut(v, " ")
		if strings.EqualFold(scheme, "Basic") {
			plain, _ := base64.StdEncoding.DecodeString(credential)
			_, credential, _ = strings.Cut(string(plain), ":")
		}
		if s := r.scenes[credential]; s != nil {
			return s
		}
	}
	return r.current
}

// handle records a request and replies.
func (r *recorder) handle(w http.ResponseWriter, in *http.Request, origin string) {
	q := &request{Proto: in.Proto, Origin: origin, Method: in.Method, Target: in.RequestURI, Host: in.Host, Wire: in.Header.Clone()}
	if u, err := url.Parse(in.RequestURI); err == nil && u.IsAbs() { // a client that talks as to a proxy
		q.Target = u.RequestURI()
	}
	q.Header = r.dialect.NeutralHeader(in.Header.Clone())
	q.Body, _ = io.ReadAll(io.LimitReader(in.Body, maxBody))
	s := r.sceneOf(q)
	if s == nil {
		http.Error(w, "no case is running", statusUnscripted)
		return
	}
	r.reply(w, in, s.take(q))
}

// reply writes a scripted reply with the names of the dialect.
func (r *recorder) reply(w http.ResponseWriter, in *http.Request, p *reply) {
	body, present := payload(p.Body)
	if value, ok := p.Body.(map[string]any); ok && value["json"] != nil {
		body = r.dialect.BrandText(body)
	}
	h := w.Header()
	r.headers(h, p, present)
	if p.Redirect != "" {
		h.Set("Location", r.redirect(p.Redirect, in))
	}
	if p.Gzip && strings.Contains(in.Header.Get("Accept-Encoding"), "gzip") {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body)
		_ = z.Close()
		body = packed.Bytes()
		h.Set("Content-Encoding", "gzip")
	}
	status := p.Status
	if status == 0 {
		status = http.StatusOK
	}
	if p.Fault != "" {
		r.fault(w, in, p.Fault, status, body)
		return
	}
	if in.Method != http.MethodHead && status != http.StatusNoContent && status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	} else {
		body = nil
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// headers sets the headers of a reply. One that is null is not sent.
func (r *recorder) headers(h http.Header, p *reply, present bool) {
	if value, ok := p.Body.(map[string]any); ok && value["text"] == nil && present {
		h.Set("Content-Type", "application/json")
	}
	for name, value := range p.Headers {
		name = string(r.dialect.BrandText([]byte(name)))
		if value == nil {
			h[http.CanonicalHeaderKey(name)] = nil
			continue
		}
		if list, ok := value.([]any); ok {
			for _, one := range list {
				h.Add(name, fmt.Sprint(one))
			}
			continue
		}
		h.Set(name, fmt.Sprint(value))
	}
}

// redirect is where a redirect leads: the same host, or the trap.
func (r *recorder) redirect(where string, in *http.Request) string {
	base := "http://" + in.Host
	if in.TLS != nil {
		base = "https://" + in.Host
	}
	if where == "trap" {
		base = r.urls["trap"]
	}
	return base + "/moved" + in.URL.EscapedPath()
}

// fault replies as no server should. Connections of HTTP/2 are reset instead.
func (r *recorder) fault(w http.ResponseWriter, in *http.Request, fault string, status int, body []byte) {
	switch fault {
	case "pieces": // not a fault of the server: chunks with few bytes each
		w.WriteHeader(status)
		for i := range body {
			_, _ = w.Write(body[i : i+1])
			if i%7 == 0 {
				_ = http.NewResponseController(w).Flush()
			}
		}
		return
	case "silent":
		<-in.Context().Done()
		return
	}
	hijack, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	c, _, err := hijack.Hijack()
	if err != nil {
		return
	}
	defer c.Close() //nolint:errcheck // a closed connection is the purpose
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n", status, http.StatusText(status))
	switch fault {
	case "close":
	case "middle": // the length is right, the body ends early
		_, _ = fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body[:len(body)/2])
	case "chunk": // a chunked body that does not end
		_, _ = fmt.Fprintf(c, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", head, len(body)/2, body[:len(body)/2])
	case "length":
		_, _ = fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(body)+10, body)
	case "garbage":
		_, _ = io.WriteString(c, "220 mail.test ESMTP ready\r\n\r\n")
	}
}
