package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Stub is a scripted destination: it answers deliveries to a matching URL instead
// of the network. The last of its answers repeats; no answers means 200.
type Stub struct {
	Method  string            `json:"method,omitempty"` // "": any
	URL     string            `json:"url"`              // * matches any text; between slashes: a regular expression
	Header  map[string]string `json:"header,omitempty"` // all must be present with these values
	Answers []Answer          `json:"answers,omitempty"`

	PerMessage bool `json:"perMessage,omitempty"` // each message starts with the first answer
}

// Answer is one scripted answer. Status, headers, body and delay may contain
// captures of the URL, such as $1; $reason is the text of the status. In headers
// and body, {{body}}, {{url}}, {{method}} and {{header NAME}} echo the request, with
// json before the name as a JSON string. {{headers}} and {{args}}, the query, are
// JSON objects; {{jsonBody}} is the body if it is JSON, otherwise null.
type Answer struct {
	Status  Status            `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Delay   string            `json:"delay,omitempty"` // on the account's clock, such as 3s
	Drop    bool              `json:"drop,omitempty"`  // the connection closes without an answer
	Fail    string            `json:"fail,omitempty"`  // no answer at all: refused, reset, timeout, tls
}

// failureTexts are the delivery errors for the values of Answer.Fail.
var failureTexts = map[string]string{
	"refused": "connection was refused (stub)",
	"reset":   "connection was reset by the destination (stub)",
	"timeout": "no answer (stub)",
	"tls":     "TLS handshake failed: certificate is not trusted (stub)",
}

// Status is an HTTP status, or a text with captures, such as $1, that yields one.
type Status string

// UnmarshalJSON accepts a number or a string.
func (s *Status) UnmarshalJSON(b []byte) error {
	var n int
	if json.Unmarshal(b, &n) == nil {
		*s = Status(strconv.Itoa(n))
		return nil
	}
	var text string
	err := json.Unmarshal(b, &text)
	*s = Status(text)
	return err
}

// MarshalJSON writes a number if the status is one, otherwise a string.
func (s Status) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(s)); err == nil {
		return json.Marshal(n)
	}
	return json.Marshal(string(s))
}

// Check returns why a stub is invalid, with a place such as /answers/0/delay; nil when it
// is valid.
func (s *Stub) Check() error {
	_, err := s.Compile()
	return err
}

// Compile checks a stub and prepares it for matching.
func (s *Stub) Compile() (*Compiled, error) {
	pattern := s.URL
	if len(pattern) > 2 && pattern[0] == '/' && strings.HasSuffix(pattern, "/") {
		pattern = pattern[1 : len(pattern)-1]
	} else {
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern = "^" + strings.Join(parts, "(.*)") + "$"
	}
	expression, err := regexp.Compile(pattern)
	if err != nil || s.URL == "" {
		return nil, invalidMember("/url", s.URL, "a URL in which * matches any text, or a regular expression between slashes")
	}
	if s.Method != "" && !httpguts.ValidHeaderFieldName(s.Method) { // both are tokens
		return nil, invalidMember("/method", s.Method, "an HTTP method such as POST")
	}
	out := &Compiled{Stub: *s, url: expression}
	for i, a := range s.Answers {
		at := fmt.Sprintf("/answers/%d/", i)
		delay := time.Duration(0)
		if a.Delay != "" && !strings.Contains(a.Delay, "$") {
			if delay, err = response.Duration(a.Delay); err != nil || delay < 0 {
				return nil, invalidMember(at+"delay", a.Delay, "a duration such as 3s")
			}
		}
		if n, err := strconv.Atoi(string(a.Status)); a.Status != "" && !strings.Contains(string(a.Status), "$") && (err != nil || n < 200 || n > 599) {
			return nil, invalidMember(at+"status", string(a.Status), "an integer from 200 to 599, or a capture such as $1")
		}
		if err := a.CheckHeaders(strings.TrimSuffix(at, "/")); err != nil {
			return nil, err
		}
		if a.Fail != "" && failureTexts[a.Fail] == "" {
			return nil, invalidMember(at+"fail", a.Fail, "one of refused, reset, timeout, tls")
		}
		out.delays = append(out.delays, delay)
	}
	return out, nil
}

// CheckHeaders refuses headers that no server can send; place is the JSON pointer of the answer.
func (a *Answer) CheckHeaders(place string) error {
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		if !httpguts.ValidHeaderFieldName(name) {
			return invalidMember(place+"/headers", name, "names of headers: letters, digits and - without spaces")
		}
		if !httpguts.ValidHeaderFieldValue(a.Headers[name]) {
			return invalidMember(place+"/headers/"+name, a.Headers[name], "one line of text without control characters")
		}
	}
	return nil
}

// invalidMember refuses a value of a stub; place is its JSON pointer in the stub.
func invalidMember(place, value, want string) error {
	return &refusal.Error{Place: place, Value: value, Want: want, Kind: refusal.Invalid}
}

// Compiled is a stub that is ready for matching. A List guards its use.
type Compiled struct {
	Stub
	url    *regexp.Regexp
	delays []time.Duration
	used   map[string]int // number of answers given, by message; by "" unless PerMessage is set
}

// Request is the part of a delivery that stubs match and echo.
type Request struct {
	Message, Method, URL string
	Header               http.Header
	Body                 []byte
}

// List holds the stubs of one account. The first that matches answers.
type List struct {
	mu   sync.Mutex // guards list, and Compiled.used of each stub
	list []*Compiled
}

// Set replaces all stubs; invalid ones are left out, see Stub.Check.
func (s *List) Set(list []Stub) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
	for _, one := range list {
		if compiled, err := one.Compile(); err == nil {
			s.list = append(s.list, compiled)
		}
	}
}

// Add puts a stub before all others.
func (s *List) Add(one Stub) error {
	compiled, err := one.Compile()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append([]*Compiled{compiled}, s.list...)
	return nil
}

// AddLast puts stubs after all others, except those that the list already has.
func (s *List) AddLast(list []Stub) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		known := slices.ContainsFunc(s.list, func(other *Compiled) bool { return reflect.DeepEqual(other.Stub, one) })
		if compiled, err := one.Compile(); err == nil && !known {
			s.list = append(s.list, compiled)
		}
	}
}

// Get lists the stubs.
func (s *List) Get() []Stub {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Stub, len(s.list))
	for i, one := range s.list {
		out[i] = one.Stub
	}
	return out
}

// Answer returns the outcome of the first stub that matches; false for none. limit
// is the timeout of the message.
func (s *List) Answer(d *Request, limit time.Duration) (engine.Outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if captures := one.Match(d.Method, d.URL, d.Header); captures != nil {
			o := one.next(d, captures, limit).Within(limit)
			o.Took = o.After
			return o, true
		}
	}
	return engine.Outcome{}, false
}

// StandsFor reports whether the URL of a stub matches, for any method and header.
func (s *List) StandsFor(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.list, func(one *Compiled) bool { return one.url.MatchString(url) })
}

// Nearest describes the stub that is closest to a delivery that none matched, and
// what differs; "" when no stub is similar. Stubs of other hosts count only for a delivery
// that nobody has answered: a destination that has answered was meant.
func (s *List) Nearest(d *Request, unanswered bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, why := 0, ""
	for _, one := range s.list {
		if !unanswered && !one.sameHost(d.URL) {
			continue
		}
		score, text := one.compare(d)
		if score > best {
			best, why = score, text
		}
	}
	return why
}

// sameHost reports whether the stub is for the host of a URL: it matches the URL, or starts
// with the same host.
func (s *Compiled) sameHost(target string) bool {
	at, err := url.Parse(target)
	return err == nil && (s.url.MatchString(target) || strings.HasPrefix(strings.TrimPrefix(s.URL, "/^")+"/", at.Scheme+"://"+at.Host+"/"))
}

// compare scores how well a delivery matches, mainly its URL, and lists what differs.
func (s *Compiled) compare(d *Request) (score int, why string) {
	if s.url.FindStringIndex(d.URL) != nil {
		score += 1000
	} else {
		score = len(commonPrefix(strings.Trim(s.URL, "/^"), d.URL))
		why = fmt.Sprintf("the URL %s does not match %s", d.URL, s.URL)
	}
	if s.Method != "" && !strings.EqualFold(s.Method, d.Method) {
		why += fmt.Sprintf("; the method is %s, the stub takes %s", d.Method, s.Method)
	}
	for name, v := range s.Header {
		if got := d.Header.Get(name); got != v {
			why += fmt.Sprintf("; the header %s is %q, the stub takes %q", name, got, v)
		}
	}
	return score, "closest stub: " + s.URL + ": " + strings.TrimPrefix(why, "; ")
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// Match returns the indexes of the captures in the URL, as in package regexp; nil
// when the stub does not match.
func (s *Compiled) Match(method, target string, h http.Header) []int {
	if s.Method != "" && !strings.EqualFold(s.Method, method) {
		return nil
	}
	for name, v := range s.Header {
		if h.Get(name) != v {
			return nil
		}
	}
	return s.url.FindStringSubmatchIndex(target)
}

// next returns the outcome of the next answer, and counts it. The caller has the lock.
func (s *Compiled) next(d *Request, captures []int, limit time.Duration) engine.Outcome {
	whose := ""
	if s.PerMessage {
		whose = d.Message
	}
	if s.used == nil {
		s.used = map[string]int{}
	}
	i := min(s.used[whose], len(s.Answers)-1)
	s.used[whose]++
	if i < 0 {
		return engine.Outcome{Status: http.StatusOK}
	}
	a, after := s.Answers[i], s.delays[i]
	if a.Fail == "timeout" {
		return engine.Outcome{Err: failureTexts[a.Fail], After: limit + 1}
	}
	if a.Fail != "" {
		return engine.Outcome{Err: failureTexts[a.Fail], After: after}
	}
	if a.Drop {
		return engine.Outcome{Err: "connection was closed without an answer (stub)", After: after}
	}
	status := http.StatusOK
	fill := func(text string) string {
		if strings.Contains(text, "$") {
			text = string(s.url.ExpandString(nil, strings.ReplaceAll(text, "$reason", http.StatusText(status)), d.URL, captures))
		}
		return d.echo(text)
	}
	if a.Status != "" {
		status, _ = strconv.Atoi(fill(string(a.Status))) // 0, no answer, for what is not a number
	}
	if strings.Contains(a.Delay, "$") {
		after, _ = response.Duration(fill(a.Delay)) // 0 for what is not a duration
	}
	h := engine.Header{}
	for name, v := range a.Headers {
		http.Header(h).Set(name, fill(v))
	}
	return engine.Outcome{Status: status, Header: h, Body: []byte(fill(a.Body)), After: after}
}

var echoedParts = regexp.MustCompile(`\{\{\s*(json\s+)?(body|url|method|headers|args|jsonBody|header\s+([\w-]+))\s*\}\}`)

// echo replaces {{NAME}} in a text by parts of the request.
func (d *Request) echo(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return echoedParts.ReplaceAllStringFunc(text, func(match string) string {
		m := echoedParts.FindStringSubmatch(match)
		if m[1] != "" {
			return asJSON(d.part(m[2], m[3]))
		}
		return d.part(m[2], m[3])
	})
}

// part returns the value of a name in {{}}; header is the NAME of {{header NAME}}.
func (d *Request) part(name, header string) string {
	switch name {
	case "body":
		return string(d.Body)
	case "url":
		return d.URL
	case "method":
		return d.Method
	case "headers":
		return asJSON(joinedValues(d.Header))
	case "args":
		u, err := url.Parse(d.URL)
		if err != nil {
			return "{}"
		}
		return asJSON(joinedValues(u.Query()))
	case "jsonBody":
		if !json.Valid(d.Body) {
			return "null"
		}
		return string(d.Body)
	}
	return d.Header.Get(header)
}

// joinedValues joins the values of each name with commas.
func joinedValues(values map[string][]string) map[string]string {
	out := make(map[string]string, len(values))
	for name, list := range values {
		out[name] = strings.Join(list, ",")
	}
	return out
}

func asJSON(v any) string {
	b, _ := json.Marshal(v) // strings and maps of strings always marshal
	return string(b)
}

// Saved is a stub and the number of answers used, by message as in Compiled.
type Saved struct {
	Stub
	Used map[string]int `json:"used,omitempty"`
}

// Save returns the stubs for a snapshot.
func (s *List) Save() []Saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Saved, len(s.list))
	for i, one := range s.list {
		out[i] = Saved{one.Stub, maps.Clone(one.used)}
	}
	return out
}

// Load replaces all stubs by the result of Save. All must be valid.
func (s *List) Load(list []Saved) {
	plain := make([]Stub, len(list))
	for i, one := range list {
		plain[i] = one.Stub
	}
	s.Set(plain)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.list {
		one.used = list[i].Used
	}
}

// Parse reads URL=STATUS[@DELAY][:BODY]; the URL may itself contain =.
func Parse(text string) (Stub, error) {
	m := stubText.FindStringSubmatch(text)
	if m == nil {
		return Stub{}, response.Invalid(fmt.Sprintf("invalid value %q: must be URL=STATUS[@DELAY][:BODY], such as https://app.test/*=503 or https://app.test/*=200@3s", text))
	}
	s := Stub{URL: m[1], Answers: []Answer{ParseAnswer(m[2])}}
	err := s.Check()
	if r, ok := errors.AsType[*refusal.Error](err); ok {
		r.Place = "" // of the members, which the text does not have
	}
	return s, err
}

var stubText = regexp.MustCompile(`^(.+?)=(\d{3}(?:@[^:]+)?(?::(?s:.*))?)$`)

// ParseAnswer reads STATUS[@DELAY][:BODY]. It does not check the values.
func ParseAnswer(text string) Answer {
	first, body, _ := strings.Cut(text, ":")
	status, delay, _ := strings.Cut(first, "@")
	return Answer{Status: Status(status), Body: body, Delay: delay}
}
