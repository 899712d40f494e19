package response

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// Error is an error with an HTTP status; errors of the engine have only a kind. Its
// message is Text, or is made from Problems or the cause.
type Error struct {
	Status    int
	Text      string
	Place     string // in a larger request, such as "item 3"
	Problems  []spec.Problem
	cause     *refusal.Error
	challenge string // WWW-Authenticate
	allow     string // Allow
	header    http.Header
	literal   bool // the text has header names of several dialects, and Branded leaves them
}

// Error returns the message in one line, with all problems.
func (e *Error) Error() string {
	text := e.Text
	switch {
	case e.cause != nil:
		text = e.cause.Error()
	case len(e.Problems) > 0:
		lines := make([]string, len(e.Problems))
		for i, p := range e.Problems {
			lines[i] = p.String()
		}
		text = strings.Join(lines, "; also ")
	}
	if e.Place != "" {
		return e.Place + ": " + text
	}
	return text
}

// refusalStatuses maps the engine's kinds of errors (decided: 7, 21, 23).
var refusalStatuses = []struct {
	kind   error
	status int
}{
	{refusal.NotFound, http.StatusNotFound},
	{refusal.Exists, http.StatusBadRequest},
	{refusal.NotDurable, http.StatusServiceUnavailable}, // before the kinds that an error of the journal may have
	{refusal.Invalid, http.StatusBadRequest},
	{refusal.Ended, http.StatusBadRequest},
	{refusal.Full, http.StatusTooManyRequests},
	{refusal.Unfit, http.StatusUnprocessableEntity},
	{refusal.Closed, http.StatusServiceUnavailable},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
	{context.Canceled, http.StatusServiceUnavailable},
}

// Failure converts an error to an Error, with the status of its kind and a text in
// one line. Errors of no known kind become 500, without details.
func Failure(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if errors.Is(err, refusal.Loop) {
		return loopError(clip.Line(err.Error()))
	}
	for _, row := range refusalStatuses {
		if !errors.Is(err, row.kind) {
			continue
		}
		out := &Error{Status: row.status, Text: clip.Line(err.Error())}
		out.cause, _ = err.(*refusal.Error) //nolint:errorlint // what is wrapped says more than the refusal in it
		return out
	}
	return &Error{Status: http.StatusInternalServerError, Text: "internal error; see the server's log"}
}

// Invalid returns an error with status 400.
func Invalid(text string) error { return &Error{Status: http.StatusBadRequest, Text: text} }

// Refused returns an error with status 400 for the problems of a request. Its text
// has all of them; application/problem+json lists them one by one.
func Refused(problems []spec.Problem) error {
	return &Error{Status: http.StatusBadRequest, Problems: problems}
}

// Value returns the problem with one value of a request, from the error of its
// parser.
func Value(in, name, value string, err error) spec.Problem {
	why, want := err.Error(), ""
	if r, ok := errors.AsType[*refusal.Error](err); ok {
		why, want = r.Why, r.Want
	}
	return Problem(in, name, strconv.Quote(Shorten(value)), why, want)
}

// JoinRefused joins the problems of two errors, so that one response reports all.
// Either may be nil. It returns first if one of them has no problems.
func JoinRefused(first, second error) error {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	a, b := Failure(first), Failure(second)
	if len(a.Problems) == 0 || len(b.Problems) == 0 {
		return first
	}
	return Refused(append(slices.Clone(a.Problems), b.Problems...))
}

// TooLargeAnswer refuses a request whose answer would be above the limit.
func TooLargeAnswer(limit int64) error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Text: "answer: larger than the limit of " + ByteSize(limit) + "; ask for less at a time, or raise it with --memory (an eighth of it)"}
}

// TooLarge refuses a body above the limit.
func TooLarge(limit int64) error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Text: "body: larger than the limit of " + ByteSize(limit) + "; raise it with --max-body"}
}

// Loop returns the error for a delivery loop. With its status and header, a
// destination asks for no further attempt, so the message ends.
func Loop(text string) error { return loopError(text) }

func loopError(text string) *Error {
	return &Error{Status: statusNonRetryable, Text: text, header: http.Header{"Svc-Nonretryable-Error": {"true"}}}
}

// statusNonRetryable is the status of a destination that asks for no retry (wire.md, "Retries").
const statusNonRetryable = 489

// Unauthorized refuses a request without valid credentials.
func Unauthorized(challenge, text string) error {
	return &Error{Status: http.StatusUnauthorized, challenge: challenge, Text: text}
}

// Forbidden refuses a request whose credentials do not suffice.
func Forbidden(text string) error {
	return &Error{Status: http.StatusForbidden, Text: text}
}

// MixedDialects refuses names of another dialect. Its text has the names as sent.
func MixedDialects(text string) error {
	return &Error{Status: http.StatusBadRequest, Text: text, literal: true}
}

// Refusal reports whether the request is at fault, not the server.
func (e *Error) Refusal() bool { return e.Status < http.StatusInternalServerError }

// SlowBody refuses a body that arrives below the rate, after the first grace.
func SlowBody(rate int64, grace time.Duration) error {
	return &Error{Status: http.StatusRequestTimeout, Text: fmt.Sprintf("body: arrives too slowly: must be at least %s per second, after the first %s", ByteSize(rate), grace)}
}

// IsTimeout reports whether a read ended at its deadline.
func IsTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// NotReady refuses a request while the server cannot answer it.
func NotReady(reason string) error {
	return &Error{Status: http.StatusServiceUnavailable, Text: "not ready: " + clip.Line(reason)}
}

// Internal reports whether the error is a fault of the server.
func (e *Error) Internal() bool { return Internal(e.Status) }

// Internal reports whether the status is that of a fault of the server.
func Internal(status int) bool { return status == http.StatusInternalServerError }

// UnknownPath refuses a path without an operation.
func UnknownPath(path, hint string) error {
	text := "path " + Shorten(path) + ": operation not found" + hint
	list := "understudy spec"
	if strings.HasPrefix(path, "/_understudy/") {
		list += " --control"
	}
	return &Error{Status: http.StatusNotFound, Text: text + " (`" + list + "` lists all)"}
}

// WrongMethod refuses a method that the operations of a path do not have.
func WrongMethod(method, path string, allowed []string) error {
	list := strings.Join(allowed, ", ")
	return &Error{Status: http.StatusMethodNotAllowed, allow: list, Text: "method " + method + " on " + Shorten(path) + ": must be one of " + list}
}

// Branded replaces the neutral names in an error by those of a dialect. Values stay
// as the client sent them.
func Branded(d *spec.Dialect, e *Error) *Error {
	if d.HeaderPrefix == header.Prefix || e.literal {
		return e
	}
	names := BrandNames(d)
	out := *e
	out.Text, out.Problems = names.Replace(e.Text), slices.Clone(e.Problems)
	for i, p := range out.Problems {
		out.Problems[i] = BrandedProblem(d, p)
	}
	if e.cause != nil {
		r := *e.cause
		r.What, r.Why, r.Want = names.Replace(r.What), names.Replace(r.Why), names.Replace(r.Want)
		out.cause = &r
	}
	return &out
}

// BrandedProblem replaces the neutral names in a problem by those of a dialect.
func BrandedProblem(d *spec.Dialect, p spec.Problem) spec.Problem {
	names := BrandNames(d)
	p.Name, p.Message, p.Accepted = names.Replace(p.Name), names.Replace(p.Message), names.Replace(p.Accepted)
	return p
}

// BrandNames returns the replacer of neutral names by those of a dialect.
func BrandNames(d *spec.Dialect) *strings.Replacer {
	return strings.NewReplacer(header.Prefix, d.HeaderPrefix, "svc_token", d.TokenQuery, strings.ToLower(header.Prefix), d.QueryPrefix)
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

// Response returns the response for the error, in a form that the client accepts.
// vector selects the form of the vector API.
func (e *Error) Response(r *http.Request, vector bool) Response {
	out := Response{Status: e.Status, Header: http.Header{}}
	maps.Copy(out.Header, e.header)
	if e.challenge != "" {
		out.Header.Set("WWW-Authenticate", e.challenge)
	}
	if e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable {
		out.Header.Set("Retry-After", "1")
	}
	if e.allow != "" {
		out.Header.Set("Allow", e.allow)
	}
	text := e.Error()
	switch {
	case strings.Contains(r.Header.Get("Accept"), "application/problem+json"):
		out.Header.Set("Content-Type", "application/problem+json")
		problems := slices.Clone(e.Problems)
		for i := range problems {
			problems[i].Name = strings.TrimSpace(e.Place + " " + problems[i].Name)
		}
		if len(problems) == 0 {
			problems = []spec.Problem{{In: "request", Rule: "value", Message: text}}
		}
		out.Body = problemBody{Type: "about:blank", Title: http.StatusText(e.Status), Status: e.Status, Detail: text, Error: text, Problems: problems}
	case vector:
		out.Body = map[string]any{"error": text, "status": e.Status}
	default:
		out.Body = map[string]string{"error": text}
	}
	return out
}

// Problem returns a violation that a handler has found. An empty message means that
// the value is invalid, and accepted says the rest.
func Problem(in, name, received, message, accepted string) spec.Problem {
	return spec.Problem{In: in, Name: name, Rule: "value", Message: cmp.Or(clip.Line(message), spec.InvalidValue), Received: received, Accepted: accepted}
}

// Unencodable returns the response for a body that cannot be encoded as JSON.
func Unencodable() (status int, body []byte) {
	return http.StatusInternalServerError, []byte(`{"error":"internal error; see the server's log"}`)
}

// Unfit returns an error that says why a value is invalid and what is accepted. The
// caller adds the name and the place of the value.
func Unfit(why, want string) error {
	return &refusal.Error{Why: why, Want: want, Kind: refusal.Invalid}
}

// RefusedValue returns an error with status 400 for one value of a request.
func RefusedValue(in, name, value string, err error) error {
	return Refused([]spec.Problem{Value(in, name, value, err)})
}
