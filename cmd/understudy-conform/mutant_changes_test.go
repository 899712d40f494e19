package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/route"
)

// mutant is one broken or one unusual implementation: middleware around a correct server. A
// mutant breaks one requirement, and the suite must report a failure of that requirement. A
// latitude varies what the interface document leaves open, and the suite must accept it. To add
// one, add a row to the table of its area.
type mutant struct {
	ID   string // PUB-002.1: a requirement, and a number; L01 for a latitude
	Text string // the difference, in one line

	// Build makes an instance with separate state. The instance calls hit whenever its
	// traffic differs from that of the correct implementation, so that tests find a mutant
	// that changes nothing.
	Build func(hit func()) mutantParts
}

// Breaks returns the requirement that must fail, such as PUB-002; "" for a latitude.
func (m *mutant) Breaks() string {
	requirement, _, _ := strings.Cut(m.ID, ".")
	if requirement == m.ID {
		return ""
	}
	return requirement
}

// mutantParts are the places where an implementation can be changed; nil leaves one unchanged.
type mutantParts struct {
	API      func(http.Handler) http.Handler           // around the server
	Delivery func(http.RoundTripper) http.RoundTripper // around the server's client for deliveries
	Plugin   func(config map[string]any)               // changes the configuration of the rate-limit plugin before it is parsed
	Host     func(http.Handler) http.Handler           // around the plugin in its host application
	App      func(limited, app http.Handler) http.Handler
	Storage  func(http.RoundTripper) http.RoundTripper // around the plugin's client for its storage
}

// allMutants returns all mutants, by area.
func allMutants() []mutant {
	var all []mutant
	for _, area := range [][]mutant{publishMutants, retryMutants, authMutants, groupMutants, dlqMutants, restartMutants, logMutants, flowMutants, statsMutants, searchMutants, vectorMutants, limitMutants, combinationMutants} {
		all = append(all, area...)
	}
	return all
}

// hostingPath reports whether a request is for the control API or test support, which
// mutants do not change.
func hostingPath(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/_understudy") }

// matching reports whether a change applies to a request.
type matching func(*http.Request) bool

// matchPath matches a method ("" for all) and a path.
func matchPath(method, path string) matching {
	expression := regexp.MustCompile("^" + path + "$")
	return func(r *http.Request) bool {
		return !hostingPath(r) && (method == "" || r.Method == method) && expression.MatchString(r.URL.EscapedPath())
	}
}

// matchOperation matches the method and path of an operation.
func matchOperation(r route.Route) matching { return matchPath(r.Method(), r.Pattern()) }

// Operations that mutants change.
var (
	publishingMessage = matchPath("", route.PublishMessage.Pattern())
	updatingGroup     = matchOperation(route.UpdateURLGroup)
	listingDLQ        = matchOperation(route.ListWorkflowDLQ)
	restartingRun     = matchOperation(route.RestartWorkflowRun)
	listingLog        = matchOperation(route.ListWorkflowMessageLogs)
	resumingKey       = matchOperation(route.ResumeFlowControlKey)
	readingStats      = matchOperation(route.GetUsageStatistics)
	deletingIndex     = matchOperation(route.DeleteSearchIndex)
	readingInfo       = matchPath("", "/info")
)

// wrapMatching is middleware for matching requests. It calls hit unless the server receives
// exactly the client's request, once, and the client receives the server's answer.
func wrapMatching(m matching, hit func(), f func(w http.ResponseWriter, r *http.Request, next http.Handler)) mutantParts {
	return mutantParts{API: func(next http.Handler) http.Handler { return compareExchange(m, hit, next, f) }}
}

func compareExchange(m matching, hit func(), next http.Handler, f func(w http.ResponseWriter, r *http.Request, next http.Handler)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !m(r) {
			next.ServeHTTP(w, r)
			return
		}
		asked := wireText(r)
		var seen []string
		var given []answer
		watched := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, wireText(r))
			a := serverAnswer(next, r)
			given = append(given, a)
			a.write(w)
		})
		rec := recorder.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(w, r, watched) }), r)
		a := answer{rec.Status, rec.Header(), rec.Body.Bytes()}
		if len(seen) != 1 || seen[0] != asked || !a.equals(given[0]) {
			hit()
		}
		a.write(w)
	})
}

// wireText formats a request as it is sent, for comparisons.
func wireText(r *http.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s\n", r.Method, r.URL.Host, r.URL.RequestURI())
	_ = r.Header.Write(&b) // a builder returns no errors
	b.WriteByte('\n')
	b.Write(readBody(r))
	return b.String()
}

// changeRequest changes matching requests before the server receives them.
func changeRequest(m matching, change func(r *http.Request)) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			change(r)
			next.ServeHTTP(w, r)
		})
	}
}

// answer is the response of a server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// serverAnswer calls the server and records its answer.
func serverAnswer(next http.Handler, r *http.Request) answer {
	rec := recorder.Serve(next, r)
	return answer{rec.Status, rec.Header(), rec.Body.Bytes()}
}

// equals compares what clients can distinguish; JSON is compared by its values.
func (a answer) equals(b answer) bool {
	if a.status != b.status || a.header.Get("Content-Type") != b.header.Get("Content-Type") {
		return false
	}
	if bytes.Equal(a.body, b.body) {
		return true
	}
	x, y := decodeJSON(a.body), decodeJSON(b.body)
	return x != nil && y != nil && bytes.Equal(encodeJSON(x), encodeJSON(y))
}

func (a answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client may have disconnected
}

// decodeJSON decodes a body; nil when it is not JSON.
func decodeJSON(body []byte) any {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func encodeJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // decoded JSON always encodes
	}
	return text
}

// changeReply changes the JSON object of matching answers with status below 300.
func changeReply(m matching, change func(r *http.Request, v map[string]any)) func(func()) mutantParts {
	return replyAny(m, func(r *http.Request, v any) any {
		if object, ok := v.(map[string]any); ok {
			change(r, object)
		}
		return v
	})
}

func replyAny(m matching, change func(r *http.Request, v any) any) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := serverAnswer(next, r)
			if v := decodeJSON(a.body); a.status < 300 && v != nil {
				a.body = encodeJSON(change(r, v))
			}
			a.write(w)
		})
	}
}

// changeResponse changes matching answers of any status.
func changeResponse(m matching, change func(r *http.Request, a *answer)) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := serverAnswer(next, r)
			change(r, &a)
			a.write(w)
		})
	}
}

// changeItems changes every object of a list in matching answers.
func changeItems(m matching, list string, change func(item map[string]any)) func(func()) mutantParts {
	return changeReply(m, func(_ *http.Request, v map[string]any) {
		items, _ := v[list].([]any)
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				change(object)
			}
		}
	})
}

// filterItems keeps only the objects of a list that match.
func filterItems(m matching, list string, fits func(item map[string]any) bool) func(func()) mutantParts {
	return changeReply(m, func(_ *http.Request, v map[string]any) {
		items, _ := v[list].([]any)
		kept := []any{}
		for _, item := range items {
			if object, ok := item.(map[string]any); ok && fits(object) {
				kept = append(kept, item)
			}
		}
		v[list] = kept
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// changeDelivery changes requests to destinations. It leaves calls of workflow endpoints
// unchanged unless all is true, because they have a separate protocol.
func changeDelivery(all bool, change func(r *http.Request, next http.RoundTripper) (*http.Response, error)) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return mutantParts{Delivery: func(next http.RoundTripper) http.RoundTripper {
			return tripper(func(r *http.Request) (*http.Response, error) {
				if !all && r.Header.Get(header.WorkflowRunID) != "" {
					return next.RoundTrip(r)
				}
				return comparedTrip(r, next, hit, change)
			})
		}}
	}
}

// comparedTrip is compareExchange for requests of the server itself.
func comparedTrip(r *http.Request, next http.RoundTripper, hit func(), change func(r *http.Request, next http.RoundTripper) (*http.Response, error)) (*http.Response, error) {
	asked := wireText(r)
	trips, status, same := 0, 0, true
	response, err := change(r, tripper(func(r *http.Request) (*http.Response, error) {
		trips++
		same = same && wireText(r) == asked
		response, err := next.RoundTrip(r)
		if err == nil {
			status = response.StatusCode
		}
		return response, err
	}))
	if trips != 1 || !same || response != nil && response.StatusCode != status {
		hit()
	}
	return response, err
}

// readBody returns the body of a request, and sets it again.
func readBody(r *http.Request) []byte {
	if r.Body == nil {
		return nil
	}
	text, _ := io.ReadAll(r.Body) // the body is in memory
	setBody(r, text)
	return text
}

func setBody(r *http.Request, text []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	if text == nil {
		r.Body = http.NoBody
	}
}

// joinChanges combines two changes of the API, the deliveries, or both.
func joinChanges(a, b func(func()) mutantParts) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		x, y := a(hit), b(hit)
		if x.API == nil {
			x.API = y.API
		} else if y.API != nil {
			inner, outer := x.API, y.API
			x.API = func(next http.Handler) http.Handler { return outer(inner(next)) }
		}
		if x.Delivery == nil {
			x.Delivery = y.Delivery
		} else if y.Delivery != nil {
			inner, outer := x.Delivery, y.Delivery
			x.Delivery = func(next http.RoundTripper) http.RoundTripper { return outer(inner(next)) }
		}
		return x
	}
}

// setQuery changes the query of a request.
func setQuery(r *http.Request, change func(q map[string][]string)) {
	q := r.URL.Query()
	change(q)
	r.URL.RawQuery = q.Encode()
}

// integerOf returns an integer field of an item, 0 when it is missing.
func integerOf(item map[string]any, field string) int64 {
	n, _ := item[field].(json.Number)
	i, _ := n.Int64()
	return i
}

func jsonNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
