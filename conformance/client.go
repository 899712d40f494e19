package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
)

// maxShown is how much of a body a report holds, in bytes.
const maxShown = 4 << 10

// ask is a request to the target, in neutral names.
type ask struct {
	op     string // operationId
	vars   map[string]string
	query  url.Values
	header http.Header
	body   []byte
	method string // instead of the operation's
	path   string // instead of the operation's
	raw    string // appended to the path as it is
	auth   string // instead of the operation's: none, query, or a scheme
	token  string // instead of the target's
	aside  bool   // not what the scenario is about: of a workflow endpoint, or a sentinel
}

// names are those of a request that may have the brand's prefix.
func (q ask) names() []string {
	list := slices.Concat(slices.Collect(maps.Keys(q.header)), slices.Collect(maps.Keys(q.query)))
	if q.auth == "query" {
		list = append(list, "svc_token")
	}
	return list
}

// do sends a request. An error means that no answer came.
func (s *toolkit) do(q ask) (*answer, error) {
	op := s.suite.doc.Operation(q.op)
	if op == nil {
		return nil, harness("", "no operation %q in the document", q.op)
	}
	if err := s.suite.needsBrand(q.names()...); err != nil {
		return nil, err
	}
	if err := s.suite.spend(op); err != nil {
		return nil, err
	}
	d := s.suite.dialect
	method, path := op.Method, op.URL(q.vars, nil)
	if q.method != "" {
		method = q.method
	}
	if q.path != "" {
		path = q.path
	}
	host := s.host(op)
	if host == "" {
		return nil, skip(report.FixtureUnsatisfied, "the target file has no url for %s", op.Area)
	}
	full := host + path + q.raw
	if len(q.query) > 0 {
		separator := "?"
		if strings.Contains(full, "?") {
			separator = "&"
		}
		full += separator + brandQuery(d, q.query).Encode()
	}
	request, err := http.NewRequestWithContext(s.ctx, method, full, bytes.NewReader(q.body))
	if err != nil {
		return nil, harness("", "%s: %v", q.op, err)
	}
	if q.header != nil {
		request.Header = d.BrandHeader(q.header.Clone())
	}
	if op.BodyJSON && len(q.body) > 0 && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", fmt.Sprintf("understudy/%s (run %s; %s)", s.suite.version, s.suite.id, strings.Join(s.result.Requirements, " ")))
	if err := s.authorize(request, op, q); err != nil {
		return nil, err
	}
	a, err := s.send(request, q.body, op)
	if err == nil && !q.aside {
		s.latest.Store(int64(a.exchange))
	}
	return a, err
}

// credential is a way to sign in: its key in the target file, and its value.
type credential struct{ key, value string }

// credential is that of a scheme of the document.
func (s *toolkit) credential(scheme string) credential {
	basic := s.auth.Basic
	switch scheme {
	case "bearer", "query":
		return credential{"auth.bearer", string(s.auth.Bearer)}
	case "vectorBearer":
		return credential{"auth.vector_bearer", string(s.auth.VectorBearer)}
	case "basic":
		if basic.Username == "" && basic.Password == "" {
			return credential{"auth.basic", ""}
		}
		return credential{"auth.basic", string(basic.Username) + ":" + string(basic.Password)}
	}
	return credential{}
}

// authorize adds the credential of the operation's first scheme.
func (s *toolkit) authorize(r *http.Request, op *spec.Operation, q ask) error {
	scheme := q.auth
	if scheme == "" && len(op.Security) > 0 {
		scheme = op.Security[0]
	}
	own := s.credential(scheme)
	if own.key == "" {
		return nil
	}
	token := cmp.Or(q.token, own.value)
	if token == "" {
		return skip(report.CredentialMissing, "the target file has no target.%s, which %s needs", own.key, op.ID)
	}
	switch scheme {
	case "basic":
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(token)))
	case "query":
		if r.URL.RawQuery != "" {
			r.URL.RawQuery += "&"
		}
		r.URL.RawQuery += s.suite.dialect.TokenQuery + "=" + url.QueryEscape(token)
	default:
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// exchange makes an exchange, keeps it, and holds it to the document.
func (s *toolkit) exchange(r *http.Request, body []byte, op *spec.Operation) (*answer, error) {
	r.Body, r.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body)) // anew, since it may be a repetition
	}
	if s.patience > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), s.patience)
		defer cancel()
		r = r.WithContext(ctx)
	}
	started := now()
	x := report.Exchange{
		Method: r.Method, URL: s.masked(r.URL.String()), Header: s.maskedHeader(r.Header), Body: s.maskedBody(body),
		At: started.Sub(s.result.Started),
	}
	x.Curl, x.Notes = s.curl(r, body)
	if op != nil {
		x.Operation = op.ID
	}
	response, err := s.suite.http.Do(r)
	x.Took = since(started)
	if err != nil {
		x.Error = s.masked(plainError(err).Error())
		return nil, &report.Failure{Message: "no answer from the target: " + x.Error, Exchange: s.keep(x)}
	}
	defer response.Body.Close()
	text, err := readAll(response.Body)
	if err != nil {
		x.Error = err.Error()
		return nil, &report.Failure{Message: "the answer broke off: " + x.Error, Exchange: s.keep(x)}
	}
	d := s.suite.dialect
	a := &answer{op: op, status: response.StatusCode, header: d.NeutralHeader(response.Header), body: d.NeutralJSON(text), scenario: s}
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	if decoder.Decode(&a.json) != nil || decoder.Decode(new(any)) != io.EOF {
		a.json = nil
	}
	x.Status, x.Answer, x.AnswerHdr = a.status, s.maskedBody(text), s.maskedHeader(response.Header)
	if op != nil {
		for _, p := range op.CheckResponse(a.status, a.header, a.body) {
			x.Problems = append(x.Problems, p.String())
		}
	}
	if op != nil {
		seen := &check.Exchange{Operation: op.ID, Header: d.NeutralHeader(r.Header), Query: r.URL.Query(), Status: a.status, MediaType: response.Header.Get("Content-Type"), Body: a.json}
		for _, b := range check.Breaches(seen, s.suite.target.Bindings) {
			x.Problems = append(x.Problems, b.Requirement+" "+b.Pointer+": "+b.Message)
		}
	}
	a.exchange = s.keep(x)
	return a, nil
}

// host is the address that serves an operation.
func (s *toolkit) host(op *spec.Operation) string {
	u := s.urls
	switch op.Area {
	case "region_base_url":
		return u.Region
	case "dev_api_url":
		return u.Dev
	case "vector_url":
		return u.Vector
	case "kv_url":
		return u.KV
	}
	return u.Base
}

// brandQuery puts the brand's names into a query.
func brandQuery(d *spec.Dialect, q url.Values) url.Values {
	out := url.Values{}
	for name, values := range q {
		if rest, ok := strings.CutPrefix(name, header.Query(header.Prefix)); ok {
			name = d.QueryPrefix + rest
		} else if name == "svc_token" {
			name = d.TokenQuery
		}
		out[name] = values
	}
	return out
}

// secrets are what no report may hold.
func (s *toolkit) secrets() []string {
	a := s.auth
	return append([]string{string(a.Bearer), string(a.VectorBearer), string(a.KVBearer), string(a.Basic.Password)}, s.hidden...)
}

func (s *toolkit) masked(text string) string {
	for _, secret := range s.secrets() {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "***")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "***")
		}
	}
	return mask.Value(text)
}

func (s *toolkit) maskedHeader(h http.Header) map[string][]string {
	out := map[string][]string{}
	for name, values := range mask.Header(h) {
		for _, v := range values {
			out[name] = append(out[name], s.masked(v))
		}
	}
	return out
}

// maskedBody is a body for a report.
func (s *toolkit) maskedBody(body []byte) string { return s.masked(clip(string(mask.JSON(body)))) }

// clip shortens a text for a report.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + fmt.Sprintf("... (%d bytes)", len(text))
}

// readAll reads an answer, at most 32 MiB of it.
func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, 32<<20)) }
