package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver"
)

// followPause is the interval between two streams.
const followPause = 200 * time.Millisecond

// follow prints the entries of a stream as they arrive, until the server is gone. A stream also
// ends when the account moves to another server of a fleet: then the next one starts.
func (c *CtlCmd) follow(e *env, n *noun, q url.Values) error {
	wanted := maps.Clone(q) // the stream of events has no filters
	if n.match != "" {      // a journal is its own stream
		wanted = nil
		q.Set("follow", "true")
	} else {
		q = url.Values{}
	}
	r, err := c.request(e, http.MethodGet, n.follow, q, http.NoBody)
	if err != nil {
		return err
	}
	write := func(data string) error {
		_, err := fmt.Fprintln(e.out, data)
		return err
	}
	if c.forPeople(e) { // times are those of the clock: a distance from now would not change
		rows := tables[n.follow].stream(e.screen(&c.remote, &outputFlags{Absolute: true}, nil))
		write = func(data string) error {
			var entry row
			if err := json.Unmarshal([]byte(data), &entry); err != nil {
				return err
			}
			return rows.next(entry)
		}
	}
	most, _ := strconv.Atoi(wanted.Get("count"))
	f := &follower{wanted: wanted, most: most, to: write}
	for first := true; first || clock.Pause(e.ctx, followPause) == nil; first = false {
		response, err := c.do(r)
		if err != nil && (!first || e.ctx.Err() != nil) {
			return nil //nolint:nilerr // stopped, or interrupted by the user
		}
		if err != nil {
			return err
		}
		if err := f.read(&c.remote, response); err != nil && e.ctx.Err() == nil {
			return err
		}
		if f.last != "" {
			r.Header.Set("Last-Event-ID", f.last)
		}
	}
	return nil
}

// follower passes on the data of event streams that a user wants.
type follower struct {
	wanted url.Values
	most   int // of what had happened before; 0: all
	to     func(data string) error
	last   string   // id of the event that was received last
	before []string // what had happened before
	now    bool     // before was passed on
}

// read reads a stream until it ends.
func (f *follower) read(c *remote, response *http.Response) error {
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return c.refusal(response, text)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var ready []string
		switch name, value, _ := strings.Cut(lines.Text(), ": "); {
		case name == "id":
			f.last = value
		case name == "" && value == "now":
			ready, f.before, f.now = f.before, nil, true
		case name != "data" || !isWanted(value, f.wanted):
		case f.now || f.most == 0:
			ready = []string{value}
		default:
			f.before = append(f.before, value)
			f.before = f.before[max(0, len(f.before)-f.most):]
		}
		for _, data := range ready {
			if err := f.to(data); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// isWanted reports whether an event has the values of the filters.
func isWanted(data string, wanted url.Values) bool {
	var event row
	if len(wanted) == 0 || json.Unmarshal([]byte(data), &event) != nil {
		return true
	}
	for name, values := range wanted {
		got := textOf(event[name])
		switch name {
		case "state":
			if !slices.Contains(strings.Split(values[0], ","), got) {
				return false
			}
		case "url":
			if !strings.HasPrefix(firstOf("url", "workflowUrl")(nil, event), values[0]) {
				return false
			}
		case "label", "messageId", "workflowRunId":
			if got != values[0] {
				return false
			}
		}
	}
	return true
}

// The parts of an HTTP archive, version 1.2, that ctl writes.
type (
	harEntry struct {
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"` // ms
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
	}
	harRequest struct {
		Method      string     `json:"method"`
		URL         string     `json:"url"`
		Version     string     `json:"httpVersion"`
		Cookies     []struct{} `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Query       []harPair  `json:"queryString"`
		PostData    *harBody   `json:"postData,omitempty"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		Version     string     `json:"httpVersion"`
		Cookies     []struct{} `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harBody    `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harBody struct {
		Size     int    `json:"size"`
		MIME     string `json:"mimeType"`
		Text     string `json:"text"`
		Encoding string `json:"encoding,omitempty"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	// journalMessage is a message as the control API shows it.
	journalMessage struct {
		Status     int         `json:"status"`
		Headers    http.Header `json:"headers"`
		Body       string      `json:"body"`
		BodyBase64 string      `json:"bodyBase64"`
	}
)

// har writes a journal as an HTTP archive.
func (c *CtlCmd) har(e *env, n *noun, q url.Values, file string) error {
	var journal struct {
		Entries []struct {
			At                int64
			Method, URL, Path string
			Request, Response journalMessage
			Error             string
			OperationID       string
			MessageID         string
			DurationMs        float64
		}
	}
	answer, err := c.ask(e, n.list, nil, q, nil)
	if err == nil {
		err = json.Unmarshal(answer, &journal)
	}
	if err != nil {
		return err
	}
	entries := []harEntry{}
	for i := range journal.Entries {
		x := &journal.Entries[i]
		address := cmp.Or(x.URL, c.URL.base()+x.Path)
		h := harEntry{
			Started: time.UnixMilli(x.At).UTC().Format("2006-01-02T15:04:05.000Z"), Time: x.DurationMs, Timings: harTimings{Wait: x.DurationMs},
			Comment:  strings.TrimSpace(cmp.Or(x.OperationID, x.MessageID) + " " + x.Error),
			Request:  harRequest{Method: x.Method, URL: address, Version: "HTTP/1.1", Cookies: []struct{}{}, Headers: headerPairs(x.Request.Headers), Query: []harPair{}, HeadersSize: -1, BodySize: -1},
			Response: harResponse{Status: x.Response.Status, StatusText: http.StatusText(x.Response.Status), Version: "HTTP/1.1", Cookies: []struct{}{}, Headers: headerPairs(x.Response.Headers), Content: x.Response.content(), HeadersSize: -1, BodySize: -1},
		}
		if u, err := url.Parse(address); err == nil {
			h.Request.Query = headerPairs(http.Header(u.Query()))
		}
		if body := x.Request.content(); body.Text != "" {
			h.Request.PostData = &body
		}
		entries = append(entries, h)
	}
	text, err := json.MarshalIndent(map[string]any{"log": map[string]any{
		"version": "1.2", "creator": map[string]string{"name": "understudy", "version": mockserver.Version}, "entries": entries,
	}}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return usageError("--har: %w", err)
	}
	return c.done(e, map[string]any{"file": file, "entries": len(entries)}, "{{.file}}: {{plain .entries}} entries")
}

func (m *journalMessage) content() harBody {
	b := harBody{MIME: m.Headers.Get("Content-Type"), Text: m.Body, Size: len(m.Body)}
	if m.BodyBase64 != "" {
		b.Text, b.Encoding, b.Size = m.BodyBase64, "base64", len(m.BodyBase64)*3/4
	}
	return b
}

// headerPairs lists a header, sorted by name.
func headerPairs(h http.Header) []harPair {
	list := []harPair{}
	for name, values := range h {
		for _, v := range values {
			list = append(list, harPair{name, v})
		}
	}
	slices.SortFunc(list, func(a, b harPair) int { return strings.Compare(a.Name+a.Value, b.Name+b.Value) })
	return list
}
