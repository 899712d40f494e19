package stub

import (
	"encoding/json"
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

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Stub is a scripted destination: what a delivery to a matching URL gets
// instead of the network. The last of its answers repeats; none means 200.
type Stub struct {
	Method  string            `json:"method,omitempty"` // "": any
	URL     string            `json:"url"`              // * stands for anything; between slashes: a regular expression
	Header  map[string]string `json:"header,omitempty"` // all must be there with these values
	Answers []Answer          `json:"answers,omitempty"`

	PerMessage bool `json:"perMessage,omitempty"` // each message begins with the first answer
}

// Answer is one scripted answer. Captures of a regular expression may be used
// as $1 in status, headers, body and delay; $reason is the text of the status. In
// headers and body, {{body}}, {{url}}, {{method}} and {{header NAME}} echo the
// request, with json before the name as a JSON string; {{headers}} and {{args}},
// those of the query, as JSON objects; {{jsonBody}} a body that is JSON, else null.
type Answer struct {
	Status  Status            `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Delay   string            `json:"delay,omitempty"` // on the account's clock, such as 3s
	Drop    bool              `json:"drop,omitempty"`  // the connection ends without an answer
	Fail    string            `json:"fail,omitempty"`  // no answer at all: refused, reset, timeout, tls
}

// failureTexts are what happens when an answer fails, as a delivery would tell it.
var failureTexts = map[string]string{
	"refused": "connection was refused (stub)",
	"reset":   "connection was reset by the destination (stub)",
	"timeout": "no answer (stub)",
	"tls":     "TLS handshake failed: certificate is not trusted (stub)",
}

// Status is a status, or text with captures that becomes one.
type Status string

// UnmarshalJSON takes a number or a string.
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

// MarshalJSON writes a number where it is one.
func (s Status) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(s)); err == nil {
		return json.Marshal(n)
	}
	return json.Marshal(string(s))
}

// Check refuses a stub that cannot be.
func (s *Stub) Check() error {
	_, err := s.Compile()
	return err
}

// Compile prepares a stub for matching, and says why it cannot be one.
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
		return nil, response.Invalid(fmt.Sprintf("stub URL: invalid value %q: must be a URL in which * stands for anything, or a regular expression between slashes", s.URL))
	}
	out := &Compiled{Stub: *s, url: expression}
	for _, a := range s.Answers {
		delay := time.Duration(0)
		if a.Delay != "" && !strings.Contains(a.Delay, "$") {
			if delay, err = response.Duration(a.Delay); err != nil || delay < 0 {
				return nil, response.Invalid(fmt.Sprintf("stub %q: delay: invalid value %q: must be a duration such as 3s", s.URL, a.Delay))
			}
		}
		if n, err := strconv.Atoi(string(a.Status)); a.Status != "" && !strings.Contains(string(a.Status), "$") && (err != nil || n < 100 || n > 999) {
			return nil, response.Invalid(fmt.Sprintf("stub %q: status: invalid value %q: must be 100 to 999, or a capture such as $1", s.URL, a.Status))
		}
		if a.Fail != "" && failureTexts[a.Fail] == "" {
			return nil, response.Invalid(fmt.Sprintf("stub %q: fail: invalid value %q: must be refused, reset, timeout or tls", s.URL, a.Fail))
		}
		out.delays = append(out.delays, delay)
	}
	return out, nil
}

// Compiled is a stub that deliveries are compared with.
type Compiled struct {
	Stub
	url    *regexp.Regexp
	delays []time.Duration
	used   map[string]int // answers given: by message, or "" for all
}

// Request is what a stub gets to see of a delivery.
type Request struct {
	Message, Method, URL string
	Header               http.Header
	Body                 []byte
}

// List are those of one account; the first that matches answers.
type List struct {
	mu   sync.Mutex // guards list, and what was used of each stub
	list []*Compiled
}

// Set replaces all stubs; those that cannot be are left out, see Stub.Check.
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

// AddLast puts stubs after all others, unless the same one is there.
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

// Answer plays the destination, if a stub stands for it.
func (s *List) Answer(d *Request, limit time.Duration) (engine.Outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if captures := one.Match(d.Method, d.URL, d.Header); captures != nil {
			return inTime(one.next(d, captures, limit), limit), true
		}
	}
	return engine.Outcome{}, false
}

// StandsFor reports whether a stub answers for a URL, whatever else it asks for.
func (s *List) StandsFor(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.list, func(one *Compiled) bool { return one.url.MatchString(url) })
}

// Nearest says which stub came closest to a delivery that none matched, and what
// was missing; "" when there is none.
func (s *List) Nearest(d *Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, why := 0, ""
	for _, one := range s.list {
		score, text := one.compare(d)
		if score > best {
			best, why = score, text
		}
	}
	return why
}

// compare counts what fits, and says what does not: the URL counts most.
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

// inTime holds a stub to the time limit of the message. Both pass on the
// account's clock.
func inTime(o engine.Outcome, limit time.Duration) engine.Outcome {
	if o.After > limit {
		o = engine.Outcome{Err: fmt.Sprintf("no answer within the timeout of %s", limit), After: limit}
	}
	o.Took = o.After
	return o
}

// Match is where the parts of the URL match; nil when the stub is for another
// delivery.
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

// next is the answer whose turn it is.
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
		status, _ = strconv.Atoi(fill(string(a.Status))) // what is no number is no answer
	}
	if strings.Contains(a.Delay, "$") {
		after, _ = response.Duration(fill(a.Delay)) // what is no duration takes no time
	}
	h := engine.Header{}
	for name, v := range a.Headers {
		http.Header(h).Set(name, fill(v))
	}
	return engine.Outcome{Status: status, Header: h, Body: []byte(fill(a.Body)), After: after}
}

var echoedParts = regexp.MustCompile(`\{\{\s*(json\s+)?(body|url|method|headers|args|jsonBody|header\s+([\w-]+))\s*\}\}`)

// echo puts parts of the request into a text.
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

// part is what a name of an echo stands for; header is that of {{header NAME}}.
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

// joinedValues is one text for each name.
func joinedValues(values map[string][]string) map[string]string {
	out := make(map[string]string, len(values))
	for name, list := range values {
		out[name] = strings.Join(list, ",")
	}
	return out
}

func asJSON(v any) string {
	b, _ := json.Marshal(v) // texts and maps of texts always marshal
	return string(b)
}

// Saved is a stub and how many of its answers have been used.
type Saved struct {
	Stub
	Used map[string]int `json:"used,omitempty"`
}

// Save is what a snapshot keeps of the stubs.
func (s *List) Save() []Saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Saved, len(s.list))
	for i, one := range s.list {
		out[i] = Saved{one.Stub, maps.Clone(one.used)}
	}
	return out
}

// Load replaces all stubs; they have been checked.
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

// Parse reads URL=STATUS[:BODY]; the URL may hold = itself.
func Parse(text string) (Stub, error) {
	m := stubText.FindStringSubmatch(text)
	if m == nil {
		return Stub{}, response.Invalid(fmt.Sprintf("invalid value %q: must be URL=STATUS or URL=STATUS:BODY, such as https://app.test/*=503", text))
	}
	s := Stub{URL: m[1], Answers: []Answer{{Status: Status(m[2]), Body: m[4]}}}
	return s, s.Check()
}

var stubText = regexp.MustCompile(`^(.+)=(\d{3})(:(?s:(.*)))?$`)
