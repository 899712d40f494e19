package ui

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/route"
)

// rowsShown is how many rows a page of a list has.
const rowsShown = "40"

// narrowed is the query for a list with the filters of the view's query.
func (v *visit) narrowed(list string) (url.Values, error) {
	query := url.Values{"count": {rowsShown}}
	if list == "dlq" {
		query.Set("count", "100") // groups are whole
	}
	for _, name := range filterFields {
		if value := strings.TrimSpace(v.query.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	for field, name := range map[string]string{"from": "fromDate", "to": "toDate"} {
		text := query.Get(field)
		if query.Del(field); text == "" {
			continue
		}
		at, err := time.Parse("2006-01-02T15:04:05", text)
		if err != nil {
			at, err = time.Parse("2006-01-02T15:04", text)
		}
		if err != nil {
			return nil, refuse(http.StatusBadRequest, fmt.Sprintf("%s: invalid value %q: must be a time in UTC such as 2026-01-02T15:04", field, text))
		}
		query.Set(name, strconv.FormatInt(at.UnixMilli(), 10))
	}
	words, kind := query.Get("q"), searchedLists[list]
	if query.Del("q"); words == "" {
		return query, nil
	}
	var found struct {
		Hits   []struct{ ID string }
		Cursor string
	}
	if err := v.get(&found, "search", url.Values{"q": {"kind:" + kind[0] + " " + words}, "count": {"1000"}}); err != nil {
		return query, err
	}
	given := query.Get(kind[1])
	v.cut = found.Cursor != ""
	ids := []string{"none"}
	for _, hit := range found.Hits {
		if given == "" || slices.Contains(strings.Split(given, ","), hit.ID) {
			ids = append(ids, hit.ID)
		}
	}
	query.Set(kind[1], strings.Join(ids, ","))
	return query, nil
}

// searchedLists are the kind of search and the filter for ids of each list.
var searchedLists = map[string][2]string{"dlq": {"dlq", "dlqId"}, "messages": {"message", "messageId"}, "runs": {"run", "workflowRunId"}}

// filterFields are the query fields of a list; q are words and filters of a search.
var filterFields = []string{"q", "from", "to", "cursor", "sort", "source", "state", "messageId", "url", "label", "flowControlKey", "topicName", "queueName", "scheduleId", "workflowRunId"}

// list loads a list with the filters of the view, without words that the search refuses: "wrong" has
// the reason. query has these filters.
func (v *visit) list(path string) (d doc, query url.Values, err error) {
	query, err = v.narrowed(path)
	wrong := refusal(err, http.StatusBadRequest)
	if query == nil || err != nil && wrong == "" {
		return nil, nil, err
	}
	d = doc{"wrong": wrong, "cut": v.cut}
	err = v.get(&d, path, query)
	query.Del("cursor")
	query.Del("sort")
	return d, query, err
}

// counted is a list with how many entries match its other filters in each state, or all if
// there are no other filters.
func (v *visit) counted(path string, all tally) (doc, error) {
	d, query, err := v.list(path)
	if err != nil {
		return nil, err
	}
	if query.Del("state"); len(query) > 1 {
		all, err = v.tally(path, query)
	}
	d["counts"] = all
	return d, err
}

// tally are numbers of entries by their states; of the DLQ by their sources.
type tally map[string]int

func (v *visit) tally(list string, query url.Values) (tally, error) {
	query.Set("count", "1")
	if list != "dlq" { // which always counts
		query.Set("counts", "true")
	}
	var counted struct{ Counts tally }
	err := v.get(&counted, list, query)
	return counted.Counts, err
}

func stateOf(entry doc) string { return cmp.Or(text(entry["state"]), text(entry["workflowState"])) }

// All is the number of entries.
func (t tally) All() (n int) {
	for _, some := range t {
		n += some
	}
	return n
}

func (t tally) String() string {
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(t)) {
		parts = append(parts, fmt.Sprintf("%d %s", t[state], strings.ToLower(StateWord(state))))
	}
	return strings.Join(parts, ", ")
}

// fan is a part of a list, newest first: the messages of one publish to a group, which sends one to each URL, or messages
// without a group.
type fan struct {
	Group string
	Rows  []doc
	Tally tally
}

func fansOf(messages any) (list []fan) {
	for _, m := range asList(messages) {
		group, last := text(m["topicName"]), len(list)-1
		if last < 0 || list[last].Group != group || group != "" && slices.ContainsFunc(list[last].Rows, func(r doc) bool { return r["createdAt"] != m["createdAt"] || r["url"] == m["url"] }) {
			list, last = append(list, fan{Group: group, Tally: tally{}}), last+1
		}
		list[last].Rows = append(list[last].Rows, m)
		list[last].Tally[stateOf(m)]++
	}
	return list
}

// usualHost is the host of most rows of a list, which the rows leave out; "" if there is none.
func usualHost(rows any, field string) string {
	counts, list := map[string]int{}, asList(rows)
	for _, row := range list {
		host, _, _ := strings.Cut(plainURL(row[field]), "/")
		if counts[host]++; len(list) > 2 && 2*counts[host] > len(list) {
			return host
		}
	}
	return ""
}

// whereText is a URL without its scheme and the usual host.
func whereText(v any, usual string) string {
	plain := plainURL(v)
	if path, found := strings.CutPrefix(plain, usual); found && usual != "" && len(path) > 1 && path[0] == '/' {
		return path
	}
	return plain
}

func messagesView(v *visit) (any, error) { return v.counted("messages", v.now.Messages) }

// attempt is a delivery from the journal.
type attempt struct{ api.Delivery }

// Signature is the token of the delivery; nil without one.
func (a *attempt) Signature() *signature { return decodeSignature(a.Request.Headers) }

// logged is an event of a message.
type logged struct {
	api.LogRow
	ResponseBody    string
	ResponseHeaders map[string][]string
	RetryRule       string
	DlqID           string

	ResponseBodyBase64 string
	ResponseBodyNote   string // why it is not the whole answer
	ResponseDropped    int    // bytes of the answer and its headers that were dropped
}

// moment is one point of a message's timeline.
type moment struct {
	logged
	Kind    string   // created, attempt, waits, end
	Number  int      // of an attempt, from 1
	Wire    *attempt // nil if the journal has dropped it
	Ended   int64    // Unix ms; 0 in flight
	Outcome string   // DELIVERED, ERROR; "" in flight, or cut short

	InFlight bool // the attempt has not ended
}

// Comparable reports whether the journal has the attempt, or the log its outcome.
func (m *moment) Comparable() bool { return m.Kind == "attempt" && (m.Wire != nil || m.Outcome != "") }

// Answer is the response to an attempt: from the journal or, without the request, from the log.
func (m *moment) Answer() *api.Content {
	if m.Wire != nil {
		return &m.Wire.Response
	}
	return &api.Content{Status: m.ResponseStatus, Headers: m.ResponseHeaders, Body: m.ResponseBody, BodyBase64: m.ResponseBodyBase64, BodyBytes: m.ResponseDropped}
}

// Tone is the shape of the moment.
func (m *moment) Tone() string {
	switch {
	case m.Kind == "end":
		return stateTone(m.State)
	case m.Outcome == "ERROR":
		return "bad"
	case m.InFlight:
		return "busy"
	case m.Kind == "attempt" && m.Outcome == "":
		return "gone"
	}
	return "good"
}

// Aside is why an attempt failed, unless its status already says it.
func (m *moment) Aside() string {
	return strings.TrimPrefix(strings.TrimPrefix(m.Cause, fmt.Sprintf("%d ", m.ResponseStatus)), "response")
}

// canResume reports whether a failure offers to resume a run. The failure callback of a run
// belongs to the run, but is only a message.
func canResume(failure doc) bool {
	return slices.ContainsFunc(asList(failure["can"]), func(remedy doc) bool { return remedy["do"] == "resume" })
}

// letter is the data of the view of a message.
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
	Failure    doc
	Alike      notice // the entries of the DLQ with the same cause
	Lineage    []doc
	Trace      struct{ URL string }
	Timeline   []moment
	Attempts   []int // that can be compared; nil if fewer than two
	Hidden     int   // number of omitted moments
	Fan        []doc // the messages of the publish to a group
	Curl       string
	Form       *publishForm
	Waits      bool // the message has not ended
}

// Shown is the attempt whose request and response are shown: the asked one, otherwise the latest;
// nil before the first.
func (l *letter) Shown(asked string) (shown *moment) {
	for i := range l.Timeline {
		if m := &l.Timeline[i]; m.Kind == "attempt" && (shown == nil || strconv.Itoa(shown.Number) != asked) {
			shown = m
		}
	}
	return shown
}

// Headline is what was sent where.
func (l *letter) Headline() string { return l.Message.Method + " " + pathOf(l.Message.URL) }

// mostMoments is the maximum length of a timeline.
const mostMoments = 60

// messageView loads a message. Of a long timeline it keeps the first moment and the
// latest ones, and counts the others.
func messageView(v *visit, id string) (any, error) {
	var l letter
	if err := v.get(&l, "messages/"+url.PathEscape(id), url.Values{"maxBody": {mostBody}}); err != nil {
		return nil, err
	}
	l.Timeline = timelineOf(l.Events, l.Deliveries)
	l.Attempts = comparableAttempts(l.Timeline)
	if n := len(l.Timeline) - mostMoments; n > 0 {
		l.Timeline, l.Hidden = slices.Concat(l.Timeline[:1], l.Timeline[n+1:]), n
	}
	l.Waits = !slices.Contains([]string{"DELIVERED", "FAILED", "CANCELED"}, text(l.Row["state"]))
	l.Form = formOf(&l, v.access)
	l.Form.Original = id
	l.Curl = curlCommand(v.access, l.Form)
	var err error
	var d doc
	if topic := text(l.Row["topicName"]); topic != "" {
		at := strconv.FormatInt(l.Message.CreatedAt, 10)
		err = v.get(&d, "messages", url.Values{"topicName": {topic}, "fromDate": {at}, "toDate": {at}, "count": {"1000"}})
	}
	for _, f := range fansOf(d["messages"]) {
		if slices.ContainsFunc(f.Rows, func(r doc) bool { return r["messageId"] == id }) {
			l.Fan = f.Rows
		}
	}
	if l.DlqID == "" || err != nil {
		return &l, err
	}
	err = v.get(&d, "dlq", url.Values{"url": {l.Message.URL}, "count": {"1000"}})
	for _, n := range failures(d, v.frame()) {
		if slices.ContainsFunc(n.Entries, func(e doc) bool { return e["dlqId"] == l.DlqID }) {
			l.Alike = n
		}
	}
	return &l, err
}

// timelineOf combines events and deliveries: an attempt lasts from the event ACTIVE to
// the next ERROR or DELIVERED.
func timelineOf(events []logged, deliveries []attempt) []moment {
	var line []moment
	number := 0
	for _, e := range events {
		last, m := len(line)-1, moment{logged: e, Kind: "end"}
		switch e.State {
		case "CREATED":
			m.Kind = "created"
		case "ACTIVE":
			number++
			m.Kind, m.Number = "attempt", number
			if i := slices.IndexFunc(deliveries, func(d attempt) bool { return d.Attempt == number-1 }); i >= 0 {
				m.Wire = &deliveries[i]
			}
		case "ERROR", "DELIVERED":
			if last >= 0 && line[last].Kind == "attempt" && line[last].Ended == 0 {
				at := line[last].Time
				line[last].logged, line[last].Ended, line[last].Outcome = e, e.Time, e.State
				line[last].Time = at
				continue
			}
		case "RETRY":
			m.Kind = "waits"
		default:
			if last >= 0 && line[last].Cause == e.Cause {
				m.Cause = "" // its attempt says it
			}
		}
		line = append(line, m)
	}
	last := len(line) - 1
	if last > 0 && line[last].State == "CANCEL_REQUESTED" {
		last--
	}
	if last >= 0 {
		line[last].InFlight = line[last].Kind == "attempt" && line[last].Outcome == ""
	}
	return line
}

// signature is the token with which a destination verifies a delivery.
type signature struct {
	Name   string
	Token  string
	Header string
	Claims string
}

// By is what has made the signature: a key among the variables of the account.
func (s *signature) By(a api.Account) string {
	if strings.Contains(s.Claims, "***") {
		return "not checked: it contains a credential"
	}
	at := strings.LastIndexByte(s.Token, '.')
	for _, v := range a.Env { // the names of a dialect come before this server's
		h := hmac.New(sha256.New, []byte(v.Value))
		h.Write([]byte(s.Token[:at]))
		if base64.RawURLEncoding.EncodeToString(h.Sum(nil)) == s.Token[at+1:] {
			return "valid, " + v.Name
		}
	}
	return "of no key of this account"
}

// decodeSignature decodes the signature in the headers of a delivery; nil if there is none.
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

// decodedPart decodes a part of a signature, and indents JSON; invalid base64 stays unchanged.
func decodedPart(part string) string {
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
	if err != nil {
		return part
	}
	return prettyJSON(string(text))
}

// publishForm is the form to publish a message.
type publishForm struct {
	Destination string
	Method      string
	Headers     string // one per line
	Body        string
	Binary      bool   // the body is base64
	Original    string // id of the message that it publishes again; "" for a new one
}

// mostForm is the largest body that can be edited on the page, in bytes. mostBody is
// how much of a body is requested: slightly more, so that a larger body is noticed.
const (
	mostForm = 64 << 10
	mostBody = "65540"
)

// formOf fills the form with the request that published a message.
func formOf(l *letter, a api.Account) *publishForm {
	f := &publishForm{Destination: l.Message.URL, Method: l.Message.Method, Body: l.Message.Body}
	if l.Message.BodyBase64 != "" {
		f.Body, f.Binary = l.Message.BodyBase64, true
	}
	f.Headers = headerText(l.Published)
	if _, ok := l.Published[a.HeaderPrefix+"Method"]; !ok && f.Method != http.MethodPost {
		f.Headers += fmt.Sprintf("%sMethod: %s\n", a.HeaderPrefix, f.Method)
	}
	return f
}

// headerText is a header as lines, by name.
func headerText(header map[string][]string) string {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if lines.Len() < mostForm {
				fmt.Fprintf(&lines, "%s: %s\n", name, value)
			}
		}
	}
	return lines.String()
}

// Large reports whether the body is too large to be edited on the page.
func (f *publishForm) Large() bool { return len(f.Body) > mostForm }

// curlCommand is the curl command that publishes the same message.
func curlCommand(a api.Account, f *publishForm) string {
	var b strings.Builder
	data := "--data-raw " + clip.Shell(f.Body)
	switch {
	case f.Large():
		data = "--data-binary @body.bin  # larger than what fits into a command line: take it from the API"
	case f.Binary:
		fmt.Fprintf(&b, "printf %%s %s | base64 -d | ", clip.Shell(f.Body))
		data = "--data-binary @-"
	case f.Body == "":
		data = ""
	}
	fmt.Fprintf(&b, "curl -X POST %s \\\n  -H %s", clip.Shell(a.URL+route.PublishMessage.Path(f.Destination)), clip.Shell("Authorization: Bearer "+a.Token))
	for line := range strings.Lines(f.Headers) {
		fmt.Fprintf(&b, " \\\n  -H %s", clip.Shell(strings.TrimSuffix(line, "\n")))
	}
	if data != "" {
		b.WriteString(" \\\n  " + data)
	}
	return b.String()
}

// sendMessage publishes a message or triggers a run, and redirects to it.
func sendMessage(how route.Route) func(*visit, form) error {
	return func(v *visit, f form) error {
		destination := strings.TrimSpace(f.Get("destination"))
		if destination == "" {
			return fmt.Errorf("destination is missing: must be a URL or the name of a URL group")
		}
		destination, query, _ := strings.Cut(destination, "?")
		r := request{method: http.MethodPost, path: v.as(how, destination), raw: query, header: http.Header{}, body: []byte(f.Get("body"))}
		if err := headerLines(f.Get("headers"), r.header); err != nil {
			return err
		}
		if original := f.Get("original"); original != "" {
			r.header.Set("Understudy-Original-Message", original)
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
}

// landingView is the address to show after a publish: the message, the run, or the list of
// messages.
func landingView(v *visit, receipts []byte) string {
	var one struct{ MessageID, WorkflowRunID string }
	at := v.frame()
	switch {
	case json.Unmarshal(receipts, &one) != nil:
		return at.Link("messages")
	case one.WorkflowRunID != "":
		return at.Of("runs", one.WorkflowRunID)
	}
	return at.Of("messages", one.MessageID)
}
