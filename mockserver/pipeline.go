package mockserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/gorilla/mux"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// visit is a request on its way through the pipeline. Later requests use its memory
// again: whatever keeps a part of a request must not keep the visit or its maps.
type visit struct {
	call     request.Call
	exchange Exchange
	route    mux.RouteMatch

	vars   map[string]string
	query  url.Values
	buffer [128]byte // for a short response
}

var visitPool = sync.Pool{New: func() any { return &visit{vars: map[string]string{}, query: url.Values{}} }}

func newVisit(r *http.Request) *visit {
	v := visitPool.Get().(*visit)
	v.call = request.Call{Request: r, Query: v.query, Buffer: v.buffer[:0]}
	v.exchange = Exchange{Method: r.Method, Path: mask.URL(requestURI(r))}
	v.route.Vars = v.vars
	return v
}

// free empties the visit for another request.
func (v *visit) free() {
	clear(v.vars)
	clear(v.query)
	*v = visit{vars: v.vars, query: v.query}
	visitPool.Put(v)
}

// requestURI is r.URL.RequestURI without its allocation, if the client sent the same text.
func requestURI(r *http.Request) string {
	path, query, ok := strings.Cut(r.RequestURI, "?")
	if ok && query != "" && query == r.URL.RawQuery && path == r.URL.EscapedPath() {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// serve takes a request through the pipeline (see the package comment).
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	v := newVisit(r)
	defer v.free()
	c, x := &v.call, &v.exchange
	gate.Allow(w.Header(), r)
	defer func() { s.incoming.Release(c.Taken) }() // whatever keeps the body has counted it by now
	defer s.endTurn(c)
	out, err := s.respond(w, v)
	if errors.Is(err, request.ErrAnswered) {
		return
	}
	if err != nil {
		out = s.failed(c, err, x)
	}
	s.fleet.Part(w, r)
	s.touch(c)
	func() {
		defer s.record(c, x) // also if the connection is ended on purpose
		s.write(w, c, out, x)
	}()
	s.tellRequest(c, x, err)
	if !isProbe(c) {
		s.relieve()
	}
}

// touch notifies followers of the accounts of a command that they have changed;
// the log reports messages itself.
func (s *Server) touch(c *request.Call) {
	if c.Op == nil || c.Tenant == nil || c.Op.Method == http.MethodGet || c.Op.Hot {
		return
	}
	for _, w := range c.Chosen(s.tenants) {
		w.Touch()
	}
}

// respond finds the operation and runs its handler.
func (s *Server) respond(w http.ResponseWriter, v *visit) (out response.Response, err error) {
	c, x := &v.call, &v.exchange
	defer func() {
		fault := recover()
		if fault == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it; another server of the fleet did not complete its response
			panic(fault)
		}
		if fault != nil {
			s.cfg.Log.Error("handler panicked", "operation", x.OperationID, "panic", fault, "stack", string(debug.Stack()))
			out, err = response.Response{}, fmt.Errorf("panic: %v", fault)
		}
	}()
	s.neutralise(c)
	if c.Request.Method == http.MethodOptions {
		return s.options(c)
	}
	found, vars, err := s.match(v)
	if err != nil {
		return response.Response{}, err
	}
	c.Op, c.Vars = found.op, vars
	answerHead(c)
	x.OperationID = c.Op.ID
	if err := s.gate.Change(c); err != nil {
		return response.Response{}, err
	}
	if err := s.gate.Delivery(c); err != nil {
		return response.Response{}, err
	}
	admitted := s.gate.Admit(c)
	if admitted != nil {
		if others, _ := s.fleet.Refresh(c.Request.Context()); others { // the account may be new
			admitted = s.gate.Admit(c)
		}
	}
	if err := s.foreign(c); err != nil { // before the result of admit: the credential may have a name of another dialect
		return response.Response{}, err
	}
	if admitted != nil {
		if s.tenants.Auto() && c.Named.Dialect == nil {
			c.Dialect = s.tenants.Usual(s.tenants.First())
		}
		return response.Response{}, admitted
	}
	for {
		if err := s.fleet.Place(w, c); err != nil {
			return response.Response{}, err
		}
		if out, err = s.act(w, c, found); !errors.Is(err, tenant.ErrLeaves) {
			return out, err
		}
		c.Body = c.SentBody
	}
}

// act checks the request and runs the handler.
func (s *Server) act(w http.ResponseWriter, c *request.Call, found route) (response.Response, error) {
	s.speak(c)
	var fault response.Response
	faulty := false
	if !c.AsTester {
		if fault, faulty = s.gate.Fault(c); faulty && !fault.Executed {
			return fault, nil
		}
		s.serialize(c)
	}
	if err := s.readBody(w, c); err != nil {
		return response.Response{}, err
	}
	c.SentBody = c.Body
	if err := s.neutraliseBody(c); err != nil {
		return response.Response{}, err
	}
	if c.Op.BodyJSON {
		c.Body = c.Op.WithoutNulls(c.Body)
	}
	if problems := c.Op.CheckRequest(c.Request, c.Vars, c.Query, c.Body); len(problems) > 0 {
		return response.Response{}, response.Refused(problems)
	}
	if err := c.CheckStatuses(); err != nil {
		return response.Response{}, err
	}
	for _, p := range c.Op.IgnoredFilters(c.Query) {
		c.Warnings = append(c.Warnings, response.BrandedProblem(c.Dialect, p).String())
	}
	if err := s.takeTurn(c); err != nil {
		return response.Response{}, err
	}
	body, err := found.handler(s, c)
	if err == nil && c.Op.Area == "control_url" && c.Op.Method != http.MethodGet {
		err = s.keep(c)
	}
	if faulty && err == nil {
		return fault, nil
	}
	return response.Of(body), err
}

// answerHead answers HEAD as GET; net/http drops the body.
func answerHead(c *request.Call) {
	if c.Request.Method == http.MethodHead {
		r := *c.Request
		r.Method = http.MethodGet
		c.Request, c.Head = &r, true
	}
}

// keep makes changes of a control call durable that are not part of the state
// of an account, such as stubs and faults.
func (s *Server) keep(c *request.Call) error {
	var changed []*tenant.Tenant
	switch {
	case c.Op.Large: // a document of all accounts
		changed = s.tenants.All()
	case c.Tenant != nil:
		changed = c.Chosen(s.tenants)
	}
	for _, t := range changed {
		if err := s.tenants.Keep(c.Request.Context(), t); err != nil {
			return err
		}
	}
	return nil
}

// noQuery is shared by all requests without a query, and must not be changed.
var noQuery = url.Values{}

// maxDocument is the largest snapshot or fixture file, in bytes.
const maxDocument = 4 << 30

// trustedLength is the largest Content-Length, in bytes, for which the whole
// buffer is allocated at once. A longer body grows its buffer as it arrives, so
// that a false length costs nothing.
const trustedLength = 16 << 20

// readBody reads the body of a call, at most once.
func (s *Server) readBody(w http.ResponseWriter, c *request.Call) (err error) {
	if c.Body != nil {
		return nil
	}
	limit := s.cfg.MaxBody
	if c.Op.Large {
		limit = max(limit, maxDocument)
	}
	c.Body, err = s.read(w, c, limit)
	return err
}

// read reads the body, at most limit bytes.
func (s *Server) read(w http.ResponseWriter, c *request.Call, limit int64) ([]byte, error) {
	r := c.Request
	if r.ContentLength == 0 || r.Body == nil {
		return nil, nil
	}
	length := min(r.ContentLength, limit)
	if length > trustedLength {
		length = -1
	}
	var from io.Reader = r.Body
	if r.ContentLength < 0 || r.ContentLength > limit { // otherwise net/http stops at the announced length
		from = http.MaxBytesReader(w, r.Body, limit)
	}
	if !c.Op.Large && (length < 0 || length > request.SmallBody) {
		from = &metered{from, s.incoming, &c.Taken, request.SmallBody}
	}
	body, err := request.ReadAll(from, length)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, response.TooLarge(limit)
	}
	if errors.Is(err, engine.ErrFull) {
		return nil, err
	}
	if known, ok := errors.AsType[*response.Error](err); ok {
		return nil, known
	}
	if err != nil {
		return nil, response.Invalid("body: could not be read: " + err.Error())
	}
	return body, nil
}

// failed builds the response to an error, and records it in the exchange.
func (s *Server) failed(c *request.Call, err error, x *Exchange) response.Response {
	e := response.Failure(inQuery(c, err))
	if e.Internal() {
		s.cfg.Log.Error("request failed", "operation", x.OperationID, "error", err)
	}
	e = response.Branded(c.Dialect, e)
	for _, p := range e.Problems {
		x.Problems = append(x.Problems, strings.TrimSpace(e.Place+" "+p.String()))
	}
	if len(x.Problems) == 0 {
		x.Problems = []string{e.Error()}
	}
	out := e.Response(c.Request, c.Asked != "" || c.Op != nil && c.Op.Area == "vector_url")
	s.linkHelp(out.Header, e.Error())
	return out
}

// inQuery names the place of a value that the engine has refused: a parameter of the
// query, such as cursor.
func inQuery(c *request.Call, err error) error {
	if wrong, ok := err.(*refusal.Error); ok && wrong.Place == "" && wrong.Want != "" && c.Query.Has(wrong.What) { //nolint:errorlint // what is wrapped has a place
		placed := *wrong
		placed.Place = "query " + wrong.What
		placed.What = ""
		return &placed
	}
	return err
}

// linkHelp links the section of the documentation that explains a text, if there
// is one (RFC 8288): the page and the commands show the link beside the text.
func (s *Server) linkHelp(h http.Header, text string) {
	if s.parts.Explain == nil {
		return
	}
	if section := s.parts.Explain(text); section != "" {
		h.Set("Link", "<"+section+`>; rel="help"`)
	}
}

// write checks the response against the OpenAPI document, and sends it with the
// names of the dialect.
func (s *Server) write(w http.ResponseWriter, c *request.Call, out response.Response, x *Exchange) {
	if out.Stream != nil {
		s.endTurn(c)
		ctx, cancel := context.WithCancel(c.Request.Context())
		defer cancel()
		if c.Head {
			cancel() // ends a stream of events after its headers
		}
		out.Stream(w, c.Request.WithContext(ctx)) // may end the connection without an answer
		x.Response.Status = http.StatusOK
		return
	}
	if out.Status == 0 && c.Op != nil {
		out.Status = c.Op.Success
	}
	out.Status = cmp.Or(out.Status, http.StatusOK) // the document declares no status
	body, err := out.Encode()
	if err != nil {
		s.cfg.Log.Error("answer cannot be encoded", "operation", x.OperationID, "error", err)
		out.Status, body = response.Unencodable()
	}
	h := w.Header()
	maps.Copy(h, c.Dialect.BrandHeader(out.Header))
	if h.Get("Content-Type") == "" && len(body) > 0 {
		h["Content-Type"] = jsonType
	}
	if len(c.Warnings) > 0 {
		h.Set(c.Dialect.HeaderPrefix+"Warning", c.Warning())
		s.linkHelp(h, c.Warning())
	}
	if c.Op != nil && !s.cfg.SkipResponseCheck && !out.Scripted {
		problems := c.Op.CheckResponse(out.Status, h, body)
		if !c.Op.Declares(out.Status) && !response.Internal(out.Status) {
			problems = append(problems, spec.Problem{In: "response", Rule: "status", Message: fmt.Sprintf("status %d is not declared", out.Status)})
		}
		if len(problems) > 0 {
			s.violation(c.Op.ID, problems)
		}
	}
	if strings.HasPrefix(h.Get("Content-Type"), "application/json") && namesHeaders(c) {
		body = c.Dialect.BrandJSON(body)
	}
	if isControl(c) && !slices.Contains(unmaskedOperations, c.Op.ID) {
		body = mask.JSON(body)
	}
	if len(body) <= request.SmallBody {
		s.endTurn(c)
	}
	x.Response = Message{Status: out.Status, Header: h, Body: body}
	w.WriteHeader(out.Status)
	_, _ = w.Write(body) // the client may have disconnected
}

// jsonType is shared by all responses, and must not be changed.
var jsonType = []string{"application/json"}

// unmaskedOperations are the control operations whose responses contain
// credentials on purpose: they hand them out, the caller writes them back, or
// the interface itself answers. In all other responses credentials are masked;
// journals contain none, see hide. Sorted.
var unmaskedOperations = []string{
	"asDelete", "asGet", "asPatch", "asPost", "asPut",
	"controlAccount", "controlAddStub", "controlAwait", "controlDeliveries", "controlFaults", "controlPutAccount", "controlRequests", "controlRewrites",
	"controlSetFaults", "controlSetRewrites", "controlSetStubs", "controlStubs",
}

// payloadAreas are the areas whose bodies are data of clients: they are shown
// unchanged.
var payloadAreas = []string{"kv_url", "vector_url"}

// record puts the exchange into the journal of its account.
func (s *Server) record(c *request.Call, x *Exchange) {
	if isControl(c) || x.Method == http.MethodOptions {
		return
	}
	home := cmp.Or(c.Tenant, s.tenants.First())
	x.At, x.Account = s.tenants.Stamp(home), home.ID
	x.Request = Message{Header: c.Sent, Body: c.SentBody} // with the names that the client sent
	for i, text := range x.Problems {
		x.Problems[i] = mask.Text(text)
	}
	if op := c.Op; op == nil || !slices.Contains(payloadAreas, op.Area) {
		x.MarkDocuments(op != nil && op.BodyJSON, true)
	}
	redactExchange(c, x)
	home.Record(x)
}

// isControl reports whether a call is one of the tester, and not one of a client or of the
// application to an outside service.
func isControl(c *request.Call) bool {
	return c.Op != nil && c.Op.Area == "control_url" && !strings.HasPrefix(c.Op.ID, "outside")
}

// redactExchange redacts what the journal keeps of a request that publishes redacted messages. The
// body of a request for several messages contains headers too; the response to a GET contains
// what it reads. Of a request that was refused, the redaction may be unknown.
func redactExchange(c *request.Call, x *Exchange) {
	r := c.Redact
	if id := c.Vars["workflowRunId"]; id != "" && c.Tenant != nil {
		r = r.And(c.Tenant.Account.Redaction(id, ""))
	}
	if r == nil && len(x.Problems) > 0 && namesRedaction(c) {
		r = &engine.Redaction{Body: true, Headers: true}
	}
	if r == nil {
		return
	}
	x.Request.Header = http.Header(r.Header(engine.Header(x.Request.Header), wire.Format{}.Carries))
	if c.Op != nil && c.Op.BodyJSON {
		r = r.And(&engine.Redaction{Body: true})
	}
	x.Request.Body = r.Content(x.Request.Body)
	if x.Method == http.MethodGet {
		x.Response.Body = r.Content(x.Response.Body)
	}
}

// namesRedaction reports whether a request asks for a redaction, in any dialect.
func namesRedaction(c *request.Call) bool {
	const option = "redact-fields"
	for name := range c.Sent {
		if strings.Contains(strings.ToLower(name), option) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(c.SentQuery), option) || bytes.Contains(bytes.ToLower(c.SentBody), []byte(option))
}

// serialize makes a seeded server deterministic: a request is handled only
// after everything that earlier requests caused has ended. It does not wait for
// a call to a real destination, because that destination may have made this
// request: tests call settle between commands that must not overlap with that
// call.
func (s *Server) serialize(c *request.Call) {
	if isProbe(c) {
		return
	}
	tenants := []*tenant.Tenant{c.Tenant}
	if c.Op.Area == "control_url" {
		tenants = s.tenants.All()
	}
	for _, w := range tenants {
		if !s.tenants.Repeats(w) {
			continue
		}
		ctx, cancel := c.Tenant.WhileHere(c.Request.Context())
		if w.Outside.Tell(cancel) {
			_ = w.Account.Settle(ctx) // ends early when an attempt calls a real destination
		}
		w.Outside.Forget()
		cancel()
	}
}

// probeOperations are the operations that monitors call. They never wait for an account. Sorted.
var probeOperations = []string{"controlHealth", "controlLivez", "controlMetrics", "controlReadyz"}

// isProbe reports whether a call is one of probeOperations.
func isProbe(c *request.Call) bool { return c.Op != nil && slices.Contains(probeOperations, c.Op.ID) }

// tellFailure logs a failed attempt and what follows from it, with the time of the account. An
// attempt that will be retried has the level info, a final failure has the level warn.
func (s *Server) tellFailure(w *tenant.Tenant, f engine.FailedAttempt) {
	level, text := slog.LevelWarn, "message failed, in the DLQ"
	switch {
	case f.Wait > 0:
		level, text = slog.LevelInfo, "attempt failed"
	case f.Message.DecidesRun():
		text = "run failed, in the DLQ"
	case f.DLQID == "":
		text = "call of a run failed"
	}
	log := s.cfg.Log
	if !log.Enabled(context.Background(), level) { // skips the work for the text under a load of failures
		return
	}
	m := f.Message
	view, id := "messages/"+m.ID, slog.String("message", m.ID)
	if m.RunID != "" {
		view, id = "runs/"+m.RunID, slog.String("run", m.RunID)
	}
	line := slog.NewRecord(f.At.UTC(), level, text, 0)
	line.AddAttrs(slog.String("why", m.CauseOf(f.Outcome)), slog.String("url", mask.URL(m.URL)), id)
	if m.Role == engine.RoleCallback || m.Role == engine.RoleFailureCallback {
		line.AddAttrs(slog.String("role", string(m.Role)))
	}
	if f.Wait > 0 {
		line.AddAttrs(slog.Duration("in", f.Wait))
	}
	if f.DLQID != "" {
		line.AddAttrs(slog.String("dlq", f.DLQID))
	}
	line.AddAttrs(slog.String("page", s.pageURL(w, view)))
	_ = log.Handler().Handle(context.Background(), line) // nobody can be told
}

// pageURL is the URL of a view of the web page.
func (s *Server) pageURL(w *tenant.Tenant, view string) string {
	at := s.URL() + "/_understudy/ui/" + view
	if w.ID != s.cfg.Accounts[0].ID {
		at += "?account=" + url.QueryEscape(w.ID)
	}
	return at
}

// tellRequest logs a request that was refused, or whose answer has a warning, except for the
// page's own calls.
func (s *Server) tellRequest(c *request.Call, x *Exchange, err error) {
	text, reason, status := "request accepted with a warning", c.Warning(), 0
	if err != nil {
		e := response.Branded(c.Dialect, response.Failure(err))
		text, reason, status = "request refused", e.Error(), e.Status
		if !e.Refusal() {
			return // failures of the server itself are logged elsewhere
		}
	}
	log := s.cfg.Log
	if reason == "" || !log.Enabled(context.Background(), slog.LevelWarn) || c.Request.Context().Value(forPage{}) != nil {
		return
	}
	w := cmp.Or(c.Tenant, s.tenants.First())
	line := slog.NewRecord(s.tenants.Glance(w).UTC(), slog.LevelWarn, text, 0)
	line.AddAttrs(slog.String("reason", reason), slog.String("method", x.Method), slog.String("path", response.Shorten(x.Path)))
	if status > 0 {
		line.AddAttrs(slog.Int("status", status))
	}
	if c.Op == nil || c.Op.Area != "control_url" { // the page does not list calls of the control API
		line.AddAttrs(slog.String("page", s.pageURL(w, "requests")))
	}
	_ = log.Handler().Handle(context.Background(), line) // nobody can be told
}

// originalHeader names the message that a publish by the tester repeats with changes.
const originalHeader = "Understudy-Original-Message"

// as calls an operation of the interface as an account on behalf of the tester:
// it needs no credentials, no faults apply, and the journal of requests does
// not record it, because that journal is for what clients do.
func (s *Server) as(c *request.Call) (any, error) {
	w := s.tenants.ByID(c.Vars["account"])
	if w == nil {
		return nil, refusal.Of(refusal.NotFound, "account", c.Vars["account"], "not found")
	}
	r := c.Request.Clone(c.Request.Context())
	r.Header = c.Sent.Clone()
	escaped := r.URL.EscapedPath()
	_, escaped, _ = strings.Cut(strings.TrimPrefix(escaped, "/_understudy/as/"), "/")
	u := url.URL{RawPath: "/" + escaped, RawQuery: c.SentQuery}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil, response.Invalid("path " + response.Shorten(escaped) + ": must be the path of an operation, such as v2/dlq")
	}
	r.URL, r.ContentLength = &u, int64(len(c.Body))
	probe := &visit{call: request.Call{Request: r}}
	s.neutralise(&probe.call)
	found, _, err := s.match(probe)
	if err != nil {
		return nil, err
	}
	if found.op.Area == "control_url" {
		return nil, response.Invalid("path " + response.Shorten(u.Path) + ": an operation of the control API; it takes ?account=" + w.ID)
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Hx-") || strings.HasPrefix(name, "Sec-") {
			r.Header.Del(name)
		}
	}
	r.Header.Set("Authorization", w.Authorization(found.op.Area, probe.call.Asked))
	visit := &visit{call: request.Call{Request: r, AsTester: true, Body: c.Body, Original: r.Header.Get(originalHeader)}}
	r.Header.Del(originalHeader)
	inner := &visit.call
	out, err := s.respond(nil, visit)
	c.Turn = inner.Turn // until the response has been sent
	c.Dialect, c.Warnings = inner.Dialect, inner.Warnings
	if inner.Op != nil && out.Status == 0 {
		out.Status = inner.Op.Success
	}
	return out, err
}
