// Package survey sends a few harmless requests to an implementation and writes a
// target file: with what it found, and with comments where a user must fill in values.
//
//	found, err := survey.Ask(ctx, "https://q.acme.example", survey.Credentials{Bearer: token})
//	err = found.WriteTarget(file)
//
// It sends only GET requests of documented operations, so it creates and changes
// nothing. It makes no verdicts: these come from package conformance.
package survey

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/route"
)

// Credentials are sent with the requests; empty ones are omitted.
type Credentials struct {
	Bearer, VectorBearer, Username, Password, UserID string
}

// Finding is a question and the target's answer.
type Finding struct {
	Question, Answer string
}

// Survey is the result of a survey of a target.
type Survey struct {
	Base     string
	Server   string // the response header Server, "" for none
	Prefix   string // header prefix, such as Svc; "" if not found
	Findings []Finding
	Profiles []string                     // profiles with an operation that exists
	Filters  map[string]map[string]string // dlq and logs: filter -> query name that the target accepts
	Guarded  bool                         // a request without a token was refused
	Let      bool                         // a request with the given credentials was not refused
}

// answerLimit is the timeout of a request, and answerSize how many bytes of the
// response are read.
const (
	answerLimit = 10 * time.Second
	answerSize  = 1 << 20
)

// reads are the operations that the survey tries, with the profile of each.
var reads = []struct {
	operation, profile string
	credential         func(Credentials) string // value of the header Authorization
}{
	{"listWorkflowDLQ", "WF-RECOVER", func(c Credentials) string { return bearer(c.Bearer) }},
	{"listWorkflowMessageLogs", "WF-READ", func(c Credentials) string { return bearer(c.Bearer) }},
	{"getUsageStatistics", "USAGE", basic},
	{"getVectorInfo", "INDEX", func(c Credentials) string { return bearer(c.VectorBearer) }},
}

// bearer is the value of the header for a token, "" for none.
func bearer(token string) string {
	if token == "" {
		return ""
	}
	return "Bearer " + token
}

func basic(c Credentials) string {
	if c.Username == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
}

// reply is a response of the target.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// asking is one survey in progress.
type asking struct {
	Survey
	credentials Credentials
	client      *http.Client
	document    *spec.Document
}

// ErrURL is the error for a base URL that cannot be called. It does not contain the URL,
// which may have a password.
var ErrURL = errors.New("invalid URL: must be an http or https URL without user name, such as https://q.example.com")

// Ask surveys the server at a base URL. An error means that nothing responds there,
// or a service of another kind.
func Ask(ctx context.Context, base string, c Credentials) (*Survey, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, ErrURL
	}
	document, err := spec.Load()
	if err != nil {
		return nil, err
	}
	a := &asking{
		Survey:      Survey{Base: strings.TrimRight(base, "/"), Filters: map[string]map[string]string{}},
		credentials: c, document: document,
		client: &http.Client{Timeout: answerLimit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	defer a.client.CloseIdleConnections()
	if err := a.askAll(ctx); err != nil {
		return nil, err
	}
	return &a.Survey, nil
}

func (a *asking) askAll(ctx context.Context) error {
	nowhere, err := a.get(ctx, strings.TrimSuffix(route.ListLogs.Path(), "logs")+"understudy-survey-unknown-path", "")
	if err != nil {
		return err
	}
	a.Server = nowhere.header.Get("Server")
	a.found("GET of an unknown path", "%d", nowhere.status)
	if kind := nowhere.header.Get("Content-Type"); nowhere.status < 300 && strings.HasPrefix(kind, "text/html") {
		return fmt.Errorf("%s answers every path with a web page: this is another service", a.Base)
	}
	for _, read := range reads {
		op := a.document.Operation(read.operation)
		path := strings.ReplaceAll(op.Path, "{id}", url.PathEscape(cmp.Or(a.credentials.UserID, "-")))
		open, err := a.get(ctx, path, "")
		if err != nil {
			return err
		}
		a.look(open)
		a.found("GET "+op.Path+" without credentials", "%s", meaning(open.status))
		if refused(open.status) {
			a.Guarded = true
		}
		best := open
		if credential := read.credential(a.credentials); credential != "" {
			if best, err = a.get(ctx, path, credential); err != nil {
				return err
			}
			a.look(best)
			a.found("GET "+op.Path+" with credentials", "%s", meaning(best.status))
			a.Let = a.Let || !refused(best.status)
		}
		if exists(best.status) && best.status != nowhere.status && !slices.Contains(a.Profiles, read.profile) {
			a.Profiles = append(a.Profiles, read.profile)
		}
	}
	if err := a.filters(ctx, "dlq", "listWorkflowDLQ", dlqFilters); err != nil {
		return err
	}
	return a.filters(ctx, "logs", "listWorkflowMessageLogs", logFilters)
}

// filters tries the names of filters. This works only with targets that refuse unknown names.
func (a *asking) filters(ctx context.Context, section, operation string, candidates []candidate) error {
	path := a.document.Operation(operation).Path
	token := bearer(a.credentials.Bearer)
	plain, err := a.get(ctx, path, token)
	if err != nil {
		return err
	}
	unknown, err := a.get(ctx, path+"?noSuchFilterOfAnybody=1", token)
	if err != nil {
		return err
	}
	if plain.status != http.StatusOK || unknown.status < 400 || unknown.status >= 500 {
		a.found("does GET "+path+" refuse an unknown filter?", "%s", "no, so the names of filters cannot be found out")
		return nil
	}
	a.Filters[section] = map[string]string{}
	for _, c := range candidates {
		for _, name := range c.names {
			known, err := a.get(ctx, path+"?"+url.Values{name: {c.value}}.Encode(), token)
			if err != nil {
				return err
			}
			if known.status == http.StatusOK {
				a.Filters[section][c.filter] = name
				break
			}
		}
	}
	a.found("does GET "+path+" refuse an unknown filter?", "yes; it knows %d of %d that were tried", len(a.Filters[section]), len(candidates))
	return nil
}

// found adds a finding.
func (a *asking) found(question, format string, args ...any) {
	a.Findings = append(a.Findings, Finding{question, fmt.Sprintf(format, args...)})
}

// brandName matches a configuration header in a response.
var brandName = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*)-(?:Retries|Delay|Forward|Header-Forward|Flow-Control-Key|Flow-Control-Value|Workflow-RunId|Failure-Callback)\b`)

// look searches a response for the header prefix.
func (a *asking) look(r *reply) {
	texts := []string{string(r.body)}
	for name, values := range r.header {
		texts = append(texts, name, strings.Join(values, ","))
	}
	for _, text := range texts {
		if m := brandName.FindStringSubmatch(text); m != nil && a.Prefix == "" {
			a.Prefix = m[1]
		}
	}
}

// get sends one request.
func (a *asking) get(ctx context.Context, path, authorization string) (*reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Base+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "understudy-survey")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := a.client.Do(request)
	if err != nil {
		if why := spec.WrongSchemeOf(ctx, a.Base, err); why != "" {
			return nil, errors.New(why)
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("%s: no response: %w", a.Base, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerSize))
	if err != nil {
		return nil, fmt.Errorf("%s: the response ended early: %w", a.Base, err)
	}
	return &reply{response.StatusCode, response.Header, body}, nil
}

func refused(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// exists reports whether a status means that the operation exists.
func exists(status int) bool {
	return status != http.StatusNotFound && status != http.StatusMethodNotAllowed && status != http.StatusNotImplemented && status < 500
}

// meaning explains a status.
func meaning(status int) string {
	switch {
	case refused(status):
		return fmt.Sprintf("%d: it exists and asks for credentials, or every path does", status)
	case !exists(status):
		return fmt.Sprintf("%d: it does not exist there", status)
	case status < 300:
		return fmt.Sprintf("%d: it answers", status)
	}
	return fmt.Sprintf("%d: it exists", status)
}

// quoted is a text as a JSON string, which is valid YAML.
func quoted(text string) string {
	plain, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(plain)
}
