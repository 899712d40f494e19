package client_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// values are the arguments of a call, or one of its parts. Numbers are json.Number.
type values map[string]any

func (v values) text(name string) string {
	switch t := v[name].(type) {
	case string:
		return t
	case json.Number:
		return t.String()
	}
	return ""
}

func (v values) part(name string) values {
	m, _ := v[name].(map[string]any)
	return m
}

func (v values) list(name string) []any {
	l, _ := v[name].([]any)
	return l
}

func (v values) has(name string) bool { _, ok := v[name]; return ok }

// referenceClient is a client of the interface.
type referenceClient struct {
	switches
	base, token        string
	username, password string
	repeats            int
	delay              time.Duration
	http               *http.Client
}

// failure is an error of the client.
type failure struct {
	message, kind                       string
	status                              int
	limit, remaining, reset, retryAfter string
}

func (f *failure) Error() string { return f.message }

func refuse(format string, a ...any) error { return &failure{message: fmt.Sprintf(format, a...)} }

// client returns the client with a configuration.
func (r *reference) client(configuration json.RawMessage) (*referenceClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[string(configuration)]; c != nil {
		return c, nil
	}
	var v values
	d := json.NewDecoder(bytes.NewReader(configuration))
	d.UseNumber()
	if len(configuration) > 0 {
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
	}
	c := &referenceClient{switches: r.switches, base: v.text("url"), token: v.text("token"), username: v.text("username"), password: v.text("password")}
	for name, value := range map[string]*string{"SVC_URL": &c.base, "SVC_TOKEN": &c.token} {
		if *value == "" || c.broken("006.1") && os.Getenv(name) != "" {
			*value = os.Getenv(name)
		}
	}
	if !c.broken("005.1") {
		c.base = strings.TrimRight(c.base, "/")
	}
	retry := v.part("retry")
	c.repeats, _ = strconv.Atoi(retry.text("repeats"))
	ms, _ := strconv.Atoi(retry.text("delay_ms"))
	c.delay = time.Duration(ms) * time.Millisecond
	limit, _ := strconv.Atoi(v.text("timeout_ms"))
	c.http = &http.Client{Transport: r.transport(), Timeout: time.Duration(limit) * time.Millisecond, CheckRedirect: c.redirect}
	r.clients[string(configuration)] = c
	return c, nil
}

func (r *reference) transport() *http.Transport {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if pem, err := os.ReadFile(r.ca); err == nil {
		roots.AppendCertsFromPEM(pem)
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: r.does("new-connections"), ForceAttemptHTTP2: r.does("http2"), ExpectContinueTimeout: time.Second,
		TLSClientConfig: &tls.Config{RootCAs: roots, InsecureSkipVerify: r.broken("010.1")},
	}
}

// redirect does not follow redirects: a credential and a body are for the given address.
func (c *referenceClient) redirect(request *http.Request, before []*http.Request) error {
	first := before[0]
	switch {
	case c.broken("008.1"):
		request.Header.Set("Authorization", first.Header.Get("Authorization"))
	case c.broken("009.1") && request.URL.Host == first.URL.Host:
	case c.broken("009.2"):
		request.Header.Del("Authorization")
	default:
		return http.ErrUseLastResponse
	}
	return nil
}

// request is a request before it is sent.
type request struct {
	method, path string // path and query as they are sent
	header       [][2]string
	body         []byte
	basic        bool                   // Basic instead of Bearer
	due          string                 // field that the result must have; "list" or "object" or "" for a result that may be empty
	read         func(any) (any, error) // shapes the result
}

func (q *request) set(name, value string) { q.header = append(q.header, [2]string{name, value}) }

// call builds the request of an operation, sends it and reads its response.
func (c *referenceClient) call(op string, build func(*referenceClient, values) (*request, error), args values) (any, error) {
	if strings.HasSuffix(op, ".all") {
		return c.all(op, build, args)
	}
	q, err := build(c, args)
	if err != nil || q == nil {
		return nil, err
	}
	if change := changes[c.mutant]; change != nil {
		change(op, q)
	}
	if q.method == "" && c.broken("035.1") {
		q.path = strings.Replace(q.path, "svc_token=", "token=", 1)
	}
	if q.method == "" { // an address, not a request
		return map[string]any{"url": q.path}, nil
	}
	result, err := c.send(q)
	if list, ok := result.([]any); ok && c.broken("091.1") {
		slices.Reverse(list)
	}
	return result, err
}

// all reads every page.
func (c *referenceClient) all(op string, build func(*referenceClient, values) (*request, error), args values) (any, error) {
	entries := []any{}
	seen := map[string]bool{}
	page := values{"filters": args["filters"], "count": args["count"]}
	for {
		q, err := build(c, page)
		if err != nil {
			return nil, err
		}
		result, err := c.send(q)
		if err != nil {
			return nil, err
		}
		p, _ := result.(map[string]any)
		list := values(p).list("messages")
		if strings.HasPrefix(op, "log.") || strings.HasPrefix(op, "event.") {
			list = append(values(p).list("events"), values(p).list("logs")...)
		}
		entries = append(entries, list...)
		cursor, more := p["cursor"].(string)
		if !more || len(list) == 0 && c.broken("094.1") || seen[cursor] {
			return entries, nil
		}
		seen[cursor] = true
		page["cursor"] = cursor
	}
}

var lineBreak = regexp.MustCompile("[\r\n\x00]")

// send sends a request, again after a failed connection, and reads the response.
func (c *referenceClient) send(q *request) (any, error) {
	for _, h := range q.header {
		if lineBreak.MatchString(h[0]+h[1]) && !c.broken("033.1") {
			if c.broken("144.1") {
				for range c.repeats {
					pause(c.delay)
				}
			}
			return nil, refuse("header %q: must not have line breaks", h[0])
		}
	}
	repeats := c.repeats
	if c.broken("141.1") {
		repeats++
	}
	for attempt := 0; ; attempt++ {
		response, body, err := c.exchange(q, attempt)
		if err != nil && attempt < repeats {
			pause(c.delay)
			continue
		}
		if err != nil {
			return nil, c.failed(err.Error(), 0)
		}
		status := response.StatusCode
		if attempt < max(repeats, 1) && (status == 500 && c.broken("140.1") || status == 503 && c.does("repeat-on-503")) {
			pause(time.Duration(seconds(response)) * time.Second)
			continue
		}
		if (status < 200 || status > 299) && (status != 304 || !c.broken("120.1")) {
			return nil, c.refused(response, body)
		}
		return c.result(q, status, body)
	}
}

// pause is the time between repeats. The suite asks for none.
func pause(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
}

func seconds(response *http.Response) int {
	n, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return n
}

// exchange sends a request once.
func (c *referenceClient) exchange(q *request, attempt int) (*http.Response, []byte, error) {
	base, err := url.Parse(c.base)
	if err != nil {
		return nil, nil, err
	}
	body := q.body
	if attempt > 0 && c.broken("142.1") {
		body = nil
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
		if c.does("chunked") {
			content = io.MultiReader(content) // of unknown length
		}
	}
	r, err := http.NewRequest(q.method, c.base, content)
	if err != nil {
		return nil, nil, err
	}
	prefix := strings.TrimSuffix(base.EscapedPath(), "/")
	if c.broken("005.1") {
		prefix = base.EscapedPath()
	}
	// Opaque is sent as it is: URL would change escapes and dot segments.
	r.URL = &url.URL{Scheme: base.Scheme, Host: base.Host, Opaque: prefix + q.path}
	if path, query, ok := strings.Cut(q.path, "?"); ok {
		r.URL.Opaque, r.URL.RawQuery = prefix+path, query
	}
	for _, h := range append(slices.Clone(q.header), c.common(q)...) {
		if c.does("lower-case") {
			h[0] = strings.ToLower(h[0])
		}
		value, injected, _ := strings.Cut(h[1], "\r\n")
		if name, v, ok := strings.Cut(injected, ":"); ok && c.broken("033.1") {
			r.Header[name] = []string{strings.TrimSpace(v)}
		}
		r.Header[h[0]] = append(r.Header[h[0]], value)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil && !c.broken("127.1") {
		return nil, nil, err
	}
	return response, text, nil
}

// common are the headers of every request.
func (c *referenceClient) common(q *request) [][2]string {
	authorization := "Bearer " + c.token
	switch {
	case q.basic && c.broken("002.1"):
		authorization = "Basic " + base64.URLEncoding.EncodeToString([]byte(c.username+":"+c.password))
	case q.basic:
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(c.username+":"+c.password))
	case c.broken("001.1"):
		authorization = c.token
	}
	headers := [][2]string{{"Authorization", authorization}}
	if c.broken("001.2") {
		headers = append(headers, headers[0])
	}
	if c.does("expect-continue") && q.body != nil {
		headers = append(headers, [2]string{"Expect", "100-continue"})
	}
	if c.does("extra-headers") {
		headers = append(headers, [2]string{"Svc-Telemetry-Sdk", "reference@1"}, [2]string{"Svc-Telemetry-Runtime", "go"}, [2]string{"X-Request-Id", "1"}, [2]string{"Accept", "*/*"})
	}
	return headers
}

// failed is an error without the token.
func (c *referenceClient) failed(message string, status int) *failure {
	if c.broken("130.1") {
		message += " (token " + c.token + ")"
	} else if c.token != "" {
		message = strings.ReplaceAll(message, c.token, "***")
	}
	return &failure{message: message, status: status}
}

// refused is the error of a response that is not a success.
func (c *referenceClient) refused(response *http.Response, body []byte) error {
	text := string(body)
	var reply struct {
		Error any `json:"error"`
	}
	if err := json.Unmarshal(body, &reply); err != nil && c.broken("125.1") {
		return c.failed(err.Error(), 0)
	} else if said, ok := reply.Error.(string); ok {
		text = said
	}
	if c.broken("121.1") {
		text = "the request failed"
	}
	f := c.failed(fmt.Sprintf("status %d: %s", response.StatusCode, text), response.StatusCode)
	if response.StatusCode == http.StatusTooManyRequests {
		f.kind = "BurstLimitError"
		prefix := "Burst-RateLimit-"
		if daily := response.Header.Get("RateLimit-Limit") != ""; daily != c.broken("123.1") {
			f.kind, prefix = "DailyLimitError", "RateLimit-"
		}
		get := func(name string) string { return response.Header.Get(prefix + name) }
		f.limit, f.remaining, f.reset = get("Limit"), get("Remaining"), get("Reset")
	}
	f.retryAfter = response.Header.Get("Retry-After")
	return f
}

// result reads the body of a success.
func (c *referenceClient) result(q *request, status int, body []byte) (any, error) {
	if q.due == "" {
		if len(body) == 0 && c.broken("103.1") {
			return nil, c.failed("empty body", status)
		}
		return nil, nil
	}
	if len(body) == 0 && c.broken("126.1") || status == 304 {
		return map[string]any{}, nil
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	err := d.Decode(&value)
	for _, end := range []string{`}`, `"}`, `]}`, `}]}`, `"}]}`} { // closes what was cut
		if err != nil && c.broken("127.1") {
			err = json.Unmarshal(append(slices.Clone(body), end...), &value)
		}
	}
	if err == nil && d.More() {
		err = errors.New("more than one JSON value")
	}
	if err != nil {
		return nil, c.failed(fmt.Sprintf("status %d, but the body is not JSON: %v", status, err), status)
	}
	if !isDue(value, q.due) {
		return nil, c.failed(fmt.Sprintf("status %d, but the body has no %s", status, q.due), status)
	}
	if q.read != nil {
		if value, err = q.read(value); err != nil {
			return nil, err
		}
	}
	return c.plain("", value)
}

// isDue reports whether a body has what an operation returns: a list, an object, or fields
// of one object or of each object in a list.
func isDue(value any, due string) bool {
	switch v := value.(type) {
	case []any:
		if due == "list" {
			return true
		}
		for _, item := range v {
			if !isDue(item, due) {
				return false
			}
		}
		return len(v) > 0 && due != "object"
	case map[string]any:
		if due == "object" {
			return true
		}
		for field := range strings.FieldsSeq(due) {
			if v[field] == nil || v[field] == "" {
				return false
			}
		}
		return due != "list"
	}
	return value == nil && due == "list"
}

var times = regexp.MustCompile(`^(time|notBefore|\w*(At|Time|Date))$`)

// plain returns a value as callers see it: null is absent, or an empty list; an empty
// cursor is absent.
func (c *referenceClient) plain(name string, value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return c.number(name, v), nil
	case []any:
		if len(v) > 1 && c.broken("099.1") {
			if _, text := v[0].(string); text {
				return joined(value), nil
			}
		}
		list := []any{}
		for _, item := range v {
			if item, err = c.plain("", item); err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	case map[string]any:
		if err := c.strict(v); err != nil {
			return nil, err
		}
		object := map[string]any{}
		for field, item := range v {
			list := field == "messages" || field == "events" || field == "logs" || field == "endpoints"
			if item == nil && list {
				object[field] = []any{}
			}
			if item == nil || item == "" && field == "cursor" && !c.broken("092.1") {
				continue
			}
			if object[field], err = c.plain(field, item); err != nil {
				return nil, err
			}
		}
		return object, nil
	case nil:
		return []any{}, nil // only where a list is due
	}
	return value, nil
}

func (c *referenceClient) number(name string, n json.Number) any {
	i, err := n.Int64()
	if err == nil && times.MatchString(name) && c.broken("100.1") {
		return int32(i)
	}
	if text := n.String(); err == nil && (i > 1<<53 || i < -1<<53) || err != nil && !strings.ContainsAny(text, ".eE") {
		return map[string]any{"$int": text}
	}
	return n
}

var known = strings.Fields(`cursor messages events logs dlqId messageId url method header maxRetries notBefore createdAt failureCallback callerIP workflowRunId workflowCreatedAt
 workflowUrl responseStatus responseHeader responseBody failureCallbackInfo state responseHeaders time stepInfo nextDeliveryTime deduplicated`)

// strict are the defects of clients that accept only the objects that they know.
func (c *referenceClient) strict(object map[string]any) error {
	_, entry := object["dlqId"]
	_, event := object["time"]
	if !entry && !event {
		return nil
	}
	if entry && object["responseStatus"] == nil && c.broken("096.1") {
		return c.failed("responseStatus is missing", 200)
	}
	if event && object["stepInfo"] == nil && c.broken("096.1") {
		return c.failed("stepInfo is missing", 200)
	}
	if state, _ := object["state"].(string); event && c.broken("098.1") && !regexp.MustCompile("^(RUN_(STARTED|SUCCESS|FAILED|CANCELED)|CREATED|DELIVERED|ERROR|WAITER_ADDED|INVOKED)$").MatchString(state) {
		return c.failed("unknown state "+state, 200)
	}
	for field := range object {
		if c.broken("095.1") && !slices.Contains(known, field) {
			return c.failed("unknown field "+field, 200)
		}
	}
	return nil
}
