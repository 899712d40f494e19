package mockserver

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// neutralise finds the dialect of a request and replaces its names by the
// neutral ones (Svc-), which all code behind it uses.
func (s *Server) neutralise(c *request.Call) {
	c.Sent, c.SentQuery = c.Request.Header, c.Request.URL.RawQuery
	c.Named, c.Mixed = s.tenants.Dialects().OfRequest(c.Request.Header, c.Request.URL.RawQuery)
	c.Dialect = s.tenants.Home()
	if s.tenants.Auto() && c.Named.Dialect != nil && c.Mixed == nil {
		c.Dialect = c.Named.Dialect
	}
	d := c.Dialect
	h, query := d.NeutralHeader(c.Request.Header), d.NeutralQuery(c.Request.URL.RawQuery)
	if d.HeaderPrefix != header.Prefix || query != c.Request.URL.RawQuery {
		r := *c.Request
		r.Header = h
		if query != r.URL.RawQuery {
			u := *r.URL
			u.RawQuery = query
			r.URL = &u
		}
		c.Request = &r
	}
	indexPath(c)
	c.Header, c.Raw, c.Query = h, query, parseQuery(c.Query, query)
}

// shortQuery is the largest size, in bytes, of queries for which a map is used again.
const shortQuery = 1 << 10

// parseQuery is url.ParseQuery without its error, and uses a map again if it is not nil.
func parseQuery(again url.Values, query string) url.Values {
	switch {
	case query == "":
		return noQuery
	case again == nil || len(query) > shortQuery || strings.ContainsAny(query, "%+;"):
		q, _ := url.ParseQuery(query) // the rest of a query with an invalid part is used
		return q
	}
	clear(again)
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); pair != "" {
			again[name] = append(again[name], value)
		}
	}
	return again
}

// foreign refuses names of a dialect that the server does not serve, and names
// of two dialects in one request. Control calls are exempt: they show the names
// of clients as they were sent.
func (s *Server) foreign(c *request.Call) error {
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

// speak fixes the dialect of an admitted call. The account keeps the dialect of
// its first call; a call without names has the dialect of its account.
func (s *Server) speak(c *request.Call) {
	if c.Op.Area == "control_url" {
		c.Dialect = s.neutral // the control API has no dialects
		return
	}
	if !s.tenants.Auto() {
		return
	}
	if c.Named.Dialect == nil {
		c.Dialect = s.unnamed(c)
	} else if !c.AsTester && c.Op.Area != "kv_url" { // the key-value store checks its token itself
		c.Tenant.Speak(c.Named.Dialect)
	}
}

// unnamed is the dialect of a call without names: a dialect besides the default
// one that has its path or development token, otherwise the dialect of the
// account.
func (s *Server) unnamed(c *request.Call) *spec.Dialect {
	if c.AsTester {
		return s.tenants.Usual(c.Tenant)
	}
	token := request.BearerToken(c.Header)
	for _, d := range s.tenants.Dialects() {
		if d != s.tenants.Home() && (token == d.Token || slices.ContainsFunc(d.Paths, func(start string) bool { return strings.HasPrefix(c.Request.URL.Path, start) })) {
			return d
		}
	}
	return s.tenants.Usual(c.Tenant)
}

// namesHeaders reports whether bodies of the operation may name headers. Bodies of the vector
// index, the key-value store and outside services are data, which must not be renamed.
func namesHeaders(c *request.Call) bool {
	return c.Op == nil || c.Op.Area != "vector_url" && c.Op.Area != "kv_url" && c.Op.Tag != "sink"
}

// neutraliseBody replaces the dialect's header names in a JSON body. The body
// may be the first part of the request that shows the dialect.
func (s *Server) neutraliseBody(c *request.Call) error {
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
