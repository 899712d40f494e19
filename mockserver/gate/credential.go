package gate

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec"
)

// authenticate finds the account by the operation's security schemes. Every
// credential that the request has must be valid: a wrong one is refused even
// when another one is right.
func (g *Gate) authenticate(c *request.Call) (*tenant.Tenant, error) {
	op := c.Op
	if len(op.Security) == 0 || op.Area == "kv_url" { // the key-value store checks its token itself
		return nil, nil
	}
	var found *tenant.Tenant
	for _, scheme := range op.Security {
		w, given, err := g.credential(scheme, c)
		if err != nil {
			return nil, err
		}
		if given && found != nil && found.ID != w.ID {
			return nil, unauthorizedFor(op, "two credentials that belong to different accounts")
		}
		if given {
			found = w
		}
	}
	if found == nil {
		return nil, unauthorizedFor(op, "no credentials: must be "+credentialForms(op.Security)+"; "+whereTokens)
	}
	return found, nil
}

// credentialForms lists the credentials that the security schemes require, for
// error texts.
func credentialForms(schemes []string) string {
	words := map[string]string{
		"bearer":       "Authorization: Bearer TOKEN",
		"queryToken":   "the query parameter svc_token",
		"basic":        "Authorization: Basic base64(USERNAME:PASSWORD)",
		"vectorBearer": "Authorization: Bearer VECTOR_TOKEN",
		"control":      "Authorization: Bearer CONTROL_TOKEN",
	}
	list := make([]string, len(schemes))
	for i, scheme := range schemes {
		list[i] = words[scheme]
	}
	return strings.Join(list, ", or ")
}

// credential looks for one scheme's credential in a request.
func (g *Gate) credential(scheme string, c *request.Call) (w *tenant.Tenant, given bool, err error) {
	kind, value, _ := strings.Cut(c.Header.Get("Authorization"), " ")
	value = strings.TrimSpace(value)
	switch scheme {
	case "queryToken":
		token := g.queryToken(c)
		if len(token) == 0 {
			return nil, false, nil
		}
		if w, err = g.Accounts.ByToken(token[0]); err != nil {
			return nil, true, err
		}
		if w == nil || len(token) > 1 {
			return nil, true, response.Unauthorized("Bearer", "query parameter svc_token: not a token of this server; "+whereTokens)
		}
	case "basic":
		if kind == "" {
			return nil, false, nil
		}
		if w = g.byBasic(kind, value); w == nil {
			return nil, true, response.Unauthorized("Basic", "Authorization: wrong user name or password: must be "+credentialForms([]string{scheme})+"; "+whereTokens)
		}
	default:
		if kind == "" {
			return nil, false, nil
		}
		holds := func(w *tenant.Tenant) bool { return w.Opens(value) != "" }
		if scheme == "bearer" {
			if w, err = g.Accounts.ByToken(value); err != nil {
				return nil, true, err
			}
		} else {
			w = g.Accounts.Find(holds)
		}
		if !strings.EqualFold(kind, "Bearer") || w == nil {
			return nil, true, response.Unauthorized("Bearer", wrongToken(scheme))
		}
	}
	return w, true, nil
}

// whereTokens ends the errors for requests without a token, or with the token
// of another server.
const whereTokens = "`understudy env` prints the credentials"

// wrongToken is the error text for a wrong token. Clients of vector indexes
// compare it with the text of the service.
func wrongToken(scheme string) string {
	if scheme == "vectorBearer" {
		return "Unauthorized: Invalid auth token; " + whereTokens
	}
	return "Authorization: not a token of this server: must be " + credentialForms([]string{scheme}) + "; " + whereTokens
}

// byBasic splits at the first colon: a password may contain more.
func (g *Gate) byBasic(kind, value string) *tenant.Tenant {
	text, err := base64.StdEncoding.DecodeString(value)
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || !strings.EqualFold(kind, "Basic") {
		return nil
	}
	return g.Accounts.Find(func(w *tenant.Tenant) bool { return w.Username() == user && tenant.SameSecret(w.Password, password) })
}

// unauthorizedFor names the operation, except on the vector host: its clients
// compare the text with the text of the service.
func unauthorizedFor(op *spec.Operation, text string) error {
	challenge := "Bearer"
	if slices.Contains(op.Security, "basic") {
		challenge = "Basic"
	}
	if slices.Contains(op.Security, "vectorBearer") {
		text = wrongToken("vectorBearer")
		return response.Unauthorized(challenge, text)
	}
	return response.Unauthorized(challenge, op.ID+": "+text)
}

// queryToken is the token in the query, under its name in any dialect. A name
// of the wrong dialect still authenticates, so that the refusal for the name is
// recorded in the journal of the account.
func (g *Gate) queryToken(c *request.Call) []string {
	token := c.Query[g.Neutral.TokenQuery]
	for _, d := range g.Accounts.Dialects() {
		if len(token) == 0 {
			token = c.Query[d.TokenQuery]
		}
	}
	return token
}

// kvTenant is the account whose store a request addresses, by the token in the
// header or in the query. The store itself refuses a wrong token.
func (g *Gate) kvTenant(c *request.Call) *tenant.Tenant {
	token := c.Query.Get("_token")
	if c.Header.Get("Authorization") != "" {
		token = request.BearerToken(c.Header)
	}
	return g.Accounts.Find(func(w *tenant.Tenant) bool { return tenant.SameSecret(w.KVToken, token) })
}

// openVector authenticates a request to the index of its token. A URL that
// names an index must name the same one.
func (g *Gate) openVector(c *request.Call) error {
	c.Index = c.Tenant.Opens(request.BearerToken(c.Header))
	if c.Asked == "" || c.Asked == c.Index {
		return nil
	}
	if !c.Tenant.HasIndex(c.Asked) {
		return refusal.Of(refusal.NotFound, "vector index", c.Asked, "not found; its URLs are listed when the server starts")
	}
	return response.Unauthorized("Bearer", "Unauthorized: the token is not that of the vector index "+response.Shorten(c.Asked))
}
