package mockserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
)

// apiError is a failure that knows its status; the engine's know only their kind.
type apiError struct {
	status    int
	text      string
	problems  []spec.Problem
	challenge string // WWW-Authenticate
	allow     string // Allow
	header    http.Header
	literal   bool // the text names headers as they are in more than one dialect
}

func (e *apiError) Error() string { return e.text }

// statuses maps the engine's kinds of errors (decided: 7, 21, 23).
var statuses = []struct {
	kind   error
	status int
}{
	{engine.ErrNotFound, http.StatusNotFound},
	{engine.ErrExists, http.StatusBadRequest},
	{engine.ErrNotDurable, http.StatusServiceUnavailable}, // before what the journal says
	{engine.ErrInvalid, http.StatusBadRequest},
	{engine.ErrEnded, http.StatusBadRequest},
	{engine.ErrFull, http.StatusTooManyRequests},
	{engine.ErrUnfit, http.StatusUnprocessableEntity},
	{engine.ErrClosed, http.StatusServiceUnavailable},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
	{context.Canceled, http.StatusServiceUnavailable},
}

// failure makes the answer to an error: the only place that chooses a failing
// status. The text is one line.
func failure(err error) *apiError {
	if known, ok := errors.AsType[*apiError](err); ok {
		return known
	}
	for _, row := range statuses {
		if errors.Is(err, row.kind) {
			return &apiError{status: row.status, text: oneLine(strings.TrimSuffix(err.Error(), ": "+row.kind.Error()))}
		}
	}
	return &apiError{status: http.StatusInternalServerError, text: "internal fault; the server's log has more"}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// invalid is a refused request.
func invalid(text string, problems ...spec.Problem) error {
	return &apiError{status: http.StatusBadRequest, text: text, problems: problems}
}

// refused turns problems of a request into an error: the first in the text,
// all of them for whoever asks with Accept: application/problem+json.
func refused(problems []spec.Problem) error {
	text := problems[0].String()
	if n := len(problems) - 1; n > 0 {
		lines := make([]string, 0, n)
		for _, p := range problems[1:] {
			lines = append(lines, p.String())
		}
		text += "; also " + strings.Join(lines, "; also ")
	}
	return invalid(text, problems...)
}

// both joins two refusals, so that the client learns of all at once.
func both(first, second error) error {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	a, b := failure(first), failure(second)
	if len(a.problems) == 0 || len(b.problems) == 0 {
		return first
	}
	return refused(append(slices.Clone(a.problems), b.problems...))
}

func errTooLarge(limit int64) error {
	return &apiError{status: http.StatusRequestEntityTooLarge, text: "body: larger than the limit of " + byteSize(limit) + "; --max-body raises it"}
}

// errLoop ends a message that was delivered to this server. Its status and
// header are those by which a destination asks for no further attempt.
func errLoop(text string) error {
	return &apiError{status: statusNonRetryable, text: text, header: http.Header{"Svc-Nonretryable-Error": {"true"}}}
}

// statusNonRetryable is the status of such a destination (wire.md, "Retries").
const statusNonRetryable = 489

func errUnauthorized(challenge, text string) error {
	return &apiError{status: http.StatusUnauthorized, challenge: challenge, text: text}
}

func errForbidden(text string) error {
	return &apiError{status: http.StatusForbidden, text: text}
}

// errDialect refuses names of another dialect, as they were sent.
func errDialect(text string) error {
	return &apiError{status: http.StatusBadRequest, text: text, literal: true}
}

// refusal reports whether the request is at fault.
func (e *apiError) refusal() bool { return e.status < http.StatusInternalServerError }

func errSlowBody(p pace) error {
	return &apiError{status: http.StatusRequestTimeout, text: fmt.Sprintf("body: arrives too slowly: must be at least %s per second, after the first %s", byteSize(p.rate), p.grace)}
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

func errNotReady(reason string) error {
	return &apiError{status: http.StatusServiceUnavailable, text: "not ready: " + oneLine(reason)}
}

// internal reports whether the fault is ours.
func (e *apiError) internal() bool { return internal(e.status) }

func internal(status int) bool { return status == http.StatusInternalServerError }

// unencodable is the answer when ours cannot be written as JSON.
func unencodable() (status int, body []byte) {
	return http.StatusInternalServerError, []byte(`{"error":"internal fault; the server's log has more"}`)
}

func errPath(path, nearest string) error {
	text := "path " + shorten(path) + ": operation not found"
	if nearest != "" {
		text += "; did you mean " + nearest + "?"
	}
	return &apiError{status: http.StatusNotFound, text: text + " (`understudy spec` lists all)"}
}

func errMethod(method, path string, allowed []string) error {
	list := strings.Join(allowed, ", ")
	return &apiError{status: http.StatusMethodNotAllowed, allow: list, text: "method " + method + " on " + shorten(path) + ": must be one of " + list}
}

// branded puts the dialect's names into an error.
func branded(d *spec.Dialect, e *apiError) *apiError {
	if d.HeaderPrefix == configPrefix || e.literal {
		return e
	}
	names := brandNames(d)
	out := *e
	out.text, out.problems = names.Replace(e.text), slices.Clone(e.problems)
	for i := range out.problems {
		p := &out.problems[i]
		p.Name, p.Message, p.Accepted = names.Replace(p.Name), names.Replace(p.Message), names.Replace(p.Accepted)
	}
	return &out
}

// brandNames puts the dialect's names into a text of the server.
func brandNames(d *spec.Dialect) *strings.Replacer {
	return strings.NewReplacer(configPrefix, d.HeaderPrefix, "svc_token", d.TokenQuery, strings.ToLower(configPrefix), d.QueryPrefix)
}

// problemBody is an error as application/problem+json (RFC 9457).
type problemBody struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail"`
	Error    string         `json:"error"`
	Problems []spec.Problem `json:"problems"`
}

// reply is the error as an answer in the form that the client accepts.
func (e *apiError) reply(r *http.Request, vector bool) reply {
	out := reply{status: e.status, header: http.Header{}}
	maps.Copy(out.header, e.header)
	if e.challenge != "" {
		out.header.Set("WWW-Authenticate", e.challenge)
	}
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		out.header.Set("Retry-After", "1")
	}
	if e.allow != "" {
		out.header.Set("Allow", e.allow)
	}
	switch {
	case strings.Contains(r.Header.Get("Accept"), "application/problem+json"):
		out.header.Set("Content-Type", "application/problem+json")
		problems := e.problems
		if len(problems) == 0 {
			problems = []spec.Problem{{In: "request", Rule: "value", Message: e.text}}
		}
		out.body = problemBody{Type: "about:blank", Title: http.StatusText(e.status), Status: e.status, Detail: e.text, Error: e.text, Problems: problems}
	case vector:
		out.body = map[string]any{"error": e.text, "status": e.status}
	default:
		out.body = map[string]string{"error": e.text}
	}
	return out
}

// encode is the body of an answer as JSON; raw bytes stay as they are.
func encode(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	return json.Marshal(body)
}
