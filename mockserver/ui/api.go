package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

// controlRoot is the path of the control API.
const controlRoot = "/_understudy/"

// doc is a JSON object.
type doc = map[string]any

// client calls the control API in the same process.
type client struct {
	handler    http.Handler
	ctx        context.Context
	credential string // the Authorization header of the request for the page
	account    string
}

// apiFor calls the control API for a request for the page.
func (p *Page) apiFor(r *http.Request) client {
	return client{p.api, r.Context(), r.Header.Get("Authorization"), r.URL.Query().Get("account")}
}

// request is one call. A body that is not []byte is sent as JSON.
type request struct {
	method string // "": GET
	path   string // below root
	query  url.Values
	raw    string // an encoded query that replaces query
	header http.Header
	body   any
}

// failure is the error of a request that cannot be answered.
type failure = recorder.Refusal

func refuse(status int, text string) error { return &failure{Status: status, Text: text} }

// refusal is the text of an error with a status; "" for other errors.
func refusal(err error, status int) string {
	if said, ok := errors.AsType[*failure](err); ok && said.Status == status {
		return said.Text
	}
	return ""
}

// get reads a document of the account.
func (a client) get(to any, path string, query url.Values) error {
	return a.do(to, request{path: path, query: query})
}

// as is the path of an operation of the interface, called as the account.
func (a client) as(r route.Route, values ...string) string {
	return "as/" + url.PathEscape(a.account) + r.Path(values...)
}

// index is the path of an operation of a vector index, called as the account.
func (a client) index(name string, r route.Route) string {
	return "as/" + url.PathEscape(a.account) + "/index/" + url.PathEscape(name) + r.Path()
}

// do makes a call and reads its answer; to may be nil.
func (a client) do(to any, r request) error {
	u := url.URL{Path: controlRoot + r.path}
	if plain, err := url.PathUnescape(u.Path); err == nil {
		u.RawPath, u.Path = u.Path, plain
	}
	query := url.Values{}
	maps.Copy(query, r.query)
	if a.account != "" && !strings.HasPrefix(r.path, "as/") {
		query.Set("account", a.account)
	}
	u.RawQuery = cmp.Or(r.raw, query.Encode())
	text, isBytes := r.body.([]byte)
	if !isBytes && r.body != nil {
		var err error
		if text, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("page: %w", err)
		}
	}
	asked, err := http.NewRequestWithContext(a.ctx, cmp.Or(r.method, http.MethodGet), u.String(), bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if r.header != nil {
		asked.Header = r.header
	}
	if r.body != nil && !isBytes {
		asked.Header.Set("Content-Type", "application/json")
	}
	answer, err := recorder.Call(a.handler, asked, a.credential)
	if err != nil || to == nil || answer.Body.Len() == 0 {
		return err
	}
	body := answer.Body.Bytes()
	if strings.HasPrefix(r.path, "as/") { // the interface does not mask credentials
		body = mask.JSON(body)
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("page: %s: %w", r.path, err)
	}
	return nil
}
