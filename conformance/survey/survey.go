// Package survey sends a few harmless requests to an implementation and writes a
// target file: with what it found, and with comments where a user must fill in values.
//
//	found, err := survey.Ask(ctx, "https://q.acme.example", os.Getenv)
//	err = found.WriteTarget(file)
//
// It sends only GET requests of documented operations, so it creates and changes
// nothing. It makes no verdicts: these come from package conformance.
package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/route"
)

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

// answerLimit is the timeout of a request.
const answerLimit = 10 * time.Second

// reads are the operations that the survey tries, with the profile of each.
var reads = []struct{ operation, profile string }{
	{"listWorkflowDLQ", "WF-RECOVER"},
	{"listWorkflowMessageLogs", "WF-READ"},
	{"getUsageStatistics", "USAGE"},
	{"getVectorInfo", "INDEX"},
}

// asking is one survey in progress: a scenario of the suite that only reads.
type asking struct {
	Survey
	*harness.Scenario
}

// ErrURL is the error for a base URL that cannot be called. It does not contain the URL,
// which may have a password.
var ErrURL = errors.New("invalid URL: must be an http or https URL without user name, such as https://q.example.com")

// Ask surveys the server at a base URL, with the credentials of the variables that its target file
// names. An error means that nothing responds there, or a service of another kind.
func Ask(ctx context.Context, base string, variable func(name string) string) (*Survey, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, ErrURL
	}
	document, err := spec.Load()
	if err != nil {
		return nil, err
	}
	var t target.Target
	t.Target.URLs.Base = strings.TrimRight(base, "/")
	for name, into := range map[string]*target.Secret{
		"TARGET_TOKEN": &t.Target.Auth.Bearer, "TARGET_VECTOR_TOKEN": &t.Target.Auth.VectorBearer, "TARGET_USERNAME": &t.Target.Auth.Basic.Username,
		"TARGET_PASSWORD": &t.Target.Auth.Basic.Password, "TARGET_USER_ID": &t.Fixtures.StatsUserID,
	} {
		*into = target.Secret(variable(name))
	}
	t.Fixtures.StatsUserID = cmp.Or(t.Fixtures.StatsUserID, "-")
	t.Fill()
	t.Timing.RequestTimeout = answerLimit
	suite := harness.NewSuite(ctx, harness.Config{Target: t}, document)
	defer suite.Client.CloseIdleConnections()
	if err := suite.Unconnected(ctx, t.Target.URLs.Base); err != nil {
		return nil, err
	}
	s, err := suite.Begin(ctx, report.Result{})
	if err != nil {
		return nil, err
	}
	defer s.Limit()
	a := &asking{Survey{Base: t.Target.URLs.Base, Filters: map[string]map[string]string{}}, s}
	if err := a.askAll(); err != nil {
		return nil, err
	}
	return &a.Survey, nil
}

func (a *asking) askAll() error {
	nowhere, err := a.get(harness.Request{Operation: "listWorkflowMessageLogs", Path: strings.TrimSuffix(route.ListLogs.Path(), "logs") + "understudy-survey-unknown-path", Auth: "none"})
	if err != nil {
		return err
	}
	a.Server = nowhere.Header.Get("Server")
	a.found("GET of an unknown path", "%d", nowhere.Status)
	if kind := nowhere.Header.Get("Content-Type"); nowhere.Status < 300 && strings.HasPrefix(kind, "text/html") {
		return fmt.Errorf("%s answers every path with a web page: this is another service", a.Base)
	}
	for _, read := range reads {
		op := a.Suite.Document.Operation(read.operation)
		q := harness.Request{Operation: op.ID, Vars: map[string]string{"id": a.User}, Auth: "none"}
		best, err := a.get(q)
		if err != nil {
			return err
		}
		a.found("GET "+op.Path+" without credentials", "%s", meaning(best.Status))
		a.Guarded = a.Guarded || refused(best.Status)
		if q.Auth = op.Security[0]; a.Credential(q.Auth).Value != "" {
			if best, err = a.get(q); err != nil {
				return err
			}
			a.found("GET "+op.Path+" with credentials", "%s", meaning(best.Status))
			a.Let = a.Let || !refused(best.Status)
		}
		if exists(best.Status) && best.Status != nowhere.Status {
			a.Profiles = append(a.Profiles, read.profile)
		}
	}
	if err := a.filters("dlq", "listWorkflowDLQ", dlqFilters); err != nil {
		return err
	}
	return a.filters("logs", "listWorkflowMessageLogs", logFilters)
}

// filters tries the names of filters. This works only with targets that refuse unknown names.
func (a *asking) filters(section, operation string, candidates []candidate) error {
	q := harness.Request{Operation: operation}
	if a.Auth.Bearer == "" {
		q.Auth = "none"
	}
	path := a.Suite.Document.Operation(operation).Path
	plain, err := a.get(q)
	if err != nil {
		return err
	}
	q.Query = url.Values{"noSuchFilterOfAnybody": {"1"}}
	unknown, err := a.get(q)
	if err != nil {
		return err
	}
	if plain.Status != http.StatusOK || unknown.Status < 400 || unknown.Status >= 500 {
		a.found("does GET "+path+" refuse an unknown filter?", "%s", "no, so the names of filters cannot be found out")
		return nil
	}
	a.Filters[section] = map[string]string{}
	for _, c := range candidates {
		for _, name := range c.names {
			q.Query = url.Values{name: {c.value}}
			known, err := a.get(q)
			if err != nil {
				return err
			}
			if known.Status == http.StatusOK {
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

// get sends one request, and searches the response for the header prefix.
func (a *asking) get(q harness.Request) (*harness.Response, error) {
	r, err := a.Do(q)
	if err != nil {
		if why := spec.WrongSchemeOf(a.Context, a.Base, err); why != "" {
			return nil, errors.New(why)
		}
		return nil, fmt.Errorf("%s: %w", a.Base, err)
	}
	texts := []string{string(r.Body)}
	for name, values := range r.Header {
		texts = append(texts, name, strings.Join(values, ","))
	}
	for _, text := range texts {
		if m := brandName.FindStringSubmatch(text); m != nil && a.Prefix == "" {
			a.Prefix = m[1]
		}
	}
	return r, nil
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
