package tenant

import (
	"cmp"
	"strings"

	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// A registry without a configured dialect accepts every known one. The names in a
// request determine its dialect, and everything that the request creates keeps it. A
// request without such names has the dialect of the account, which is that of its
// first request with names; before that, it is that of the published clients.

// Auto reports whether requests choose the dialect.
func (r *Registry) Auto() bool { return r.cfg.Auto }

// Dialects returns all known dialects, the home dialect first.
func (r *Registry) Dialects() spec.Dialects { return r.cfg.Dialects }

// Home returns the configured dialect, without one the neutral dialect.
func (r *Registry) Home() *spec.Dialect { return r.cfg.Dialects[0] }

// DialectName returns the name of the configured dialect, or spec.Auto.
func (r *Registry) DialectName() string {
	if r.Auto() {
		return spec.Auto
	}
	return r.Home().Name
}

// Spoken returns the accepted dialects: the configured one, or all.
func (r *Registry) Spoken() spec.Dialects {
	if r.Auto() {
		return r.cfg.Dialects
	}
	return r.cfg.Dialects[:1]
}

// Usual returns the dialect of an account, for requests and data without their own.
func (r *Registry) Usual(t *Tenant) *spec.Dialect {
	if r.Auto() {
		return cmp.Or(t.Spoken(), r.cfg.Dialects.Named(spec.Published))
	}
	return r.Home()
}

// Dialect returns the dialect of data of an account, by the name that is stored with
// the data; the usual one for "" or an unknown name.
func (r *Registry) Dialect(t *Tenant, name string) *spec.Dialect {
	if d := r.cfg.Dialects.Named(name); name != "" && d != nil {
		return d
	}
	return r.Usual(t)
}

// headerName returns the function that converts a neutral header name to a dialect.
func (r *Registry) headerName(t *Tenant) func(dialect, name string) string {
	return func(dialect, name string) string {
		return r.Dialect(t, dialect).HeaderPrefix + strings.TrimPrefix(name, header.Prefix)
	}
}

// ShareDevelopmentAccount makes the development token of every dialect open the
// default account. Its signing keys depend on the dialect, see
// spec.Dialect.SigningKey.
func (r *Registry) ShareDevelopmentAccount() {
	first := r.First()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.cfg.Dialects {
		r.tokens[digestOf(d.Token)] = first.ID
	}
}

// Token returns the token of an account in its usual dialect.
func (r *Registry) Token(t *Tenant) string { return r.TokenOf(t, r.Usual(t)) }

// TokenOf returns the token of an account in a dialect: the development token of the
// dialect if it opens the account, otherwise its own.
func (r *Registry) TokenOf(t *Tenant, d *spec.Dialect) string {
	if owner := r.Owner(d.Token); owner != nil && owner.ID == t.ID {
		return d.Token
	}
	return t.Token
}
