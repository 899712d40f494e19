package world

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/fixtures"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// Messages are messages to URLs and to groups.
var Messages = &Kind{Name: "a message", options: messageOptions, normal: normalMessage, run: runMessages, Rules: messageRules}

const (
	retryDelay = "headers.retry_delay" // without it a retry may take hours
	groups     = "drivers.group"
)

// messageOptions are all dimensions of a message.
var messageOptions = []option{
	{"to", "", []choice{
		{n: 1},
		{says: "to a URL with an escaped path and a query", n: 1, name: "/Orders/7%2F8?x=1&y=%20A&retries=0"},
		{says: "to a URL that others share", n: 1},
		{says: "to a group of 1", n: 1, needs: groups},
		{says: "to a group of 3", n: 3, needs: groups},
		{says: "to a group whose name differs from that of another only in case", n: 2, needs: groups, basis: spec.Implied},
		{says: "to a group that others share", n: 2, needs: groups},
	}},
	{"delay", "with", []choice{
		{},
		{says: "a delay of 2 s", n: 2, needs: "delay.format"},
		{says: "a delay of 2 s by query", n: 2, at: inQuery, needs: "delay.format"},
		{says: "a default delay of 2 s", n: 2, at: byDefault, needs: "delay.format"},
		{says: "a default delay of 2 s in an array", n: 2, at: inArray, needs: "delay.format"},
	}},
	{"retries", "with", []choice{
		{n: -1},
		{says: "2 retries", n: 2},
		{says: "1 retry", n: 1},
		{says: "0 retries"},
		{says: "1 retry by query", n: 1, at: inQuery},
		{says: "0 retries by query", at: inQuery},
		{says: "2 retries by default", n: 2, at: byDefault},
		{says: "2 retries by default in an array", n: 2, at: inArray},
		{says: "0 retries by default in an array", at: inArray},
		{says: "4 retries", n: 4},
	}},
	{"key", "with", []choice{
		{},
		{says: "a key that is never paused", needs: "headers.flow_key"},
		{says: "a paused key that is resumed", n: 1, needs: "drivers.pause"},
		{says: "a paused key that is resumed twice at once", n: 2, needs: "drivers.pause", basis: spec.Implied},
		{says: "a paused key that is not resumed", n: -1, needs: "drivers.pause"},
		{says: "a paused key by query that is resumed", n: 1, at: inQuery, needs: "drivers.pause"},
		{says: "a key that others share", name: "shared", needs: "headers.flow_key", basis: spec.Implied},
	}},
	{"forwarding", "with", []choice{
		{},
		{says: "all headers forwarded", n: 1},
		{says: "all headers forwarded by query", n: 1, at: inQuery},
		{says: "header forwarding set to false"},
		{says: "all headers forwarded by default", n: 1, at: byDefault},
		{says: "all headers forwarded by default in an array", n: 1, at: inArray},
	}},
	{"plain header", "with", []choice{
		{}, {says: "a header without the forward prefix", n: 1}, {says: "a header with two values without the forward prefix", n: 2},
	}},
	{"forwarded header", "with", append([]choice{{}}, AwkwardHeaders...)},
	{"default header", "with", []choice{
		{}, {says: "a default header as a string", n: 1}, {says: "a default header as an array of two values", n: 2},
	}},
	{"body", "with", append([]choice{{values: []string{"message #\n"}}}, AwkwardBodies...)},
	{"token", "with", []choice{{}, {says: "the token in the query", at: inQuery}}},
	{"callback", "with", []choice{{}, {says: "callbacks for success and failure", needs: "headers.callback"}}},
	{"answers", "whose", []choice{
		{script: []int{200}},
		{says: "destination answers 503 once", script: []int{503, 200}, needs: retryDelay},
		{says: "destination answers 503 twice", script: []int{503, 503, 200}, needs: retryDelay},
		{says: "destination answers 500 and then 503", script: []int{500, 503, 200}, needs: retryDelay},
		{says: "destination always answers 503", script: []int{503}, needs: retryDelay},
		{says: "destination breaks the connection once", script: []int{0, 200}, needs: retryDelay},
		{says: "destination answers 503 and then breaks the connection", script: []int{503, 0, 200}, needs: retryDelay},
		{says: "destination answers after 400 ms", script: []int{200}, n: 400},
		{says: "destination answers 503 three times", script: []int{503, 503, 503, 200}, needs: retryDelay},
		{says: "destination exceeds the timeout of 1 s once", script: []int{http.StatusIMUsed, 200}, n: 1500, needs: "headers.timeout", requires: "REQ-PUB-013"},
	}},
	{"neighbours", "whose", []choice{{}, {says: "other endpoints answer the same", n: 1}}},
}

// AwkwardHeaders are names and values that careless handling changes. A header is forwarded under
// its name.
var AwkwardHeaders = []choice{
	{says: "a forwarded header", name: "X-Order", values: []string{"order-7"}},
	{says: "a credential of the destination in a forwarded header", name: "Authorization", values: []string{"Basic eDp5"}},
	{says: "a forwarded header with the name of an option", name: header.Delay, values: []string{"4s"}, basis: spec.Implied},
	{says: "a forwarded header with the name of another option", name: header.Retries, values: []string{"0"}, basis: spec.Implied},
	{says: "percent signs in a forwarded header", name: "X-Order", values: []string{"100%25 a%2Fb"}, basis: spec.Implied},
	{says: "a lone percent sign in a forwarded header", name: "X-Order", values: []string{"50% a%zz"}, basis: spec.Implied},
	{says: "colons and quotes in a forwarded header", name: "X-Order", values: []string{`a:b="c";d, e`}},
	{says: "two values of a forwarded header", name: "X-Part", values: []string{"order-42", "order-43"}},
	{says: "an empty forwarded header", name: "X-Empty", values: []string{""}, basis: spec.Implied},
	{says: "a forwarded header of 2,000 characters", name: "X-Order", values: []string{strings.Repeat("abcdefghi-", 200)}},
	{says: "a forwarded header whose name is a number", name: "1", values: []string{"0"}},
}

// AwkwardBodies are bodies with their types; # is replaced by the key of the thing. The last two
// have a generator of package fixtures.
var AwkwardBodies = []choice{
	{says: "a body of JSON with odd spacing and a long number", name: "application/json", values: []string{`{ "b": 9007199254740993, "a":1.0, "a" : "\u00e9\/", "key":"#" }`}},
	{says: "the body 0", name: "application/json", values: []string{"0"}},
	{says: "the body false", name: "application/json", values: []string{"false"}},
	{says: "the body null", name: "application/json", values: []string{"null"}},
	{says: "an empty JSON text as its body", name: "application/json", values: []string{`""`}},
	{says: "an empty body", values: []string{""}},
	{says: "a body that is not UTF-8", name: "application/octet-stream", values: []string{"#\xff\xfe\x00\x80\r\n"}},
	{says: "a body with emoji", name: "text/plain; charset=utf-8", values: []string{"# naïve 😀 配達 \u2028"}},
	{says: "a form as its body that looks like options", name: "application/x-www-form-urlencoded", values: []string{header.Query(header.Delay) + "=4s&" + header.Query(header.Retries) + "=0&key=#&b=%20+x"}, basis: spec.Implied},
	{says: "a body that is base64", name: "text/plain", values: []string{"IyP//gA="}},
	{says: "a body of 200 KB", name: "application/octet-stream", values: []string{"#" + strings.Repeat("0123456789abcde\n", 12800)}},
	{says: "an order as its body", n: 3},
	{says: "a multipart form as its body", n: 4},
}

// grouped reports whether a message is published to a group; owned, whether to one of its own.
func (t *Thing) grouped() bool { return strings.HasPrefix(t.on("to").says, "to a group") }
func (t *Thing) shared() bool  { return strings.HasSuffix(t.on("to").says, "share") }

// normalMessage replaces choices that others exclude.
func normalMessage(t *Thing) {
	p := t.Pick
	for _, name := range []string{"delay", "retries", "forwarding"} {
		if c := t.on(name); c.at >= byDefault && (!t.grouped() || t.shared()) {
			p[name] = 1
		}
	}
	if !t.grouped() || t.shared() {
		p["default header"] = 0
	}
	if t.on("to").n == 1 {
		p["neighbours"] = 0
	}
	if strings.HasPrefix(t.on("forwarded header").name, header.Prefix) && t.on("forwarding").n > 0 {
		p["forwarded header"] = 0 // two headers would have one name
	}
	if p["retries"] == 0 && t.on("answers").script[0] != 200 { // how often is open
		p["retries"] = 1
	}
}

// body is the body of a message with its type.
func (t *Thing) body() ([]byte, string) {
	c := t.on("body")
	if c.values == nil {
		made := fixtures.New(int64(t.seed) + 1).Payload(7*int(t.seed%100) + c.n)
		return made.Body, made.Type
	}
	return []byte(strings.ReplaceAll(c.values[0], "#", t.Key)), c.name
}

// script is what the endpoint i answers.
func (t *Thing) script(i int) []int {
	if i > 0 && t.Pick["neighbours"] == 0 {
		return []int{200}
	}
	return t.on("answers").script
}

// plain are the values of the header without the forward prefix; defaults those of the default header.
func (t *Thing) plain() (values []string) {
	for i := range t.on("plain header").n {
		values = append(values, "plain-"+t.Key+"-"+strconv.Itoa(i))
	}
	return values
}

func (t *Thing) defaults() []string { return []string{"plum", "rose"}[:t.on("default header").n] }

// markHeader tells things apart that share a place: their bodies may be changed.
const markHeader, plainHeader, defaultHeader = "X-Thing", "X-Plain", "X-Team"

// Want is what the document says of a message.
type Want struct {
	Attempts []int         // at each endpoint
	Broken   []bool        // a client may repeat a request whose connection broke: no upper bound
	Delay    time.Duration // at least, since the publish
	Held     bool          // nothing before the resume of its key
	Forward  bool          // all headers are forwarded
	Success  bool          // every endpoint takes it
	Failure  bool          // none does
}

// Expect derives what must hold for a message.
func (t *Thing) Expect() *Want {
	w := &Want{Success: true, Failure: true}
	allowed := t.on("retries").n
	for i := range t.on("to").n {
		script := t.script(i)
		tries := slices.Index(script, 200) + 1
		ok := tries > 0 && (allowed < 0 || tries <= allowed+1)
		if !ok {
			tries = allowed + 1
		}
		broken := slices.Contains(script[:min(tries, len(script))], 0)
		w.Attempts, w.Broken = append(w.Attempts, tries), append(w.Broken, broken)
		w.Success, w.Failure = w.Success && ok && !broken, w.Failure && !ok && !broken
	}
	w.Delay = time.Duration(t.on("delay").n) * time.Second
	w.Held, w.Forward = t.on("key").n != 0, t.on("forwarding").n > 0
	if t.on("key").n < 0 {
		w.Attempts, w.Success, w.Failure = make([]int, len(w.Attempts)), false, false
	}
	return w
}

// Order is a message as it is published: by header, by query, and by default headers of its group.
type Order struct {
	Header http.Header
	Query  map[string]string
	Group  map[string]any
	Body   []byte
}

// order writes the options of a message where they belong. delay is the format of a delay, and wait
// the name of the header with the wait before a retry, if any, and timeout that of the header with a timeout.
func (t *Thing) order(delay, wait, timeout string) *Order {
	o := &Order{Header: http.Header{}, Query: map[string]string{}, Group: map[string]any{}}
	put := func(at place, name, value string) {
		switch at {
		case inQuery:
			o.Query[header.Query(name)] = value
		case byDefault:
			o.Group[name] = value
		case inArray:
			o.Group[name] = []string{value}
		default:
			o.Header.Set(name, value)
		}
	}
	if c := t.on("retries"); c.n >= 0 {
		put(c.at, header.Retries, strconv.Itoa(c.n))
		if wait != "" {
			o.Header.Set(wait, harness.RetryDelay)
		}
	}
	if t.on("answers").requires != "" {
		o.Header.Set(timeout, "1s")
	}
	if c := t.on("delay"); c.n > 0 {
		put(c.at, header.Delay, strings.ReplaceAll(delay, "{n}", strconv.Itoa(c.n)))
	}
	if c := t.on("forwarding"); c.says != "" {
		put(c.at, header.HeaderForward, strconv.FormatBool(c.n > 0))
	}
	if values := t.plain(); values != nil {
		o.Header[plainHeader] = values
	}
	if h := t.on("forwarded header"); h.name != "" {
		o.Header[http.CanonicalHeaderKey(header.ForwardPrefix+h.name)] = h.values
	}
	if values := t.defaults(); len(values) == 1 {
		o.Group[defaultHeader] = values[0]
	} else if len(values) > 1 {
		o.Group[defaultHeader] = values
	}
	if t.shared() {
		o.Header.Set(header.ForwardPrefix+markHeader, t.Key)
	}
	body, kind := t.body()
	if o.Body = body; kind != "" {
		o.Header.Set("Content-Type", kind)
	}
	return o
}
