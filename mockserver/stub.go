package mockserver

import (
	"encoding/json"
	"fmt"
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
	Status  StubStatus        `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Delay   string            `json:"delay,omitempty"` // on the account's clock, such as 3s
	Drop    bool              `json:"drop,omitempty"`  // the connection ends without an answer
	Fail    string            `json:"fail,omitempty"`  // no answer at all: refused, reset, timeout, tls
}

// failures are what happens when an answer fails, as a delivery would tell it.
var failures = map[string]string{
	"refused": "connection was refused (stub)",
	"reset":   "connection was reset by the destination (stub)",
	"timeout": "no answer (stub)",
	"tls":     "TLS handshake failed: certificate is not trusted (stub)",
}

// StubStatus is a status, or text with captures that becomes one.
type StubStatus string

// UnmarshalJSON takes a number or a string.
func (s *StubStatus) UnmarshalJSON(b []byte) error {
	var n int
	if json.Unmarshal(b, &n) == nil {
		*s = StubStatus(strconv.Itoa(n))
		return nil
	}
	var text string
	err := json.Unmarshal(b, &text)
	*s = StubStatus(text)
	return err
}

// MarshalJSON writes a number where it is one.
func (s StubStatus) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(s)); err == nil {
		return json.Marshal(n)
	}
	return json.Marshal(string(s))
}

// check refuses a stub that cannot be.
func (s *Stub) check() error {
	_, err := s.compile()
	return err
}

func (s *Stub) compile() (*stub, error) {
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
		return nil, response.Invalid(fmt.Sprintf("stub URL %q: accepted is a URL in which * stands for anything, or a regular expression between slashes", s.URL))
	}
	out := &stub{Stub: *s, url: expression}
	for _, a := range s.Answers {
		delay := time.Duration(0)
		if a.Delay != "" && !strings.Contains(a.Delay, "$") {
			if delay, err = response.Duration(a.Delay); err != nil || delay < 0 {
				return nil, response.Invalid(fmt.Sprintf("stub %q: delay %q: accepted is a duration such as 3s", s.URL, a.Delay))
			}
		}
		if n, err := strconv.Atoi(string(a.Status)); a.Status != "" && !strings.Contains(string(a.Status), "$") && (err != nil || n < 100 || n > 999) {
			return nil, response.Invalid(fmt.Sprintf("stub %q: status %q: accepted is 100 to 999, or a capture such as $1", s.URL, a.Status))
		}
		if a.Fail != "" && failures[a.Fail] == "" {
			return nil, response.Invalid(fmt.Sprintf("stub %q: fail %q: accepted are refused, reset, timeout and tls", s.URL, a.Fail))
		}
		out.delays = append(out.delays, delay)
	}
	return out, nil
}

type stub struct {
	Stub
	url    *regexp.Regexp
	delays []time.Duration
	used   map[string]int // answers given: by message, or "" for all
}

// delivered is what a stub gets to see.
type delivered struct {
	message, method, url string
	header               http.Header
	body                 []byte
}

// stubs are those of one account; the first that matches answers.
type stubs struct {
	mu   sync.Mutex
	list []*stub
}

// set replaces all stubs; those that cannot be are left out, see Stub.check.
func (s *stubs) set(list []Stub) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
	for _, one := range list {
		if compiled, err := one.compile(); err == nil {
			s.list = append(s.list, compiled)
		}
	}
}

// add puts a stub before all others.
func (s *stubs) add(one Stub) error {
	compiled, err := one.compile()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append([]*stub{compiled}, s.list...)
	return nil
}

// addLast puts stubs after all others, unless the same one is there.
func (s *stubs) addLast(list []Stub) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		known := slices.ContainsFunc(s.list, func(other *stub) bool { return reflect.DeepEqual(other.Stub, one) })
		if compiled, err := one.compile(); err == nil && !known {
			s.list = append(s.list, compiled)
		}
	}
}

func (s *stubs) get() []Stub {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Stub, len(s.list))
	for i, one := range s.list {
		out[i] = one.Stub
	}
	return out
}

// answer plays the destination, if a stub stands for it.
func (s *stubs) answer(d *delivered, limit time.Duration) (engine.Outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.list {
		if captures := one.match(d.method, d.url, d.header); captures != nil {
			return inTime(one.next(d, captures, limit), limit), true
		}
	}
	return engine.Outcome{}, false
}

// standFor reports whether a stub answers for a URL, whatever else it asks for.
func (s *stubs) standFor(url string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.list, func(one *stub) bool { return one.url.MatchString(url) })
}

// nearest says which stub came closest to a delivery that none matched, and what
// was missing; "" when there is none.
func (s *stubs) nearest(d *delivered) string {
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
func (s *stub) compare(d *delivered) (score int, why string) {
	if s.url.FindStringIndex(d.url) != nil {
		score += 1000
	} else {
		score = len(commonPrefix(strings.Trim(s.URL, "/^"), d.url))
		why = fmt.Sprintf("the URL %s does not match %s", d.url, s.URL)
	}
	if s.Method != "" && !strings.EqualFold(s.Method, d.method) {
		why += fmt.Sprintf("; the method is %s, the stub takes %s", d.method, s.Method)
	}
	for name, v := range s.Header {
		if got := d.header.Get(name); got != v {
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

func (s *stub) match(method, target string, h http.Header) []int {
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
func (s *stub) next(d *delivered, captures []int, limit time.Duration) engine.Outcome {
	whose := ""
	if s.PerMessage {
		whose = d.message
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
		return engine.Outcome{Err: failures[a.Fail], After: limit + 1}
	}
	if a.Fail != "" {
		return engine.Outcome{Err: failures[a.Fail], After: after}
	}
	if a.Drop {
		return engine.Outcome{Err: "connection was closed without an answer (stub)", After: after}
	}
	status := http.StatusOK
	fill := func(text string) string {
		if strings.Contains(text, "$") {
			text = string(s.url.ExpandString(nil, strings.ReplaceAll(text, "$reason", http.StatusText(status)), d.url, captures))
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

var echoed = regexp.MustCompile(`\{\{\s*(json\s+)?(body|url|method|headers|args|jsonBody|header\s+([\w-]+))\s*\}\}`)

// echo puts parts of the request into a text.
func (d *delivered) echo(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return echoed.ReplaceAllStringFunc(text, func(match string) string {
		m := echoed.FindStringSubmatch(match)
		if m[1] != "" {
			return asJSON(d.part(m[2], m[3]))
		}
		return d.part(m[2], m[3])
	})
}

// part is what a name of an echo stands for; header is that of {{header NAME}}.
func (d *delivered) part(name, header string) string {
	switch name {
	case "body":
		return string(d.body)
	case "url":
		return d.url
	case "method":
		return d.method
	case "headers":
		return asJSON(joined(d.header))
	case "args":
		u, err := url.Parse(d.url)
		if err != nil {
			return "{}"
		}
		return asJSON(joined(u.Query()))
	case "jsonBody":
		if !json.Valid(d.body) {
			return "null"
		}
		return string(d.body)
	}
	return d.header.Get(header)
}

// joined is one text for each name.
func joined(values map[string][]string) map[string]string {
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

// ParseStub reads URL=STATUS[:BODY]; the URL may hold = itself.
func ParseStub(text string) (Stub, error) {
	m := stubText.FindStringSubmatch(text)
	if m == nil {
		return Stub{}, response.Invalid(fmt.Sprintf("%q: accepted is URL=STATUS or URL=STATUS:BODY, such as https://app.test/*=503", text))
	}
	s := Stub{URL: m[1], Answers: []Answer{{Status: StubStatus(m[2]), Body: m[4]}}}
	return s, s.check()
}

var stubText = regexp.MustCompile(`^(.+)=(\d{3})(:(?s:(.*)))?$`)
