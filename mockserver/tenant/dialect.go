package tenant

import (
	"strings"

	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// A registry whose configuration names no dialect speaks every built-in one. The
// names of a request tell its dialect, and what the request creates speaks the same
// for as long as it lives. A request without such names follows the account: the
// dialect of the first request that had some, the neutral one before that.

// Auto reports whether requests choose the dialect.
func (r *Registry) Auto() bool { return r.cfg.Auto }

// Dialects are all that are known, the home dialect first.
func (r *Registry) Dialects() spec.Dialects { return r.cfg.Dialects }

// Home is the dialect of a server that nobody has spoken to.
func (r *Registry) Home() *spec.Dialect { return r.cfg.Dialects[0] }

// DialectName is what the server says of itself.
func (r *Registry) DialectName() string {
	if r.Auto() {
		return spec.Auto
	}
	return r.Home().Name
}

// Spoken are the dialects of the server: the configured one, or all.
func (r *Registry) Spoken() spec.Dialects {
	if r.Auto() {
		return r.cfg.Dialects
	}
	return r.cfg.Dialects[:1]
}

// Usual is the dialect of an account, for what has no names of its own.
func (r *Registry) Usual(t *Tenant) *spec.Dialect {
	if first := t.Spoken(); first != nil && r.Auto() {
		return first
	}
	return r.Home()
}

// Dialect is the dialect of what an account holds, by the name that is kept
// with it.
func (r *Registry) Dialect(t *Tenant, name string) *spec.Dialect {
	if d := r.cfg.Dialects.Named(name); name != "" && d != nil {
		return d
	}
	return r.Usual(t)
}

// headerName is a header of the account as clients of a dialect know it.
func (r *Registry) headerName(t *Tenant) func(dialect, name string) string {
	return func(dialect, name string) string {
		return r.Dialect(t, dialect).HeaderPrefix + strings.TrimPrefix(name, header.Prefix)
	}
}

// ShareDevelopmentAccount lets the development token of every dialect open the
// default account. Its signing keys are those of each dialect, see
// spec.Dialect.SigningKey.
func (r *Registry) ShareDevelopmentAccount() {
	first := r.First()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.cfg.Dialects {
		r.tokens[digestOf(d.Token)] = first
	}
}

// TokenOf is the token of an account in a dialect: its own, or the development
// token that opens it as well.
func (r *Registry) TokenOf(t *Tenant, d *spec.Dialect) string {
	if r.Owner(d.Token) == t {
		return d.Token
	}
	return t.Token
}
