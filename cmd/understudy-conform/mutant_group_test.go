package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-mock/understudy/spec/header"
)

// groupMutants break URL groups. Sorted by id.
var groupMutants = []mutant{
	{ID: "GRP-001.1", Text: "an update refuses a value that is an array", Build: refuseMatching(updatingGroup, func(r *http.Request) bool { return strings.Contains(string(readBody(r)), "[") })},
	{ID: "GRP-001.2", Text: "an update refuses a value that is a string", Build: refuseMatching(updatingGroup, func(r *http.Request) bool { return !strings.Contains(string(readBody(r)), "[") })},
	{ID: "GRP-001.3", Text: "of an array only the first value is kept", Build: changedUpdate(func(headers map[string]any) {
		for name, v := range headers {
			if list, ok := v.([]any); ok {
				headers[name] = list[0]
			}
		}
	})},
	{ID: "GRP-001.4", Text: "of an array only the last value is kept", Build: changedUpdate(func(headers map[string]any) {
		for name, v := range headers {
			if list, ok := v.([]any); ok {
				headers[name] = list[len(list)-1]
			}
		}
	})},
	{ID: "GRP-002.1", Text: "a default header is on the first endpoint only", Build: headersOf(func(n int) bool { return n == 0 })},
	{ID: "GRP-002.2", Text: "an update answers 2xx and is not applied", Build: changeRequest(updatingGroup, func(r *http.Request) { setBody(r, []byte(`{"headers":{}}`)) })},
	{ID: "GRP-002.3", Text: "a default header is on the first request to the group only", Build: headersOnce},
	{ID: "GRP-002.4", Text: "an update holds for all groups", Build: updateOfAll},
	{ID: "GRP-002.5", Text: "a second update of a header is not applied", Build: firstUpdate},
	{ID: "GRP-002.6", Text: "default headers are missing when the token is in the query", Build: defaultsUnless(func(r *http.Request) bool { return r.URL.Query().Has("svc_token") })},
	{ID: "GRP-002.7", Text: "default headers are missing on a retry", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofGroup(r) && r.Header.Get(header.Retried) != "0" {
			r.Header.Del("X-Team")
		}
		return next.RoundTrip(r)
	})},
	{ID: "GRP-002.8", Text: "of two default headers in an update one is kept", Build: changedUpdate(func(headers map[string]any) {
		for name := range headers {
			if len(headers) > 1 && name != slices.Min(slices.Collect(maps.Keys(headers))) {
				delete(headers, name)
			}
		}
	})},
	{ID: "GRP-002.9", Text: "a retry has one of the values of a default header", Build: changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofGroup(r) && r.Header.Get(header.Retried) != "0" {
			r.Header["X-Team"] = r.Header["X-Team"][:min(1, len(r.Header["X-Team"]))]
		}
		return next.RoundTrip(r)
	})},
	{ID: "GRP-003.1", Text: "retries among the default headers are no configuration", Build: changedUpdate(func(headers map[string]any) { delete(headers, header.Retries) })},
	{ID: "GRP-003.2", Text: "header forwarding among the default headers is no configuration", Build: changedUpdate(func(headers map[string]any) { delete(headers, header.HeaderForward) })},
	{ID: "GRP-003.3", Text: "a delay among the default headers is no configuration", Build: changedUpdate(func(headers map[string]any) { delete(headers, header.Delay) })},
	{ID: "GRP-003.4", Text: "retries among the default headers are read as none", Build: changedUpdate(func(headers map[string]any) {
		if headers[header.Retries] != nil {
			headers[header.Retries] = "0"
		}
	})},
	{ID: "GRP-003.5", Text: "header forwarding among the default headers is on, whatever its value", Build: changedUpdate(func(headers map[string]any) {
		if headers[header.HeaderForward] != nil {
			headers[header.HeaderForward] = "true"
		}
	})},
	{ID: "PUB-002.1", Text: "fan-out reaches only the first endpoint", Build: fanOut(func(n int) int {
		if n > 0 {
			return -1
		}
		return 0
	})},
	{ID: "PUB-002.2", Text: "one endpoint is reached twice, another never", Build: fanOut(func(n int) int {
		if n == 1 {
			return 0
		}
		return n
	})},
	{ID: "PUB-002.3", Text: "endpoints after the second are left out", Build: fanOut(func(n int) int {
		if n > 1 {
			return -1
		}
		return n
	})},
	{ID: "PUB-002.4", Text: "a group whose name begins with that of another gets its endpoints", Build: shorterName},
	{ID: "PUB-002.5", Text: "of two messages to a group within a second the second is dropped", Build: droppedSoonAfter(ofGroup)},
	{ID: "PUB-002.6", Text: "a group with a failing endpoint calls the others no more", Build: neighboursSilenced},
}

// changedUpdate changes the headers of an update.
func changedUpdate(change func(headers map[string]any)) func(func()) mutantParts {
	return changeRequest(updatingGroup, func(r *http.Request) {
		if v, ok := decodeJSON(readBody(r)).(map[string]any); ok {
			if headers, ok := v["headers"].(map[string]any); ok {
				change(headers)
				setBody(r, encodeJSON(v))
			}
		}
	})
}

// order numbers the endpoints of each scenario in the order of their first deliveries.
type order struct {
	mu    sync.Mutex
	place map[string]int
	urls  map[string][]string // scenario -> endpoints
}

func (o *order) of(r *http.Request) (scenario string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.place == nil {
		o.place, o.urls = map[string]int{}, map[string][]string{}
	}
	parts := strings.SplitN(r.URL.Path, "/", 6)
	if len(parts) < 5 {
		return "", 0
	}
	n, ok := o.place[parts[4]]
	if !ok {
		n = len(o.urls[parts[3]])
		o.place[parts[4]] = n
		o.urls[parts[3]] = append(o.urls[parts[3]], parts[4])
	}
	return parts[3], n
}

// ofGroup reports whether a delivery belongs to a message to a group.
func ofGroup(r *http.Request) bool { return r.Header.Get(header.TopicName) != "" }

// fakeDelivery is a 200 response for a destination that is not called.
func fakeDelivery() *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, ProtoMajor: 1, ProtoMinor: 1}
}

// fanOut sends the delivery to endpoint n to endpoint to(n) instead; -1 drops it.
func fanOut(to func(n int) int) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		o := &order{}
		return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if !ofGroup(r) {
				return next.RoundTrip(r)
			}
			scenario, n := o.of(r)
			m := to(n)
			if m < 0 {
				return fakeDelivery(), nil
			}
			if m != n {
				o.mu.Lock()
				old, other := o.urls[scenario][n], o.urls[scenario][m]
				o.mu.Unlock()
				r.URL.Path = strings.Replace(r.URL.Path, old, other, 1)
			}
			return next.RoundTrip(r)
		})(hit)
	}
}

// headersOf keeps default headers for some endpoints only. It drops the headers that tests
// set: X-Team, and X-Order from header forwarding.
func headersOf(keeps func(n int) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		o := &order{}
		return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if _, n := o.of(r); ofGroup(r) && !keeps(n) {
				r.Header.Del("X-Team")
				r.Header.Del("X-Order")
			}
			return next.RoundTrip(r)
		})(hit)
	}
}

// headersOnce drops the default header from the second message.
func headersOnce(hit func()) mutantParts {
	return changeDelivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofGroup(r) && strings.HasPrefix(string(readBody(r)), "message 2") {
			r.Header.Del("X-Team")
		}
		return next.RoundTrip(r)
	})(hit)
}
