package mockserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// HeaderPrefix begins the configuration headers of a server that nobody has
// spoken to.
func (s *Server) HeaderPrefix() string { return s.tenants.Home().HeaderPrefix }

// neutralise finds the dialect of a request and takes its names out.
func (s *Server) neutralise(c *call.Call) {
	c.Sent, c.SentQuery = c.Request.Header, c.Request.URL.RawQuery
	c.Named, c.Mixed = s.tenants.Dialects().OfRequest(c.Request.Header, c.Request.URL.RawQuery)
	c.Dialect = s.tenants.Home()
	if s.tenants.Auto() && c.Named.Dialect != nil && c.Mixed == nil {
		c.Dialect = c.Named.Dialect
	}
	d := c.Dialect
	h, query := d.NeutralHeader(c.Request.Header), d.NeutralQuery(c.Request.URL.RawQuery)
	if d.HeaderPrefix != header.Prefix || query != c.Request.URL.RawQuery {
		r, u := *c.Request, *c.Request.URL
		u.RawQuery = query
		r.URL, r.Header = &u, h
		c.Request = &r
	}
	indexPath(c)
	c.Header, c.Raw, c.Query = h, query, noQuery
	if query != "" {
		c.Query = c.Request.URL.Query()
	}
}

// foreign refuses names that the server does not speak, or that do not belong
// together. Control calls show names of clients as they were sent.
func (s *Server) foreign(c *call.Call) error {
	if c.Op.Area == "control_url" {
		return nil
	}
	if c.Mixed != nil {
		return response.MixedDialects(c.Mixed.Error())
	}
	if d := c.Named.Dialect; d != nil && !s.tenants.Auto() && d != s.tenants.Home() {
		return response.MixedDialects(fmt.Sprintf("%s belongs to the dialect %s: this server speaks %s, where it is %s; --dialect auto accepts both",
			c.Named, d.Name, s.tenants.Home().Name, c.Named.As(s.tenants.Home())))
	}
	return nil
}

// speak settles the dialect of an admitted call: the account remembers the
// first that was spoken, and a call without names follows the account.
func (s *Server) speak(c *call.Call) {
	if c.Op.Area == "control_url" {
		c.Dialect = s.neutral // its names are its own
		return
	}
	if !s.tenants.Auto() {
		return
	}
	if c.Named.Dialect == nil {
		c.Dialect = s.unnamed(c)
	} else if !c.AsTester && c.Op.Area != "kv_url" { // whose store checks its token itself
		c.Tenant.Speak(c.Named.Dialect)
	}
}

// queryToken is the token in the query, also under the name that another
// dialect has for it: such a call is refused for the name, in its account.
func (s *Server) queryToken(c *call.Call) []string {
	token := c.Query[s.neutral.TokenQuery]
	for _, d := range s.tenants.Dialects() {
		if len(token) == 0 {
			token = c.Query[d.TokenQuery]
		}
	}
	return token
}

// unnamed is the dialect of a call without names: that of its path or its
// development token where only one has them, else that of the account.
func (s *Server) unnamed(c *call.Call) *spec.Dialect {
	if c.AsTester {
		return s.tenants.Usual(c.Tenant)
	}
	token := call.BearerToken(c.Header)
	for _, d := range s.tenants.Dialects() {
		if d != s.tenants.Home() && (token == d.Token || slices.ContainsFunc(d.Paths, func(start string) bool { return strings.HasPrefix(c.Request.URL.Path, start) })) {
			return d
		}
	}
	return s.tenants.Usual(c.Tenant)
}

// namesHeaders reports whether bodies of the operation may name headers; those
// of the vector index and the key-value store are the client's own.
func namesHeaders(c *call.Call) bool {
	return c.Op == nil || c.Op.Area != "vector_url" && c.Op.Area != "kv_url"
}

// neutraliseBody takes the dialect's names out of the headers in a JSON body,
// which may be the first to tell the dialect.
func (s *Server) neutraliseBody(c *call.Call) error {
	if !c.Op.BodyJSON || c.Op.Area == "control_url" || !namesHeaders(c) {
		return nil
	}
	inBody, err := s.tenants.Dialects().OfBody(c.Body)
	if err == nil && inBody.Dialect != nil {
		if c.Named, err = c.Named.And(inBody); err == nil {
			c.Dialect = c.Named.Dialect
		}
	}
	c.Mixed = err
	if err := s.foreign(c); err != nil {
		return err
	}
	s.speak(c)
	c.Body = c.Dialect.NeutralJSON(c.Body)
	return nil
}
