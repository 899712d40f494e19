package mockserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// A server without Config.Dialect speaks every built-in dialect. The names of
// a request tell its dialect, and what the request creates speaks the same for
// as long as it lives. A request without such names follows the account: the
// dialect of the first request that had some, the neutral one before that.

// auto reports whether requests choose the dialect.
func (s *Server) auto() bool { return s.cfg.Dialect == nil }

// home is the dialect of a server that nobody has spoken to.
func (s *Server) home() *spec.Dialect { return s.dialects[0] }

// HeaderPrefix begins the configuration headers of a server that nobody has
// spoken to.
func (s *Server) HeaderPrefix() string { return s.home().HeaderPrefix }

// dialectName is what the server says of itself.
func (s *Server) dialectName() string {
	if s.auto() {
		return spec.Auto
	}
	return s.home().Name
}

// spoken are the dialects of the server: the configured one, or all.
func (s *Server) spoken() spec.Dialects {
	if s.auto() {
		return s.dialects
	}
	return s.dialects[:1]
}

// usual is the dialect of an account, for what has no names of its own.
func (s *Server) usual(w *tenant) *spec.Dialect {
	if first := w.first.Load(); first != nil && s.auto() {
		return first
	}
	return s.home()
}

// dialectOf is the dialect of what an account holds, by the name that is kept
// with it.
func (s *Server) dialectOf(w *tenant, name string) *spec.Dialect {
	if d := s.dialects.Named(name); name != "" && d != nil {
		return d
	}
	return s.usual(w)
}

// headerName is a header of the account as clients of a dialect know it.
func (s *Server) headerName(w *tenant) func(dialect, name string) string {
	return func(dialect, name string) string {
		return s.dialectOf(w, dialect).HeaderPrefix + strings.TrimPrefix(name, header.Prefix)
	}
}

// neutralise finds the dialect of a request and takes its names out.
func (s *Server) neutralise(c *call) {
	c.sent, c.sentQuery = c.request.Header, c.request.URL.RawQuery
	c.named, c.mixed = s.dialects.OfRequest(c.request.Header, c.request.URL.RawQuery)
	c.dialect = s.home()
	if s.auto() && c.named.Dialect != nil && c.mixed == nil {
		c.dialect = c.named.Dialect
	}
	d := c.dialect
	h, query := d.NeutralHeader(c.request.Header), d.NeutralQuery(c.request.URL.RawQuery)
	if d.HeaderPrefix != header.Prefix || query != c.request.URL.RawQuery {
		r, u := *c.request, *c.request.URL
		u.RawQuery = query
		r.URL, r.Header = &u, h
		c.request = &r
	}
	c.indexPath()
	c.header, c.raw, c.query = h, query, noQuery
	if query != "" {
		c.query = c.request.URL.Query()
	}
}

// foreign refuses names that the server does not speak, or that do not belong
// together. Control calls show names of clients as they were sent.
func (s *Server) foreign(c *call) error {
	if c.op.Area == "control_url" {
		return nil
	}
	if c.mixed != nil {
		return response.MixedDialects(c.mixed.Error())
	}
	if d := c.named.Dialect; d != nil && !s.auto() && d != s.home() {
		return response.MixedDialects(fmt.Sprintf("%s belongs to the dialect %s: this server speaks %s, where it is %s; --dialect auto accepts both",
			c.named, d.Name, s.home().Name, c.named.As(s.home())))
	}
	return nil
}

// speak settles the dialect of an admitted call: the account remembers the
// first that was spoken, and a call without names follows the account.
func (s *Server) speak(c *call) {
	if c.op.Area == "control_url" {
		c.dialect = s.neutral // its names are its own
		return
	}
	if !s.auto() {
		return
	}
	if c.named.Dialect == nil {
		c.dialect = s.unnamed(c)
	} else if !c.asTester && c.op.Area != "kv_url" { // whose store checks its token itself
		c.tenant.first.CompareAndSwap(nil, c.named.Dialect)
	}
}

// queryToken is the token in the query, also under the name that another
// dialect has for it: such a call is refused for the name, in its account.
func (s *Server) queryToken(c *call) []string {
	token := c.query[s.neutral.TokenQuery]
	for _, d := range s.dialects {
		if len(token) == 0 {
			token = c.query[d.TokenQuery]
		}
	}
	return token
}

// unnamed is the dialect of a call without names: that of its path or its
// development token where only one has them, else that of the account.
func (s *Server) unnamed(c *call) *spec.Dialect {
	if c.asTester {
		return s.usual(c.tenant)
	}
	token := bearerToken(c.header)
	for _, d := range s.dialects {
		if d != s.home() && (token == d.Token || slices.ContainsFunc(d.Paths, func(start string) bool { return strings.HasPrefix(c.request.URL.Path, start) })) {
			return d
		}
	}
	return s.usual(c.tenant)
}

// namesHeaders reports whether bodies of the operation may name headers; those
// of the vector index and the key-value store are the client's own.
func (c *call) namesHeaders() bool {
	return c.op == nil || c.op.Area != "vector_url" && c.op.Area != "kv_url"
}

// neutraliseBody takes the dialect's names out of the headers in a JSON body,
// which may be the first to tell the dialect.
func (s *Server) neutraliseBody(c *call) error {
	if !c.op.BodyJSON || c.op.Area == "control_url" || !c.namesHeaders() {
		return nil
	}
	inBody, err := s.dialects.OfBody(c.body)
	if err == nil && inBody.Dialect != nil {
		if c.named, err = c.named.And(inBody); err == nil {
			c.dialect = c.named.Dialect
		}
	}
	c.mixed = err
	if err := s.foreign(c); err != nil {
		return err
	}
	s.speak(c)
	c.body = c.dialect.NeutralJSON(c.body)
	return nil
}

// inDialect is a part of an answer of the control API in the dialect of what it
// shows.
func inDialect(d *spec.Dialect, v any) any {
	if d.HeaderPrefix == header.Prefix {
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return v // whose error the answer reports
	}
	return json.RawMessage(d.BrandJSON(text))
}

func brandHeader(d *spec.Dialect, h engine.Header) engine.Header {
	return engine.Header(d.BrandHeader(http.Header(h)))
}

// shareDevelopmentAccount lets the development token of every dialect open the
// default account. Its signing keys are those of each dialect, see
// spec.Dialect.SigningKey.
func (s *Server) shareDevelopmentAccount() {
	first := s.first()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dialects {
		s.tokens[digestOf(d.Token)] = first
	}
}

// tokenOf is the token of an account in a dialect: its own, or the development
// token that opens it as well.
func (s *Server) tokenOf(w *tenant, d *spec.Dialect) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens[digestOf(d.Token)] == w {
		return d.Token
	}
	return w.Token
}

// byID is the account with an id, or with the user id in the development token
// of a dialect, which clients read.
func (s *Server) byID(id string) *tenant {
	if w := s.find(func(w *tenant) bool { return w.ID == id }); w != nil {
		return w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.spoken() {
		if d.UserID == id {
			return s.tokens[digestOf(d.Token)]
		}
	}
	return nil
}

// settleDialects completes saved accounts of a server that spoke one dialect
// only: the development account of a dialect is the shared one here, and speaks
// that dialect.
func (s *Server) settleDialects(accounts []*savedAccount) {
	for _, d := range s.dialects {
		i := slices.IndexFunc(accounts, func(a *savedAccount) bool { return a.id == d.UserID && a.token == d.Token })
		if i < 0 || d == s.home() {
			continue
		}
		accounts[i].dialect = cmp.Or(accounts[i].dialect, d.Name)
		first := s.first()
		both := slices.ContainsFunc(accounts, func(a *savedAccount) bool { return a.id == first.ID })
		if s.tokenOf(first, d) == d.Token && !both {
			accounts[i].id, accounts[i].token = first.ID, first.Token
		}
	}
}
