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
	{ID: "PUB-001.1", Text: "the destination is percent-decoded twice", Build: request(publishing, func(r *http.Request) {
		if plain, err := url.PathUnescape(r.URL.EscapedPath()); err == nil {
			r.URL.Path, r.URL.RawPath = plain, ""
		}
	})},
	{ID: "PUB-001.2", Text: "a trailing slash of the destination is cut off", Build: request(publishing, func(r *http.Request) {
		r.URL.Path, r.URL.RawPath = strings.TrimRight(r.URL.Path, "/"), strings.TrimRight(r.URL.RawPath, "/")
	})},
	{ID: "PUB-001.3", Text: "doubled slashes of the destination are made one", Build: request(publishing, func(r *http.Request) {
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
	{ID: "PUB-003.1", Text: "publish takes the token in the query only", Build: request(publishing, func(r *http.Request) {
		if r.Header.Get("Svc-Workflow-Init") == "" {
			r.Header.Del("Authorization")
		}
	})},
	{ID: "PUB-004.1", Text: "the token in the query is not accepted", Build: request(publishing, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == "svc_token" })
	})},
	{ID: "PUB-005.1", Text: "query configuration is ignored as soon as a configuration header is present", Build: request(publishing, func(r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Svc-") && !strings.HasPrefix(name, "Svc-Forward-") && !strings.HasPrefix(name, "Svc-Workflow") {
				dropQuery(r, func(name string) bool { return strings.HasPrefix(name, "svc-") })
			}
		}
	})},
	{ID: "PUB-005.2", Text: "retries in the query are ignored", Build: request(publishing, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == "svc-retries" })
	})},
	{ID: "PUB-006.1", Text: "headers with the forward prefix are dropped", Build: request(publishing, func(r *http.Request) {
		dropHeader(r.Header, func(name string) bool {
			return strings.HasPrefix(name, "Svc-Forward-") && !strings.HasPrefix(name, "Svc-Forward-Svc-")
		})
	})},
	{ID: "PUB-007.1", Text: "all headers are forwarded without being asked for", Build: request(publishing, func(r *http.Request) {
		if r.Header.Get("Svc-Workflow-Init") == "" {
			r.Header.Set("Svc-Header-Forward", "true")
		}
	})},
	{ID: "PUB-008.1", Text: "header forwarding by a header is ignored", Build: request(publishing, func(r *http.Request) { r.Header.Del("Svc-Header-Forward") })},
	{ID: "PUB-008.2", Text: "only the first header is forwarded", Build: onlyTheFirst},
	{ID: "PUB-009.1", Text: "the query form of header forwarding is ignored", Build: request(publishing, func(r *http.Request) {
		dropQuery(r, func(name string) bool { return name == "svc-header-forward" })
	})},
	{ID: "PUB-010.1", Text: "a delay is ignored", Build: request(publishing, func(r *http.Request) {
		r.Header.Del("Svc-Delay")
		dropQuery(r, func(name string) bool { return name == "svc-delay" })
	})},
	{ID: "PUB-010.2", Text: "a delay is read as half of it", Build: request(publishing, func(r *http.Request) {
		if seconds, ok := strings.CutSuffix(r.Header.Get("Svc-Delay"), "s"); ok {
			if n, err := strconv.Atoi(seconds); err == nil {
				r.Header.Set("Svc-Delay", strconv.Itoa(n/2)+"s")
			}
		}
	})},
	{ID: "PUB-011.1", Text: "a JSON body is written anew", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		var v any
		if text := body(r); json.Unmarshal(text, &v) == nil {
			setBody(r, encoded(v))
		}
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.2", Text: "a body over 64 KiB is cut silently", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if text := body(r); len(text) > 64<<10 {
			setBody(r, text[:64<<10])
		}
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.3", Text: "an empty body becomes {}", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if len(body(r)) == 0 {
			setBody(r, []byte("{}"))
		}
		return next.RoundTrip(r)
	})},
	{ID: "PUB-011.4", Text: "bytes that are no UTF-8 are replaced", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		setBody(r, bytes.ToValidUTF8(body(r), []byte("?")))
		return next.RoundTrip(r)
	})},
	{ID: "PUB-012.1", Text: "a multipart body is refused", Build: refuse(publishing, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") })},
	{ID: "PUB-012.2", Text: "a form is refused", Build: refuse(publishing, func(r *http.Request) bool { return strings.Contains(r.Header.Get("Content-Type"), "urlencoded") })},
	{ID: "PUB-012.3", Text: "signature headers of the sender are dropped", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		dropHeader(r.Header, func(name string) bool { return name != "Svc-Signature" && strings.Contains(name, "Signature") })
		return next.RoundTrip(r)
	})},
}

// retry breaks retries. Sorted by id.
var retry = []Mutant{
	{ID: "RTY-001.1", Text: "a failed delivery is never retried", Build: retries(func(int) int { return 0 })},
	{ID: "RTY-001.2", Text: "an answer of 4xx is taken for a success", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode/100 == 4 {
			response.StatusCode = http.StatusOK
		}
		return response, err
	})},
	{ID: "RTY-001.3", Text: "a retry goes out without its body", Build: delivery(false, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Header.Get("Svc-Retried") != "0" {
			setBody(r, nil)
		}
		return next.RoundTrip(r)
	})},
	{ID: "RTY-002.1", Text: "one retry too many", Build: retries(func(n int) int { return n + 1 })},
	{ID: "RTY-003.1", Text: "a delivery that succeeded is made again", Build: twice},
	{ID: "RTY-004.1", Text: "retries 0 are taken for the default", Build: retries(func(n int) int {
		if n == 0 {
			return 3
		}
		return n
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
