package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/header"
)

// publishMutants break publishing and deliveries. Sorted by id.
var publishMutants = []mutant{
	{ID: "PUB-001.1", Text: "the destination is percent-decoded twice", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if plain, err := url.PathUnescape(r.URL.EscapedPath()); err == nil {
			r.URL.Path, r.URL.RawPath = plain, ""
		}
	})},
	{ID: "PUB-001.2", Text: "a trailing slash of the destination is cut off", Build: changeRequest(publishingMessage, func(r *http.Request) {
		r.URL.Path, r.URL.RawPath = strings.TrimRight(r.URL.Path, "/"), strings.TrimRight(r.URL.RawPath, "/")
	})},
	{ID: "PUB-001.3", Text: "doubled slashes of the destination are made one", Build: changeRequest(publishingMessage, func(r *http.Request) {
		for _, p := range []*string{&r.URL.Path, &r.URL.RawPath} {
			head, rest, ok := strings.Cut(*p, "://")
			if ok {
				for strings.Contains(rest, "//") {
					rest = strings.ReplaceAll(rest, "//", "/")
				}
				*p = head + "://" + rest
			}
		}
	})},
	{ID: "PUB-001.4", Text: "messages to different destinations all go to the first one", Build: toTheFirst},
	{ID: "PUB-001.5", Text: "the path of the destination is written in lower case", Build: changeRequest(publishingMessage, inPath(strings.ToLower))},
	{ID: "PUB-001.6", Text: "a plus sign in the path becomes a space", Build: changeRequest(publishingMessage, inPath(func(p string) string { return strings.ReplaceAll(p, "+", "%20") }))},
	{ID: "PUB-001.7", Text: "what follows a semicolon in the path is cut off", Build: changeRequest(publishingMessage, inPath(func(p string) string {
		head, _, _ := strings.Cut(p, ";")
		return head
	}))},
	{ID: "PUB-001.8", Text: "of two messages to a destination within a second the second is dropped", Build: droppedSoonAfter(func(r *http.Request) bool { return !ofGroup(r) })},
	{ID: "PUB-001.9", Text: "messages that are published at once take the body of the last one", Build: crossBodies(publishingMessage)},
	{ID: "PUB-001.10", Text: "a message that is the same as one before is dropped", Build: droppedTwin},
	{ID: "PUB-003.1", Text: "publish takes the token in the query only", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.WorkflowInit) == "" {
			r.Header.Del("Authorization")
		}
	})},
	{ID: "PUB-003.2", Text: "a group does not take the token in the header", Build: changeRequest(onGroups, func(r *http.Request) { r.Header.Del("Authorization") })},
	{ID: "PUB-003.3", Text: "the header is not looked at beside configuration in the query", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if strings.Contains(r.URL.RawQuery, header.Query(header.Prefix)) {
			r.Header.Del("Authorization")
		}
	})},
	{ID: "PUB-004.1", Text: "the token in the query is not accepted", Build: changeRequest(publishingMessage, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == "svc_token" })
	})},
	{ID: "PUB-004.2", Text: "a group does not take the token in the query", Build: changeRequest(onGroups, func(r *http.Request) { dropQuery(r, func(name string) bool { return name == "svc_token" }) })},
	{ID: "PUB-004.3", Text: "the token in the query counts only when it comes first", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if !strings.HasPrefix(r.URL.RawQuery, "svc_token") {
			dropQuery(r, func(name string) bool { return name == "svc_token" })
		}
	})},
	{ID: "PUB-005.1", Text: "query configuration is ignored as soon as a configuration header is present", Build: changeRequest(publishingMessage, func(r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, header.Prefix) && !strings.HasPrefix(name, header.ForwardPrefix) && !strings.HasPrefix(name, header.Prefix+"Workflow") {
				dropQuery(r, func(name string) bool { return strings.HasPrefix(name, header.Query(header.Prefix)) })
			}
		}
	})},
	{ID: "PUB-005.2", Text: "retries in the query are ignored", Build: ignoreQuery(header.Retries)},
	{ID: "PUB-005.3", Text: "a delay in the query is ignored", Build: ignoreQuery(header.Delay)},
	{ID: "PUB-005.4", Text: "a flow-control key in the query is ignored", Build: changeRequest(publishingMessage, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return strings.HasPrefix(name, header.Query(header.Prefix+"Flow-Control")) })
	})},
	{ID: "PUB-005.5", Text: "a failure callback in the query is ignored", Build: ignoreQuery(header.FailureCallback)},
	{ID: "PUB-005.6", Text: "retries in the query are read as none", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.URL.Query().Has(header.Query(header.Retries)) {
			setQuery(r, func(q map[string][]string) { q[header.Query(header.Retries)] = []string{"0"} })
		}
	})},
	{ID: "PUB-005.7", Text: "configuration in the query is ignored for a group", Build: changeRequest(onGroups, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return strings.HasPrefix(name, header.Query(header.Prefix)) })
	})},
	{ID: "PUB-006.1", Text: "headers with the forward prefix are dropped", Build: changeRequest(publishingMessage, func(r *http.Request) {
		dropHeader(r.Header, func(name string) bool {
			return strings.HasPrefix(name, header.ForwardPrefix) && !strings.HasPrefix(name, header.ForwardPrefix+header.Prefix)
		})
	})},
	{ID: "PUB-006.2", Text: "only the first of the headers with the prefix is forwarded", Build: changeRequest(publishingMessage, func(r *http.Request) {
		dropAllButFirst(r.Header, func(name string) bool { return strings.HasPrefix(name, header.ForwardPrefix+"X") })
	})},
	{ID: "PUB-006.3", Text: "headers with the prefix are dropped for a group", Build: changeRequest(onGroups, func(r *http.Request) {
		dropHeader(r.Header, func(name string) bool { return strings.HasPrefix(name, header.ForwardPrefix+"X") })
	})},
	{ID: "PUB-006.4", Text: "headers with the prefix are dropped when the token is in the query", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.URL.Query().Has("svc_token") {
			dropHeader(r.Header, func(name string) bool { return strings.HasPrefix(name, header.ForwardPrefix+"X") })
		}
	})},
	{ID: "PUB-006.5", Text: "of a header with the prefix that comes twice the first value is forwarded", Build: changeRequest(publishingMessage, firstValues(header.ForwardPrefix+"X"))},
	{ID: "PUB-007.1", Text: "all headers are forwarded without being asked for", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.WorkflowInit) == "" {
			r.Header.Set(header.HeaderForward, "true")
		}
	})},
	{ID: "PUB-007.2", Text: header.HeaderForward + ": false is taken for true", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.HeaderForward) != "" {
			r.Header.Set(header.HeaderForward, "true")
		}
	})},
	{ID: "PUB-007.3", Text: header.Query(header.HeaderForward) + "=false is taken for true", Build: changeRequest(publishingMessage, func(r *http.Request) {
		r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, header.Query(header.HeaderForward)+"=false", header.Query(header.HeaderForward)+"=true")
	})},
	{ID: "PUB-007.4", Text: "the credential goes to the destination", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if v := r.Header.Get("Authorization"); v != "" && !ofWorkflow(r) {
			r.Header.Set(header.ForwardPrefix+"Authorization", v)
		}
	})},
	{ID: "PUB-007.5", Text: "all headers are forwarded to the endpoints of a group", Build: changeRequest(onGroups, func(r *http.Request) { r.Header.Set(header.HeaderForward, "true") })},
	{ID: "PUB-007.6", Text: "cookies are forwarded", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if v := r.Header.Get("Cookie"); v != "" {
			r.Header.Set(header.ForwardPrefix+"Cookie", v)
		}
	})},
	{ID: "PUB-008.1", Text: "header forwarding by a header is ignored", Build: changeRequest(publishingMessage, func(r *http.Request) { r.Header.Del(header.HeaderForward) })},
	{ID: "PUB-008.2", Text: "only the first header is forwarded", Build: onlyTheFirst},
	{ID: "PUB-008.3", Text: "all headers are forwarded with the prefix", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.HeaderForward) == "true" {
			prefixHeaders(r.Header)
		}
	})},
	{ID: "PUB-008.4", Text: "only headers that begin with X- are forwarded", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.HeaderForward) == "true" {
			dropHeader(r.Header, ordinaryHeader)
		}
	})},
	{ID: "PUB-008.5", Text: "header forwarding by a header is ignored for a group", Build: changeRequest(onGroups, func(r *http.Request) { r.Header.Del(header.HeaderForward) })},
	{ID: "PUB-008.6", Text: "of a header that comes twice the first value is forwarded", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.HeaderForward) == "true" {
			firstValues("X-")(r)
		}
	})},
	{ID: "PUB-009.1", Text: "the query form of header forwarding is ignored", Build: ignoreQuery(header.HeaderForward)},
	{ID: "PUB-009.2", Text: "header forwarding by the query forwards X- headers only", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if forwardsByQuery(r) {
			dropHeader(r.Header, ordinaryHeader)
		}
	})},
	{ID: "PUB-009.3", Text: "header forwarding by the query is ignored for a group", Build: changeRequest(onGroups, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == header.Query(header.HeaderForward) })
	})},
	{ID: "PUB-009.4", Text: "header forwarding by the query is ignored beside the header Authorization", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			dropQuery(r, func(name string) bool { return name == header.Query(header.HeaderForward) })
		}
	})},
	{ID: "PUB-009.5", Text: "header forwarding by the query keeps the prefix", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if forwardsByQuery(r) {
			prefixHeaders(r.Header)
		}
	})},
	{ID: "PUB-010.1", Text: "a delay is ignored", Build: changeRequest(publishingMessage, func(r *http.Request) {
		r.Header.Del(header.Delay)
		dropQuery(r, func(name string) bool { return name == header.Query(header.Delay) })
	})},
	{ID: "PUB-010.2", Text: "a delay is read as half of it", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if seconds, ok := strings.CutSuffix(r.Header.Get(header.Delay), "s"); ok {
			if n, err := strconv.Atoi(seconds); err == nil {
				r.Header.Set(header.Delay, strconv.Itoa(n/2)+"s")
			}
		}
	})},
	{ID: "PUB-010.3", Text: "a delay is ignored for a group", Build: changeRequest(onGroups, func(r *http.Request) { r.Header.Del(header.Delay) })},
	{ID: "PUB-010.4", Text: "a delay of more than a second is a second", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if r.Header.Get(header.Delay) != "" && !ofWorkflow(r) {
			r.Header.Set(header.Delay, "1s")
		}
	})},
	{ID: "PUB-010.5", Text: "a delayed message is never delivered", Build: func(hit func()) mutantParts {
		return wrapMatching(publishingMessage, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Header.Get(header.Delay) != "" && !ofWorkflow(r) {
				r.Header.Set(header.Delay, "9000000s")
			}
			next.ServeHTTP(w, r)
		})
	}},
	{ID: "PUB-011.1", Text: "a JSON body is rewritten", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		var v any
		if text := readBody(r); json.Unmarshal(text, &v) == nil {
			setBody(r, encodeJSON(v))
		}
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.2", Text: "a body over 64 KiB is cut silently", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if text := readBody(r); len(text) > 64<<10 {
			setBody(r, text[:64<<10])
		}
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.3", Text: "an empty body becomes {}", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if len(readBody(r)) == 0 {
			setBody(r, []byte("{}"))
		}
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.4", Text: "bytes that are no UTF-8 are replaced", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		setBody(r, bytes.ToValidUTF8(readBody(r), []byte("?")))
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.5", Text: "line ends become those of Unix", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		setBody(r, bytes.ReplaceAll(readBody(r), []byte("\r\n"), []byte("\n")))
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.6", Text: "a body loses the space at its end", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		setBody(r, bytes.TrimRight(readBody(r), " \n"))
		return next.RoundTrip(r)
	})},
	{ID: "PUB-012.1", Text: "a multipart body is refused", Build: refuseMatching(publishingMessage, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") })},
	{ID: "PUB-012.2", Text: "a form is refused", Build: refuseMatching(publishingMessage, func(r *http.Request) bool { return strings.Contains(r.Header.Get("Content-Type"), "urlencoded") })},
	{ID: "PUB-012.3", Text: "signature headers of the sender are dropped", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		dropHeader(r.Header, func(name string) bool { return name != header.Signature && strings.Contains(name, "Signature") })
		return next.RoundTrip(r)
	})},
	{ID: "PUB-013.1", Text: "a timeout in a header is ignored", Build: changeRequest(publishingMessage, func(r *http.Request) { r.Header.Del(header.Timeout) })},
	{ID: "PUB-013.2", Text: "a timeout in the query is ignored", Build: ignoreQuery(header.Timeout)},
	{ID: "PUB-013.3", Text: "seconds of a timeout are read as minutes", Build: changeRequest(publishingMessage, func(r *http.Request) {
		if n, ok := strings.CutSuffix(r.Header.Get(header.Timeout), "s"); ok {
			r.Header.Set(header.Timeout, n+"m")
		}
	})},
	{ID: "PUB-014.1", Text: "a callback in a header is ignored", Build: changeRequest(publishingMessage, func(r *http.Request) { r.Header.Del(header.Callback) })},
	{ID: "PUB-014.2", Text: "a callback in the query is ignored", Build: ignoreQuery(header.Callback)},
	{ID: "PUB-014.3", Text: "a failure callback is ignored", Build: changeRequest(publishingMessage, func(r *http.Request) { r.Header.Del(header.FailureCallback) })},
}

// ignoreQuery drops the query parameter of a configuration header.
func ignoreQuery(name string) func(func()) mutantParts {
	return changeRequest(publishingMessage, func(r *http.Request) {
		dropQuery(r, func(given string) bool { return given == header.Query(name) })
	})
}

// retryMutants break retries. Sorted by id.
var retryMutants = []mutant{
	{ID: "RTY-001.1", Text: "a failed delivery is never retried", Build: changeRetries(func(int) int { return 0 })},
	{ID: "RTY-001.2", Text: "an answer of 4xx is taken for a success", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode/100 == 4 {
			response.StatusCode = http.StatusOK
		}
		return response, err
	})},
	{ID: "RTY-001.3", Text: "a retry goes out without its body", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Header.Get(header.Retried) != "0" {
			setBody(r, nil)
		}
		return next.RoundTrip(r)
	})},
	{ID: "RTY-001.4", Text: "a connection that breaks is taken for a delivery", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return fakeDelivery(), nil
		}
		return response, nil
	})},
	{ID: "RTY-001.5", Text: "of the errors of a server only 500 and 503 are tried again", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode > http.StatusInternalServerError && response.StatusCode != http.StatusServiceUnavailable {
			response.StatusCode = http.StatusOK
		}
		return response, err
	})},
	{ID: "RTY-001.6", Text: "an answer of 429 is taken for a delivery", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusTooManyRequests {
			response.StatusCode = http.StatusOK
		}
		return response, err
	})},
	{ID: "RTY-001.7", Text: "a message to a group is never tried again", Build: changeRequest(onGroups, func(r *http.Request) { r.Header.Set(header.Retries, "0") })},
	{ID: "RTY-002.1", Text: "one retry too many", Build: changeRetries(func(n int) int { return n + 1 })},
	{ID: "RTY-002.2", Text: "one retry is taken for the default of three", Build: changeRetries(func(n int) int {
		if n == 1 {
			return 3
		}
		return n
	})},
	{ID: "RTY-002.3", Text: "of more than one retry one is left out", Build: changeRetries(func(n int) int {
		if n > 1 {
			return n - 1
		}
		return n
	})},
	{ID: "RTY-002.4", Text: "retries are doubled", Build: changeRetries(func(n int) int { return 2 * n })},
	{ID: "RTY-002.5", Text: "more than three retries are three", Build: changeRetries(func(n int) int { return min(n, 3) })},
	{ID: "RTY-003.1", Text: "a delivery that succeeded is repeated", Build: deliverTwice},
	{ID: "RTY-004.1", Text: "retries 0 are taken for the default", Build: changeRetries(func(n int) int {
		if n == 0 {
			return 3
		}
		return n
	})},
	{ID: "RTY-004.2", Text: "retries 0 are taken for 1", Build: changeRetries(func(n int) int { return max(n, 1) })},
	{ID: "RTY-004.3", Text: "retries in a header are ignored", Build: changeRequest(publishingMessage, func(r *http.Request) { r.Header.Del(header.Retries) })},
}

// changeRetries changes the number of retries in headers, queries and group defaults.
func changeRetries(change func(int) int) func(func()) mutantParts {
	one := func(text string) string {
		var n int
		if json.Unmarshal([]byte(text), &n) != nil {
			return text
		}
		return string(encodeJSON(change(n)))
	}
	return joinChanges(changeRequest(publishingMessage, func(r *http.Request) {
		if v := r.Header.Get(header.Retries); v != "" {
			r.Header.Set(header.Retries, one(v))
		}
		if strings.Contains(r.URL.RawQuery, header.Query(header.Retries)) {
			setQuery(r, func(q map[string][]string) {
				if v := q[header.Query(header.Retries)]; len(v) > 0 {
					q[header.Query(header.Retries)] = []string{one(v[0])}
				}
			})
		}
	}), changeRequest(updatingGroup, func(r *http.Request) {
		if v, ok := decodeJSON(readBody(r)).(map[string]any); ok {
			headers, _ := v["headers"].(map[string]any)
			if n, ok := headers[header.Retries].(string); ok {
				headers[header.Retries] = one(n)
				setBody(r, encodeJSON(v))
			}
		}
	}))
}

// toTheFirst sends every delivery of a scenario to its first endpoint.
func toTheFirst(hit func()) mutantParts {
	var mu sync.Mutex
	first := map[string]string{}
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		parts := strings.SplitN(r.URL.Path, "/", 6)
		if len(parts) < 5 || strings.Contains(string(readBody(r)), "sentinel") {
			return next.RoundTrip(r)
		}
		mu.Lock()
		if first[parts[3]] == "" {
			first[parts[3]] = parts[4]
		}
		to := first[parts[3]]
		mu.Unlock()
		r.URL.Path, r.URL.RawPath = strings.Replace(r.URL.Path, parts[4], to, 1), strings.Replace(r.URL.RawPath, parts[4], to, 1)
		return next.RoundTrip(r)
	})(hit)
}

// onlyTheFirst forwards only the first of the headers, by name.
func onlyTheFirst(hit func()) mutantParts {
	return changeRequest(publishingMessage, func(r *http.Request) {
		forwarding := r.Header.Get(header.HeaderForward) == "true" || strings.Contains(r.URL.RawQuery, header.Query(header.HeaderForward)+"=true")
		if !forwarding {
			return
		}
		var names []string
		for name := range r.Header {
			if strings.HasPrefix(name, "X-") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for i, name := range names {
			if i > 0 {
				r.Header.Del(name)
			}
		}
	})(hit)
}

// refuseMatching answers 415 to requests that match.
func refuseMatching(m matching, fits func(*http.Request) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if fits(r) {
				http.Error(w, `{"error":"no"}`, http.StatusUnsupportedMediaType)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func dropHeader(h http.Header, fits func(name string) bool) {
	for name := range h {
		if fits(name) {
			delete(h, name)
		}
	}
}

// dropQuery removes parameters; the encoding of the others does not change.
func dropQuery(r *http.Request, fits func(name string) bool) {
	var kept []string
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(part, "="); part != "" && !fits(name) {
			kept = append(kept, part)
		}
	}
	r.URL.RawQuery = strings.Join(kept, "&")
}

// deliverTwice repeats each successful delivery.
func deliverTwice(hit func()) mutantParts {
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		text := readBody(r)
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode/100 != 2 {
			return response, err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		again := r.Clone(r.Context())
		setBody(again, text)
		return next.RoundTrip(again)
	})(hit)
}
