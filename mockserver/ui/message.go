package ui

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec/route"
)

// rowsShown is how many rows a list shows at once.
const rowsShown = "50"

// narrowed is the query of a list: its filters, as the view was asked.
func (v *visit) narrowed(names ...string) (url.Values, error) {
	query := url.Values{"count": {rowsShown}}
	for _, name := range names {
		if value := strings.TrimSpace(v.query.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	for field, name := range map[string]string{"from": "fromDate", "to": "toDate"} {
		text := v.query.Get(field)
		if text == "" {
			continue
		}
		at, err := time.Parse("2006-01-02T15:04:05", text)
		if err != nil {
			at, err = time.Parse("2006-01-02T15:04", text)
		}
		if err != nil {
			return nil, &failure{http.StatusBadRequest, fmt.Sprintf("%s: invalid value %q: must be a time in UTC such as 2026-01-02T15:04", field, text)}
		}
		query.Set(name, strconv.FormatInt(at.UnixMilli(), 10))
	}
	return query, nil
}

// filterFields are the fields of a list's filter that name a value.
var filterFields = []string{"cursor", "source", "state", "url", "label", "flowControlKey", "topicName", "queueName", "scheduleId", "workflowRunId"}

// list loads a list with its filters.
func (v *visit) list(path string) (doc, error) {
	query, err := v.narrowed(filterFields...)
	if err != nil {
		return nil, err
	}
	var d doc
	return d, v.get(&d, path, query)
}

func nowView(v *visit) (any, error) {
	var log doc
	err := v.get(&log, "log", url.Values{"count": {"15"}})
	return log["events"], err
}

func messagesView(v *visit) (any, error) { return v.list("messages") }

// exchange is one half of what went over the wire.
type exchange struct {
	Status     int
	Headers    map[string][]string
	Body       string
	BodyBase64 string
	BodyBytes  int // of the whole body, 0 when this is it
}

// attempt is a delivery as the journal has it.
type attempt struct {
	At, RealAt int64 // Unix ms
	Attempt    int
	Method     string
	URL        string
	Request    exchange
	Response   exchange
	Error      string
	Stubbed    bool
	NearMiss   string
	DurationMs float64
}

// logged is an event of a message.
type logged struct {
	Time             int64
	State            string
	Error            string
	Cause            string // the error in words
	ResponseStatus   int
	ResponseBody     string
	NextDeliveryTime int64
	RetryRule        string
	DlqID            string
}

// moment is one point of a message's timeline.
type moment struct {
	logged
	Kind    string   // created, attempt, waits, end
	Number  int      // of an attempt, from 1
	Wire    *attempt // nil when the journal has let go of it
	Signed  *signature
	Ended   int64  // Unix ms, 0 while it is in flight
	Outcome string // DELIVERED, ERROR, "" in flight
}

// letter is a message with all that is known of it.
type letter struct {
	Message struct {
		URL, Method      string
		Body, BodyBase64 string
		Header           map[string][]string
		CreatedAt        int64
	}
	Row        doc
	Published  map[string][]string
	Events     []logged
	Deliveries []attempt
	Callbacks  []doc
	Reasons    []doc
	DlqID      string
	Timeline   []moment
	Hidden     int // moments that are not shown
	Curl       string
	Form       *publishForm
	Waits      bool // it has not ended
}

// mostMoments is how long a timeline is.
const mostMoments = 60

// messageView shows the first moment and the latest ones of a long life: what lies
// between is counted.
func messageView(v *visit, id string) (any, error) {
	var l letter
	if err := v.get(&l, "messages/"+url.PathEscape(id), url.Values{"maxBody": {mostBody}}); err != nil {
		return nil, err
	}
	l.Timeline = timelineOf(l.Events, l.Deliveries)
	if n := len(l.Timeline) - mostMoments; n > 0 {
		l.Timeline, l.Hidden = slices.Concat(l.Timeline[:1], l.Timeline[n+1:]), n
	}
	state, _ := l.Row["state"].(string)
	l.Waits = !slices.Contains([]string{"DELIVERED", "FAILED", "CANCELED"}, state)
	l.Form = formOf(&l, v.access)
	l.Curl = curlCommand(v.access, l.Form)
	return &l, nil
}

// timelineOf puts events and deliveries together: an attempt is what lies between
// ACTIVE and what follows.
func timelineOf(events []logged, deliveries []attempt) []moment {
	var line []moment
	number := 0
	for _, e := range events {
		last := len(line) - 1
		switch e.State {
		case "CREATED":
			line = append(line, moment{logged: e, Kind: "created"})
		case "ACTIVE":
			number++
			m := moment{logged: e, Kind: "attempt", Number: number}
			if i := slices.IndexFunc(deliveries, func(d attempt) bool { return d.Attempt == number-1 }); i >= 0 {
				m.Wire = &deliveries[i]
				m.Signed = decodeSignature(deliveries[i].Request.Headers)
			}
			line = append(line, m)
		case "ERROR", "DELIVERED":
			if last >= 0 && line[last].Kind == "attempt" && line[last].Ended == 0 {
				at := line[last].Time
				line[last].logged, line[last].Ended, line[last].Outcome = e, e.Time, e.State
				line[last].Time = at
				continue
			}
			line = append(line, moment{logged: e, Kind: "end"})
		case "RETRY":
			line = append(line, moment{logged: e, Kind: "waits"})
		default:
			line = append(line, moment{logged: e, Kind: "end"})
		}
	}
	return line
}

// signature is the token by which a destination knows that a delivery is genuine.
type signature struct {
	Name   string
	Token  string
	Header string
	Claims string
}

// decodeSignature decodes the signature among the headers of a delivery, nil for none.
func decodeSignature(headers map[string][]string) *signature {
	for name, values := range headers {
		if !strings.HasSuffix(name, "-Signature") || len(values) == 0 {
			continue
		}
		parts := strings.Split(values[0], ".")
		if len(parts) != 3 {
			continue
		}
		return &signature{name, values[0], decodedPart(parts[0]), decodedPart(parts[1])}
	}
	return nil
}

// decodedPart shows a part of a signature as JSON, or as it is where it is none.
func decodedPart(part string) string {
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
	if err != nil {
		return part
	}
	return prettyJSON(string(text))
}

// publishForm is what a message is published with.
type publishForm struct {
	Destination string
	Method      string
	Headers     string // a line each
	Body        string
	Binary      bool // the body is base64
}

// mostForm is the largest body that is offered for a change, in bytes. mostBody is
// how much of a body is asked for, in bytes: a little more, so that it shows.
const (
	mostForm = 64 << 10
	mostBody = "65540"
)

// formOf is the request that published a message.
func formOf(l *letter, a access) *publishForm {
	f := &publishForm{Destination: l.Message.URL, Method: l.Message.Method, Body: l.Message.Body}
	if l.Message.BodyBase64 != "" {
		f.Body, f.Binary = l.Message.BodyBase64, true
	}
	names := make([]string, 0, len(l.Published))
	for name := range l.Published {
		names = append(names, name)
	}
	slices.Sort(names)
	var lines strings.Builder
	for _, name := range names {
		for _, value := range l.Published[name] {
			if lines.Len() < mostForm {
				fmt.Fprintf(&lines, "%s: %s\n", name, value)
			}
		}
	}
	if _, ok := l.Published[a.HeaderPrefix+"Method"]; !ok && f.Method != http.MethodPost {
		fmt.Fprintf(&lines, "%sMethod: %s\n", a.HeaderPrefix, f.Method)
	}
	f.Headers = lines.String()
	return f
}

// Large reports whether the body is too large to be changed on the page.
func (f *publishForm) Large() bool { return len(f.Body) > mostForm }

// curlCommand is the command that publishes the same.
func curlCommand(a access, f *publishForm) string {
	var b strings.Builder
	data := "--data-raw " + shellQuoted(f.Body)
	switch {
	case f.Large():
		data = "--data-binary @body.bin  # larger than what fits into a command line: take it from the API"
	case f.Binary:
		fmt.Fprintf(&b, "printf %%s %s | base64 -d | ", shellQuoted(f.Body))
		data = "--data-binary @-"
	case f.Body == "":
		data = ""
	}
	fmt.Fprintf(&b, "curl -X POST %s \\\n  -H %s", shellQuoted(a.URL+route.PublishMessage.Path(f.Destination)), shellQuoted("Authorization: Bearer "+a.Token))
	for line := range strings.Lines(f.Headers) {
		fmt.Fprintf(&b, " \\\n  -H %s", shellQuoted(strings.TrimSuffix(line, "\n")))
	}
	if data != "" {
		b.WriteString(" \\\n  " + data)
	}
	return b.String()
}

// shellQuoted is a text as a shell reads it.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// publishMessage sends a message, by the button, and goes to it.
func publishMessage(v *visit, f form) error {
	destination := strings.TrimSpace(f.Get("destination"))
	if destination == "" {
		return fmt.Errorf("destination is missing: must be a URL or the name of a URL group")
	}
	destination, query, _ := strings.Cut(destination, "?")
	r := request{method: http.MethodPost, path: v.as(route.PublishMessage, destination), raw: query, header: http.Header{}, body: []byte(f.Get("body"))}
	if err := headerLines(f.Get("headers"), r.header); err != nil {
		return err
	}
	if f.Get("binary") != "" {
		body, err := base64.StdEncoding.DecodeString(strings.TrimSpace(f.Get("body")))
		if err != nil {
			return fmt.Errorf("body: invalid base64: %w", err)
		}
		r.body = body
	}
	var receipts json.RawMessage
	if err := v.do(&receipts, r); err != nil {
		return err
	}
	f.Set("then", landingView(v, receipts))
	return nil
}

// landingView is the view of what was published: the message, or the list of all.
func landingView(v *visit, receipts []byte) string {
	var one struct{ MessageID, WorkflowRunID string }
	at := &frame{Account: v.account, query: v.query}
	switch {
	case json.Unmarshal(receipts, &one) != nil:
		return at.Link("messages")
	case one.WorkflowRunID != "":
		return at.Of("runs", one.WorkflowRunID)
	}
	return at.Of("messages", one.MessageID)
}
