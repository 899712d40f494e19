package harness

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
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

// maxShown is the largest part of a body in a report, in bytes.
const maxShown = 4 << 10

// Request is a request to the target, in neutral names.
type Request struct {
	Operation string // operationId
	Vars      map[string]string
	Query     url.Values
	Header    http.Header
	Body      []byte
	Method    string // instead of the operation's
	Path      string // instead of the operation's
	Raw       string // appended to the path as it is
	Auth      string // instead of the operation's: none, query, or a scheme
	Token     string // instead of the target's
	Aside     bool   // not judged by steps: a request of a workflow endpoint, or a sentinel
}

// names returns the names in the request that may have the brand's prefix.
func (q Request) names() []string {
	list := slices.Concat(slices.Collect(maps.Keys(q.Header)), slices.Collect(maps.Keys(q.Query)))
	if q.Auth == "query" {
		list = append(list, "svc_token")
	}
	return list
}

// Do sends a request. It returns an error when there is no answer, or when the request
// cannot be sent.
func (s *Scenario) Do(q Request) (*Response, error) {
	op := s.Suite.Document.Operation(q.Operation)
	if op == nil {
		return nil, Fault("", "no operation %q in the document", q.Operation)
	}
	if err := s.Suite.NeedsBrand(q.names()...); err != nil {
		return nil, err
	}
	if err := s.Suite.spend(op); err != nil {
		return nil, err
	}
	d := s.Suite.Dialect
	method, path := op.Method, op.URL(q.Vars, nil)
	if q.Method != "" {
		method = q.Method
	}
	if q.Path != "" {
		path = q.Path
	}
	host := s.Host(op)
	if host == "" {
		return nil, Inconclusive(report.FixtureUnsatisfied, "the target file has no url for %s", op.Area)
	}
	full := host + path + q.Raw
	if len(q.Query) > 0 {
		separator := "?"
		if strings.Contains(full, "?") {
			separator = "&"
		}
		full += separator + brandQuery(d, q.Query).Encode()
	}
	request, err := http.NewRequestWithContext(s.Context, method, full, bytes.NewReader(q.Body))
	if err != nil {
		return nil, Fault("", "%s: %v", q.Operation, err)
	}
	if q.Header != nil {
		request.Header = d.BrandHeader(q.Header.Clone())
	}
	if op.BodyJSON && len(q.Body) > 0 && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("User-Agent", fmt.Sprintf("understudy/%s (%s; %s; %s)", s.Suite.Version, s.Key, s.Result.Location, strings.Join(s.Result.Requirements, " ")))
	if err := s.authorize(request, op, q); err != nil {
		return nil, err
	}
	a, err := s.Send(request, q.Body, op)
	if err == nil && !q.Aside {
		s.latest.Store(int64(a.Exchange))
	}
	return a, err
}

// Credential is a credential with its key in the target file.
type Credential struct{ Key, Value string }

// Credential returns the credential for a security scheme of the document; the zero value
// for others.
func (s *Scenario) Credential(scheme string) Credential {
	basic := s.Auth.Basic
	switch scheme {
	case "bearer", "query":
		return Credential{"auth.bearer", string(s.Auth.Bearer)}
	case "vectorBearer":
		return Credential{"auth.vector_bearer", string(s.Auth.VectorBearer)}
	case "basic":
		if basic.Username == "" && basic.Password == "" {
			return Credential{"auth.basic", ""}
		}
		return Credential{"auth.basic", string(basic.Username) + ":" + string(basic.Password)}
	}
	return Credential{}
}

// authorize adds the credential of q.Auth, or of the operation's first scheme.
func (s *Scenario) authorize(r *http.Request, op *spec.Operation, q Request) error {
	scheme := q.Auth
	if scheme == "" && len(op.Security) > 0 {
		scheme = op.Security[0]
	}
	own := s.Credential(scheme)
	if own.Key == "" {
		return nil
	}
	token := cmp.Or(q.Token, own.Value)
	if token == "" {
		return Inconclusive(report.CredentialMissing, "the target file has no target.%s, which %s needs", own.Key, op.ID)
	}
	switch scheme {
	case "basic":
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(token)))
	case "query":
		if r.URL.RawQuery != "" {
			r.URL.RawQuery += "&"
		}
		r.URL.RawQuery += s.Suite.Dialect.TokenQuery + "=" + url.QueryEscape(token)
	default:
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// Exchange sends a request, records the exchange, and checks the answer against the document.
func (s *Scenario) Exchange(r *http.Request, body []byte, op *spec.Operation) (*Response, error) {
	r.Body, r.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body)) // a repeated request has consumed its body
	}
	limit := s.Suite.Target.Timing.RequestTimeout
	if limit == 0 {
		limit = math.MaxInt64
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), limit, fmt.Errorf("timing.request_timeout: no answer within %s", limit))
	defer cancel()
	r = r.WithContext(ctx)
	started := Now()
	x := report.Exchange{
		Method: r.Method, URL: s.Masked(r.URL.String()), Header: s.MaskedHeader(r.Header), At: report.Span(started.Sub(s.Result.Started)),
	}
	asked := sent{method: r.Method, url: r.URL.String(), header: r.Header.Clone(), body: body}
	if op != nil {
		x.Operation = op.ID
	}
	response, err := s.Suite.Client.Do(r)
	took := Since(started)
	if x.Took = report.Span(took); took > s.Suite.Slowest() {
		s.Suite.slowest.Store(int64(took)) // of two at once, either will do
	}
	if err != nil {
		if err = plainError(err); errors.Is(err, context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
		x.Error = s.Masked(err.Error())
		return nil, &report.Failure{Message: "no answer from the target: " + x.Error, Exchange: s.keep(x, asked)}
	}
	defer response.Body.Close()
	text, err := ReadAll(response.Body)
	if err != nil {
		x.Error = err.Error()
		return nil, &report.Failure{Message: "the answer broke off: " + x.Error, Exchange: s.keep(x, asked)}
	}
	d := s.Suite.Dialect
	a := &Response{Operation: op, Status: response.StatusCode, Header: d.NeutralHeader(response.Header), Body: d.NeutralJSON(text), scenario: s}
	a.JSON = check.Decode(a.Body)
	x.Status, x.AnswerHdr = a.Status, s.MaskedHeader(response.Header)
	var breaches []check.Breach
	if op != nil {
		for _, p := range op.CheckResponse(a.Status, a.Header, a.Body) {
			x.Problems = append(x.Problems, p.String())
		}
		seen := &check.Exchange{Operation: op.ID, Header: d.NeutralHeader(r.Header), Query: r.URL.Query(), Status: a.Status, MediaType: response.Header.Get("Content-Type"), Body: a.JSON}
		if !s.mayLack(a) {
			breaches = check.Breaches(seen, s.Suite.Target.Bindings)
		}
		for _, b := range breaches {
			x.Problems = append(x.Problems, b.Requirement+" "+b.Pointer+": "+b.Message)
		}
	}
	asked.text, asked.answer, asked.answered = text, a.JSON, response.Header
	a.Exchange = s.keep(x, asked, breaches...)
	return a, nil
}

// Host returns the base URL of an operation.
func (s *Scenario) Host(op *spec.Operation) string {
	u := s.URLs
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

// brandQuery converts the neutral names of a query to the brand's names.
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

// secrets returns the texts that no report may contain.
func (s *Scenario) secrets() []string {
	a := s.Auth
	return append([]string{string(a.Bearer), string(a.VectorBearer), string(a.KVBearer), string(a.Basic.Password)}, s.Hidden...)
}

// Masked removes the known secrets, and texts that look like secrets, from a text for a report.
func (s *Scenario) Masked(text string) string {
	for _, secret := range s.secrets() {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "***")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "***")
		}
	}
	return mask.Value(text)
}

// MaskedHeader masks a header for a report.
func (s *Scenario) MaskedHeader(h http.Header) map[string][]string {
	out := map[string][]string{}
	for name, values := range mask.Header(h) {
		for _, v := range values {
			out[name] = append(out[name], s.Masked(v))
		}
	}
	return out
}

// maskedBody masks and shortens a body for a report.
func (s *Scenario) maskedBody(body []byte) string {
	return s.Masked(clip(string(mask.Excerpt(body, maxShown)), len(body)))
}

// Clip shortens a text for a report to 4 KiB, and replaces invalid UTF-8.
func Clip(text string) string { return clip(text, len(text)) }

// clip names the size of the whole, of which text is at least the beginning.
func clip(text string, size int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxShown && size <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:min(len(text), maxShown)], "") + fmt.Sprintf("... (%d bytes)", size)
}

// ReadAll reads an answer, at most the first 32 MiB.
func ReadAll(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, 32<<20)) }
