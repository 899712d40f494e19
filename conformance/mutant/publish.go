package mutant

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
)

// publish breaks publishing and deliveries. Sorted by id.
var publish = []Mutant{
	{"M05", "PUB-001", "the destination is percent-decoded twice", nil, request(publishing, func(r *http.Request) {
		if plain, err := url.PathUnescape(r.URL.EscapedPath()); err == nil {
			r.URL.Path, r.URL.RawPath = plain, ""
		}
	})},
	{"M09", "PUB-005", "query configuration is ignored as soon as a configuration header is present", nil, request(publishing, func(r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Svc-") && !strings.HasPrefix(name, "Svc-Forward-") && !strings.HasPrefix(name, "Svc-Workflow") {
				dropQuery(r, func(name string) bool { return strings.HasPrefix(name, "svc-") })
			}
		}
	})},
	{"M11", "PUB-006", "headers with the forward prefix are dropped", []string{"DLQ-014", "RST-003", "RTY-001"}, request(publishing, func(r *http.Request) {
		dropHeader(r.Header, func(name string) bool {
			return strings.HasPrefix(name, "Svc-Forward-") && !strings.HasPrefix(name, "Svc-Forward-Svc-")
		})
	})},
	{"M13", "PUB-009", "the query form of header forwarding is ignored", []string{"PUB-012"}, request(publishing, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == "svc-header-forward" })
	})},
	{"M15", "PUB-010", "a delay is ignored", []string{"PUB-005"}, request(publishing, func(r *http.Request) {
		r.Header.Del("Svc-Delay")
		dropQuery(r, func(name string) bool { return name == "svc-delay" })
	})},
	{"M17", "PUB-011", "a JSON body is written anew", []string{"PUB-012", "RTY-001"}, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		var v any
		if text := body(r); json.Unmarshal(text, &v) == nil {
			setBody(r, encoded(v))
		}
		return next.RoundTrip(r)
	})},
	{"M19", "PUB-011", "a body over 64 KiB is cut silently", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if text := body(r); len(text) > 64<<10 {
			setBody(r, text[:64<<10])
		}
		return next.RoundTrip(r)
	})},
	{"M201", "PUB-001", "a trailing slash of the destination is cut off", nil, request(publishing, func(r *http.Request) {
		r.URL.Path, r.URL.RawPath = strings.TrimRight(r.URL.Path, "/"), strings.TrimRight(r.URL.RawPath, "/")
	})},
	{"M202", "PUB-001", "doubled slashes of the destination are made one", nil, request(publishing, func(r *http.Request) {
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
	{"M203", "PUB-001", "messages to different destinations all go to the first one", []string{"GRP-001", "GRP-002", "GRP-003", "PUB-002", "PUB-012"}, toTheFirst},
	{"M204", "PUB-004", "the token in the query is not accepted", []string{"PUB-005", "PUB-012"}, request(publishing, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == "svc_token" })
	})},
	{"M205", "PUB-005", "retries in the query are ignored", []string{"PUB-012"}, request(publishing, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == "svc-retries" })
	})},
	{"M206", "PUB-007", "all headers are forwarded without being asked for", []string{"GRP-002"}, request(publishing, func(r *http.Request) {
		if r.Header.Get("Svc-Workflow-Init") == "" {
			r.Header.Set("Svc-Header-Forward", "true")
		}
	})},
	{"M207", "PUB-008", "header forwarding by a header is ignored", []string{"PUB-005"}, request(publishing, func(r *http.Request) { r.Header.Del("Svc-Header-Forward") })},
	{"M208", "PUB-008", "only the first header is forwarded", []string{"PUB-009", "PUB-012"}, onlyTheFirst},
	{"M209", "PUB-010", "a delay is read as half of it", []string{"PUB-005"}, request(publishing, func(r *http.Request) {
		if seconds, ok := strings.CutSuffix(r.Header.Get("Svc-Delay"), "s"); ok {
			if n, err := strconv.Atoi(seconds); err == nil {
				r.Header.Set("Svc-Delay", strconv.Itoa(n/2)+"s")
			}
		}
	})},
	{"M210", "PUB-011", "an empty body becomes {}", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if len(body(r)) == 0 {
			setBody(r, []byte("{}"))
		}
		return next.RoundTrip(r)
	})},
	{"M211", "PUB-011", "bytes that are no UTF-8 are replaced", []string{"PUB-012"}, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		setBody(r, bytes.ToValidUTF8(body(r), []byte("?")))
		return next.RoundTrip(r)
	})},
	{"M212", "PUB-012", "a multipart body is refused", nil, refuse(publishing, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") })},
	{"M213", "PUB-012", "a form is refused", []string{"PUB-011"}, refuse(publishing, func(r *http.Request) bool { return strings.Contains(r.Header.Get("Content-Type"), "urlencoded") })},
	{"M214", "PUB-012", "signature headers of the sender are dropped", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		dropHeader(r.Header, func(name string) bool { return name != "Svc-Signature" && strings.Contains(name, "Signature") })
		return next.RoundTrip(r)
	})},
	{"M93", "PUB-003", "publish takes the token in the query only", []string{"AUT-004", "PUB-001", "PUB-002", "PUB-005", "PUB-006", "PUB-007", "PUB-008", "PUB-009", "PUB-010", "RTY-001", "RTY-002", "GRP-001", "GRP-002", "GRP-003", "RST-003"}, request(publishing, func(r *http.Request) {
		if r.Header.Get("Svc-Workflow-Init") == "" {
			r.Header.Del("Authorization")
		}
	})},
}

// retry breaks retries. Sorted by id.
var retry = []Mutant{
	{"M21", "RTY-002", "one retry too many", []string{"DLQ-005", "DLQ-009", "DLQ-010", "DLQ-014", "GRP-003", "LOG-009", "PUB-005", "PUB-012", "RST-003"}, retries(func(n int) int { return n + 1 })},
	{"M23", "RTY-004", "retries 0 are taken for the default", []string{"DLQ-009", "DLQ-014", "GRP-003", "PUB-005", "PUB-012"}, retries(func(n int) int {
		if n == 0 {
			return 3
		}
		return n
	})},
	{"M215", "RTY-001", "a failed delivery is never retried", []string{"RTY-002", "LOG-009", "DLQ-005", "DLQ-010", "RST-003", "DLQ-014"}, retries(func(int) int { return 0 })},
	{"M216", "RTY-001", "an answer of 4xx is taken for a success", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode/100 == 4 {
			response.StatusCode = http.StatusOK
		}
		return response, err
	})},
	{"M217", "RTY-003", "a delivery that succeeded is made again", []string{"RTY-001"}, twice},
	{"M218", "RTY-001", "a retry goes out without its body", nil, delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Header.Get("Svc-Retried") != "0" {
			setBody(r, nil)
		}
		return next.RoundTrip(r)
	})},
}

// retries changes the number of retries wherever it is given.
func retries(change func(int) int) func(func()) Parts {
	one := func(text string) string {
		var n int
		if json.Unmarshal([]byte(text), &n) != nil {
			return text
		}
		return string(encoded(change(n)))
	}
	return both(request(publishing, func(r *http.Request) {
		if v := r.Header.Get("Svc-Retries"); v != "" {
			r.Header.Set("Svc-Retries", one(v))
		}
		if strings.Contains(r.URL.RawQuery, "svc-retries") {
			setQuery(r, func(q map[string][]string) {
				if v := q["svc-retries"]; len(v) > 0 {
					q["svc-retries"] = []string{one(v[0])}
				}
			})
		}
	}), request(patching, func(r *http.Request) {
		if v, ok := decoded(body(r)).(map[string]any); ok {
			headers, _ := v["headers"].(map[string]any)
			if n, ok := headers["Svc-Retries"].(string); ok {
				headers["Svc-Retries"] = one(n)
				setBody(r, encoded(v))
			}
		}
	}))
}

// toTheFirst sends every delivery of a scenario to its first endpoint.
func toTheFirst(hit func()) Parts {
	var mu sync.Mutex
	first := map[string]string{}
	return delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		parts := strings.SplitN(r.URL.Path, "/", 6)
		if len(parts) < 5 || strings.Contains(string(body(r)), "sentinel") {
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

// onlyTheFirst keeps one of the headers that are forwarded.
func onlyTheFirst(hit func()) Parts {
	return request(publishing, func(r *http.Request) {
		forwarding := r.Header.Get("Svc-Header-Forward") == "true" || strings.Contains(r.URL.RawQuery, "svc-header-forward=true")
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

// refuse answers 415 to what fits.
func refuse(m matching, fits func(*http.Request) bool) func(func()) Parts {
	return func(hit func()) Parts {
		return wrap(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
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

// dropQuery removes parameters and leaves the others as they stand.
func dropQuery(r *http.Request, fits func(name string) bool) {
	var kept []string
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if name, _, _ := strings.Cut(part, "="); part != "" && !fits(name) {
			kept = append(kept, part)
		}
	}
	r.URL.RawQuery = strings.Join(kept, "&")
}

// twice makes a delivery that succeeded once more.
func twice(hit func()) Parts {
	return delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		text := body(r)
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
