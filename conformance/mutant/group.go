package mutant

import (
	"net/http"
	"strings"
	"sync"
)

// group breaks URL groups. Sorted by id.
var group = []Mutant{
	{"M01", "PUB-002", "fan-out reaches only the first endpoint", []string{"GRP-001", "GRP-002", "GRP-003"}, fanOut(func(n int) int {
		if n > 0 {
			return -1
		}
		return 0
	})},
	{"M03", "PUB-002", "one endpoint is reached twice, another never", []string{"GRP-001", "GRP-002", "GRP-003"}, fanOut(func(n int) int {
		if n == 1 {
			return 0
		}
		return n
	})},
	{"M25", "GRP-002", "a default header is on the first endpoint only", []string{"GRP-001", "GRP-003"}, headersOf(func(n int) bool { return n == 0 })},
	{"M27", "GRP-002", "an update answers 2xx and is not applied", []string{"GRP-001", "GRP-003"}, request(patching, func(r *http.Request) { setBody(r, []byte(`{"headers":{}}`)) })},
	{"M230", "GRP-001", "an update refuses a value that is an array", []string{"GRP-002"}, refuse(patching, func(r *http.Request) bool { return strings.Contains(string(body(r)), "[") })},
	{"M231", "GRP-001", "an update refuses a value that is a string", []string{"GRP-002", "GRP-003", "AUT-004"}, refuse(patching, func(r *http.Request) bool { return !strings.Contains(string(body(r)), "[") })},
	{"M232", "GRP-001", "of an array only the first value is kept", []string{"GRP-002"}, changedUpdate(func(headers map[string]any) {
		for name, v := range headers {
			if list, ok := v.([]any); ok {
				headers[name] = list[0]
			}
		}
	})},
	{"M233", "GRP-003", "retries among the default headers are no configuration", nil, changedUpdate(func(headers map[string]any) { delete(headers, "Svc-Retries") })},
	{"M234", "GRP-003", "header forwarding among the default headers is no configuration", nil, changedUpdate(func(headers map[string]any) { delete(headers, "Svc-Header-Forward") })},
	{"M235", "GRP-002", "a default header is on the first request to the group only", nil, headersOnce},
}

// changedUpdate changes the headers of an update.
func changedUpdate(change func(headers map[string]any)) func(func()) Parts {
	return request(patching, func(r *http.Request) {
		if v, ok := decoded(body(r)).(map[string]any); ok {
			if headers, ok := v["headers"].(map[string]any); ok {
				change(headers)
				setBody(r, encoded(v))
			}
		}
	})
}

// order gives each endpoint of a group its place, in the order of deliveries.
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

// ofGroup reports whether a delivery is one of a fan-out.
func ofGroup(r *http.Request) bool { return r.Header.Get("Svc-Topic-Name") != "" }

// delivered is the answer of a destination that was never called.
func delivered() *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, ProtoMajor: 1, ProtoMinor: 1}
}

// fanOut sends the delivery to the endpoint at place n to that at another place;
// -1 for none.
func fanOut(to func(n int) int) func(func()) Parts {
	return func(hit func()) Parts {
		o := &order{}
		return delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if !ofGroup(r) {
				return next.RoundTrip(r)
			}
			scenario, n := o.of(r)
			m := to(n)
			if m < 0 {
				return delivered(), nil
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

// headersOf keeps default headers for some endpoints only. They are those that
// tests set: X-Team, and what header forwarding brings.
func headersOf(keeps func(n int) bool) func(func()) Parts {
	return func(hit func()) Parts {
		o := &order{}
		return delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if _, n := o.of(r); ofGroup(r) && !keeps(n) {
				r.Header.Del("X-Team")
				r.Header.Del("X-Order")
			}
			return next.RoundTrip(r)
		})(hit)
	}
}

// headersOnce drops the default header from the second message on.
func headersOnce(hit func()) Parts {
	return delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofGroup(r) && strings.HasPrefix(string(body(r)), "message 2") {
			r.Header.Del("X-Team")
		}
		return next.RoundTrip(r)
	})(hit)
}
