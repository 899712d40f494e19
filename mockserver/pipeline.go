package mockserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/origin"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// serve takes a request through all stations.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{Method: r.Method, Path: mask.URL(r.URL.RequestURI())}
	c := &call.Call{Request: r}
	origin.Allow(w.Header(), r)
	out, err := s.respond(w, c, x)
	if err != nil {
		out = s.failed(c, err, x)
	}
	defer func() { s.incoming.Release(c.Taken) }() // by now the body is counted by whoever keeps it
	defer s.endTurn(c)
	s.touch(c)
	s.write(w, c, out, x)
	s.record(c, x)
	s.tellRequest(c, x, err)
	s.relieve()
}

// touch tells whoever follows the accounts of a command that they have changed;
// the log tells of messages itself.
func (s *Server) touch(c *call.Call) {
	if c.Op == nil || c.Tenant == nil || c.Op.Method == http.MethodGet || c.Op.Hot {
		return
	}
	for _, w := range c.Chosen(s.tenants) {
		w.Account.Touch()
	}
}

// respond finds the operation and runs its handler.
func (s *Server) respond(w http.ResponseWriter, c *call.Call, x *Exchange) (out response.Response, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s.cfg.Log.Error("handler panicked", "operation", x.OperationID, "panic", fault, "stack", string(debug.Stack()))
			out, err = response.Response{}, fmt.Errorf("panic: %v", fault)
		}
	}()
	s.neutralise(c)
	if c.Request.Method == http.MethodOptions {
		return s.options(c)
	}
	found, vars, err := s.match(c.Request)
	if err != nil {
		return response.Response{}, err
	}
	c.Op, c.Vars = found.op, vars
	if c.Request.Method == http.MethodHead { // its body is dropped by net/http
		r := *c.Request
		r.Method = http.MethodGet
		c.Request, c.Head = &r, true
	}
	x.OperationID = c.Op.ID
	if err := s.admitDelivery(c); err != nil {
		return response.Response{}, err
	}
	admitted := s.admit(c)
	if err := s.foreign(c); err != nil { // first: the credential may have a name of another dialect
		return response.Response{}, err
	}
	if admitted != nil {
		return response.Response{}, admitted
	}
	s.speak(c)
	if !c.AsTester {
		if out, faulty := s.faulty(c); faulty {
			return out, nil
		}
		s.serialize(c)
	}
	limit := s.cfg.MaxBody
	if c.Op.Large {
		limit = max(limit, maxDocument)
	}
	if c.Body, err = s.read(w, c, limit); err != nil {
		return response.Response{}, err
	}
	c.SentBody = c.Body
	if err := s.neutraliseBody(c); err != nil {
		return response.Response{}, err
	}
	if c.Op.BodyJSON {
		c.Body = c.Op.WithoutNulls(c.Body)
	}
	if problems := c.Op.CheckRequest(c.Request, c.Vars, c.Body); len(problems) > 0 {
		return response.Response{}, response.Refused(problems)
	}
	for _, p := range c.Op.IgnoredFilters(c.Query) {
		c.Warnings = append(c.Warnings, response.BrandedProblem(c.Dialect, p).String())
	}
	if err := s.takeTurn(c); err != nil {
		return response.Response{}, err
	}
	return found.handler(s, c)
}

// noQuery is never written to.
var noQuery = url.Values{}

// admit authenticates the call.
func (s *Server) admit(c *call.Call) error {
	if c.Op.Area == "control_url" {
		return s.admitControl(c)
	}
	w, err := s.authenticate(c)
	if err != nil {
		return err
	}
	if c.Op.Area == "kv_url" {
		w = s.kvTenant(c)
	}
	if w != nil && w.Public && !c.AsTester {
		if err := s.admitPublic(c); err != nil {
			return err
		}
	}
	if w == nil {
		w = s.tenants.First()
	}
	c.Tenant, c.Account = w, w.Account
	if c.Op.Area == "vector_url" {
		return s.openVector(c)
	}
	return nil
}

// maxDocument is the largest snapshot or fixture file, in bytes.
const maxDocument = 4 << 30

// trustedLength is up to which claimed length room is made at once.
const trustedLength = 16 << 20

// read takes the body, up to the limit.
func (s *Server) read(w http.ResponseWriter, c *call.Call, limit int64) ([]byte, error) {
	r := c.Request
	if r.ContentLength == 0 || r.Body == nil {
		return nil, nil
	}
	length := min(r.ContentLength, limit)
	if length > trustedLength {
		length = -1
	}
	var from io.Reader = http.MaxBytesReader(w, r.Body, limit)
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

// failed makes the answer to an error.
func (s *Server) failed(c *call.Call, err error, x *Exchange) response.Response {
	e := response.Failure(err)
	if e.Internal() {
		s.cfg.Log.Error("request failed", "operation", x.OperationID, "error", err)
	}
	for _, p := range e.Problems {
		x.Problems = append(x.Problems, strings.TrimSpace(e.Place+" "+p.String()))
	}
	if len(x.Problems) == 0 {
		x.Problems = []string{e.Error()}
	}
	return response.Branded(c.Dialect, e).Response(c.Request, c.Asked != "" || c.Op != nil && c.Op.Area == "vector_url")
}

// write sends the answer, in the dialect's names, after holding it to the document.
func (s *Server) write(w http.ResponseWriter, c *call.Call, out response.Response, x *Exchange) {
	if out.Stream != nil {
		s.endTurn(c)
		x.Response.Status = http.StatusOK
		ctx, cancel := context.WithCancel(c.Request.Context())
		defer cancel()
		if c.Head {
			cancel() // a stream that follows something ends after its headers
		}
		out.Stream(w, c.Request.WithContext(ctx))
		return
	}
	if out.Status == 0 && c.Op != nil {
		out.Status = c.Op.Success
	}
	out.Status = cmp.Or(out.Status, http.StatusOK) // the document names none
	body, err := response.Encode(out.Body)
	if err != nil {
		s.cfg.Log.Error("answer cannot be encoded", "operation", x.OperationID, "error", err)
		out.Status, body = response.Unencodable()
	}
	h := w.Header()
	maps.Copy(h, c.Dialect.BrandHeader(out.Header))
	if h.Get("Content-Type") == "" && len(body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	if len(c.Warnings) > 0 {
		h.Set(c.Dialect.HeaderPrefix+"Warning", c.Warning())
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
	if c.Op != nil && c.Op.Area == "control_url" && !slices.Contains(unmaskedOperations, c.Op.ID) {
		body = mask.JSON(body)
	}
	if len(body) <= request.SmallBody {
		s.endTurn(c)
	}
	x.Response = Message{Status: out.Status, Header: h, Body: body}
	w.WriteHeader(out.Status)
	_, _ = w.Write(body) // the client may be gone
}

// unmaskedOperations are the answers of the control API that hold credentials on purpose: to
// hand them out, to be changed and written back, or because the interface itself
// answers. Those of journals hold none, see hide. Sorted.
var unmaskedOperations = []string{
	"asDelete", "asGet", "asPatch", "asPost", "asPut",
	"controlAccount", "controlAddStub", "controlAwait", "controlDeliveries", "controlFaults", "controlPutAccount", "controlRequests", "controlRewrites",
	"controlSetFaults", "controlSetRewrites", "controlSetStubs", "controlStubs",
}

// payloadAreas are the areas whose documents are what clients store, and no
// documents of the interface: they are shown as they are.
var payloadAreas = []string{"kv_url", "vector_url"}

// record puts the exchange into the journal of its account.
func (s *Server) record(c *call.Call, x *Exchange) {
	if c.Op != nil && c.Op.Area == "control_url" || x.Method == http.MethodOptions {
		return
	}
	home := c.Tenant
	if home == nil {
		home = s.tenants.First()
	}
	x.At, x.Account = s.tenants.Stamp(home), home.ID
	x.Request = Message{Header: c.Sent, Body: c.SentBody} // the names that were sent
	for i, text := range x.Problems {
		x.Problems[i] = mask.Text(text)
	}
	if op := c.Op; op == nil || !slices.Contains(payloadAreas, op.Area) {
		x.MarkDocuments(op != nil && op.BodyJSON, true)
	}
	home.Requests.Add(*x)
}
