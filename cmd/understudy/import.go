package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

// ImportCmd turns what happened elsewhere into a fixture file.
type ImportCmd struct {
	File     string            `arg:"" help:"HTTP archive (HAR), recording of 'proxy --record', or answer of the API that lists the DLQ or the log, as JSON; - for standard input."`
	Out      string            `short:"o" env:"-" placeholder:"FILE" help:"Write the fixture to this file. Default: standard output."`
	Messages bool              `env:"-" help:"Turn the requests of an archive into messages, and not its responses into stubs."`
	Secret   map[string]string `env:"-" placeholder:"NAME=VALUE" help:"The value of a header that is masked otherwise, such as Authorization=Bearer x; repeatable."`
	Unmasked bool              `env:"-" help:"Keep all credentials."`
}

// maxImport is the largest file that is imported, in bytes.
const maxImport = 256 << 20

// imported is a fixture file that is being made.
type imported struct {
	cmd     *ImportCmd
	Version int              `yaml:"version"`
	Stubs   []map[string]any `yaml:"stubs,omitempty"`
	Msgs    []map[string]any `yaml:"messages,omitempty"`
	DLQ     []map[string]any `yaml:"dlq,omitempty"`
	Runs    []map[string]any `yaml:"runs,omitempty"`
	masked  map[string]bool
	skipped int
}

// exported is what import reads: each source has other members.
type exported struct {
	Log *struct {
		Entries []harEntry `json:"entries"`
	} `json:"log" yaml:"-"` // HAR
	Messages        []exportedMessage `json:"messages"` // the list of the DLQ
	Events          []exportedMessage `json:"events"`   // the list of the log
	Logs            []exportedMessage `json:"logs"`     // its later name
	Stubs           []map[string]any  `json:"stubs"`    // a recording
	exportedMessage                   // a single entry of the DLQ
}

// exportedMessage is an entry of the DLQ, or an event of the log.
type exportedMessage struct {
	DLQID, MessageID, URL, Method, State, Callback, FailureCallback, CallerIP, FlowControlKey string
	WorkflowRunID, WorkflowURL                                                                string
	Header, ResponseHeader, ResponseHeaders                                                   http.Header
	Body, BodyBase64, ResponseBody, ResponseBodyBase64, Error                                 string
	ResponseStatus, Retried                                                                   int
	MaxRetries                                                                                *int
	Time, CreatedAt                                                                           int64
	Labels                                                                                    []string
}

// Run writes the fixture, and says on standard error what it has.
func (c *ImportCmd) Run(e *env) error {
	text, err := c.read()
	if err != nil {
		return usageError("import: %w", err)
	}
	var from exported
	if err := decode(text, &from); err != nil {
		return usageError("import: %s: %w", c.File, err)
	}
	f := &imported{cmd: c, Version: 1, masked: map[string]bool{}}
	switch {
	case from.Log != nil:
		f.archive(from.Log.Entries)
	case from.Stubs != nil:
		f.Stubs = from.Stubs
	case from.Messages != nil:
		f.entries(from.Messages)
	case from.Events != nil || from.Logs != nil:
		f.events(append(from.Events, from.Logs...))
	case from.DLQID != "":
		f.entries([]exportedMessage{from.exportedMessage})
	default:
		return usageError("import: %s: must be an HTTP archive (log.entries), a recording (stubs), or a list of the API (messages, events or logs)", c.File)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(f); err != nil {
		return usageError("import: %w", err)
	}
	if _, _, err := saved.ReadFixture(c.File, out.Bytes()); err != nil {
		return usageError("import: %w", err)
	}
	return c.write(e, f, out.Bytes())
}

// read reads the file, if it is not too large.
func (c *ImportCmd) read() ([]byte, error) {
	in := io.Reader(os.Stdin)
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // only read
		in = file
		if about, err := file.Stat(); err == nil && about.Size() > maxImport {
			return nil, fmt.Errorf("%s: larger than %d MiB", c.File, maxImport>>20)
		}
	}
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s: larger than %d MiB", c.File, maxImport>>20)
	}
	return text, err
}

// decode reads JSON, or the YAML of a recording.
func decode(text []byte, into *exported) error {
	err := json.Unmarshal(text, into)
	if start := bytes.TrimSpace(text); err == nil || len(start) == 0 || start[0] == '{' || start[0] == '[' {
		return err
	}
	var recording struct{ Stubs []map[string]any }
	if err := yaml.Unmarshal(text, &recording); err != nil || recording.Stubs == nil {
		return fmt.Errorf("must be JSON, or a recording in YAML")
	}
	into.Stubs = recording.Stubs
	return nil
}

// write writes the file.
func (c *ImportCmd) write(e *env, f *imported, text []byte) error {
	if c.Out == "" {
		if _, err := e.out.Write(text); err != nil {
			return err
		}
	} else if err := os.WriteFile(c.Out, text, 0o600); err != nil {
		return usageError("--out: %w", err)
	}
	var has []string
	for _, part := range []struct {
		n         int
		one, many string
	}{{len(f.Stubs), "stub", "stubs"}, {len(f.Msgs), "message", "messages"}, {len(f.DLQ), "DLQ entry", "DLQ entries"}, {len(f.Runs), "failed run", "failed runs"}, {f.skipped, "left out", "left out"}} {
		if part.n > 0 {
			has = append(has, clip.Counted(part.n, part.one, part.many))
		}
	}
	said := cmp.Or(strings.Join(has, ", "), "nothing")
	if len(f.masked) > 0 {
		said += "; masked: " + strings.Join(slices.Sorted(maps.Keys(f.masked)), ", ") + " (--secret NAME=VALUE sets a value)"
	}
	_, err := fmt.Fprintln(e.err, "understudy: import: "+said)
	return err
}

// headers are headers as in a publish, or for a response as they are, without those that belong to a
// connection or a delivery.
func (f *imported) headers(h http.Header, of int) map[string]any {
	out := map[string]any{}
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		option := strings.HasPrefix(name, header.Prefix)
		for _, d := range spec.BuiltInDialects() {
			if rest, ok := strings.CutPrefix(name, d.HeaderPrefix); ok {
				name, option = header.Prefix+rest, true
			}
		}
		added := slices.Contains(deliveryHeaders, name) || strings.HasPrefix(name, header.WorkflowPrefix)
		switch {
		case len(values) == 0 || slices.Contains(connectionHeaders, name) || strings.HasPrefix(name, ":"):
			continue
		case option && (added || of == aDelivery), !option && of == aPublish && name != "Content-Type":
			continue
		case !option && of != aResponse && name != "Content-Type":
			name = header.ForwardPrefix + name
		}
		out[name] = f.secret(name, strings.Join(values, ", "))
	}
	return out
}

// What headers are those of.
const (
	aResponse = iota
	aPublish  // of the API: its options have their names, and the others are for the server
	aMessage  // as the API shows it: options, and headers for the destination
	aDelivery // what the server added is left out
)

// connectionHeaders belong to the connection, or to a browser. Sorted.
var connectionHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Date", "Host", "Keep-Alive", "Traceparent", "Tracestate", "Transfer-Encoding", "User-Agent"}

// deliveryHeaders are added by a delivery. Sorted.
var deliveryHeaders = []string{header.CallerIP, header.Prefix + "Max-Retries", header.MessageID, header.Retried, header.ScheduleID, header.Signature, header.TopicName}

// secret masks the value of a header, unless the user gives it.
func (f *imported) secret(name, value string) string {
	last := strings.TrimPrefix(name, header.Prefix+"Forward-")
	for own, given := range f.cmd.Secret {
		if strings.EqualFold(own, last) {
			return given
		}
	}
	shown := mask.Header(http.Header{last: {value}}).Get(last)
	if !strings.Contains(shown, mask.Hidden) || f.cmd.Unmasked && !strings.Contains(value, mask.Hidden) {
		return value
	}
	f.masked[last] = true
	return shown
}

// body masks credentials in a body.
func (f *imported) body(text string) string {
	if f.cmd.Unmasked {
		return text
	}
	return mask.Text(string(mask.JSON([]byte(text))))
}

func (f *imported) address(u string) string {
	if f.cmd.Unmasked {
		return u
	}
	return mask.URL(u)
}

// content sets the body of an entry: text, or base64.
func (f *imported) content(to map[string]any, text, encoded string) {
	if plain, err := base64.StdEncoding.DecodeString(encoded); encoded != "" && err == nil {
		if !utf8.Valid(plain) {
			to["bodyBase64"] = encoded
			return
		}
		text = string(plain)
	}
	if text != "" {
		to["body"] = f.body(text)
	}
}

// archive turns the exchanges of an archive into stubs, or its requests into messages.
func (f *imported) archive(entries []harEntry) {
	known := map[string]map[string]any{}
	for i := range entries {
		q, r := &entries[i].Request, &entries[i].Response
		if f.cmd.Messages {
			f.request(q)
			continue
		}
		text := r.Content.Text
		if plain, err := base64.StdEncoding.DecodeString(text); r.Content.Encoding == "base64" && err == nil {
			text = string(plain)
		}
		if u, err := url.Parse(q.URL); err != nil || u.Host == "" || r.Status < 200 || r.Status > 599 || !utf8.ValidString(text) {
			f.skipped++
			continue
		}
		given := map[string]any{"status": r.Status}
		if text != "" {
			given["body"] = f.body(text)
		}
		if kind := pairsHeader(r.Headers).Get("Content-Type"); kind != "" {
			given["headers"] = map[string]any{"Content-Type": kind}
		}
		key := q.Method + " " + q.URL
		if known[key] == nil {
			known[key] = map[string]any{"method": q.Method, "url": f.address(q.URL), "answers": []any{}}
			f.Stubs = append(f.Stubs, known[key])
		}
		answers, _ := known[key]["answers"].([]any)
		known[key]["answers"] = append(answers, given)
	}
}

func pairsHeader(pairs []harPair) http.Header {
	h := http.Header{}
	for _, p := range pairs {
		h.Add(p.Name, p.Value)
	}
	return h
}

// request turns a request into a message: a publish to the API into what it publishes, another one
// into a message to its URL.
func (f *imported) request(q *harRequest) {
	u, err := url.Parse(q.URL)
	h := pairsHeader(q.Headers)
	publish, _, _ := strings.Cut(route.PublishMessage.Template(), "{")
	_, to, publishes := strings.Cut(q.URL, publish)
	if err != nil || u.Host == "" || reportsRun(h) || !publishes && (q.Method == http.MethodGet || q.Method == http.MethodHead || strings.HasPrefix(u.Path, path.Dir(path.Dir(publish))+"/")) {
		f.skipped++
		return
	}
	m := map[string]any{"destination": f.address(q.URL)}
	if publishes {
		if plain, err := url.PathUnescape(to); err == nil && !strings.Contains(to, "://") {
			to = plain
		}
		m["destination"] = f.address(to)
		m["headers"] = f.headers(h, aPublish)
	} else {
		headers := f.headers(h, aDelivery)
		headers[header.Prefix+"Method"] = q.Method
		m["headers"] = headers
	}
	if q.PostData != nil {
		encoded := ""
		if q.PostData.Encoding == "base64" {
			encoded = q.PostData.Text
		}
		f.content(m, q.PostData.Text, encoded)
	}
	f.Msgs = append(f.Msgs, m)
}

// entries adds entries of the DLQ.
func (f *imported) entries(list []exportedMessage) {
	for i := range list {
		f.entry(&list[i])
	}
}

func (f *imported) entry(m *exportedMessage) {
	if ofRun := m.WorkflowRunID != "" && m.WorkflowURL != ""; m.URL == "" && !ofRun || !ofRun && reportsRun(m.Header) {
		f.skipped++
		return
	}
	headers := f.headers(m.Header, aMessage)
	for name, value := range map[string]string{"Method": m.Method, "Callback": m.Callback, "Failure-Callback": m.FailureCallback, "Label": strings.Join(m.Labels, ",")} {
		if value != "" && headers[header.Prefix+name] == nil {
			headers[header.Prefix+name] = value
		}
	}
	if m.MaxRetries != nil {
		headers[header.Prefix+"Retries"] = strconv.Itoa(*m.MaxRetries)
	}
	x := map[string]any{"headers": headers}
	f.content(x, m.Body, m.BodyBase64)
	last := map[string]any{"status": m.ResponseStatus}
	answered := m.ResponseHeader
	if len(answered) == 0 {
		answered = m.ResponseHeaders
	}
	if h := f.headers(answered, aResponse); len(h) > 0 {
		last["headers"] = h
	}
	f.content(last, m.ResponseBody, m.ResponseBodyBase64)
	if m.ResponseStatus == 0 {
		last["error"] = cmp.Or(m.Error, "no response")
	}
	x["response"] = last
	for name, value := range map[string]any{"callerIp": m.CallerIP, "retried": m.Retried} {
		if value != "" && value != 0 {
			x[name] = value
		}
	}
	if m.WorkflowRunID != "" && m.WorkflowURL != "" {
		x["id"], x["dlqId"], x["url"], x["state"] = m.WorkflowRunID, m.DLQID, f.address(m.WorkflowURL), "RUN_FAILED"
		f.Runs = append(f.Runs, x)
		return
	}
	x["destination"] = f.address(m.URL)
	if m.DLQID != "" {
		x["id"] = m.DLQID
	}
	f.DLQ = append(f.DLQ, x)
}

// reportsRun reports whether a message belongs to a run, which makes it again.
func reportsRun(h http.Header) bool {
	for name := range h {
		if strings.Contains(http.CanonicalHeaderKey(name), "-Workflow-") {
			return true
		}
	}
	return false
}

// events adds the messages of a log that have failed as entries of the DLQ, and those that wait for
// a retry as messages. Others had no failure.
func (f *imported) events(list []exportedMessage) {
	latest, order := map[string]*exportedMessage{}, []string{}
	slices.Reverse(list) // the newest is first
	slices.SortStableFunc(list, func(x, y exportedMessage) int { return cmp.Compare(x.Time, y.Time) })
	for i := range list {
		e := &list[i]
		e.BodyBase64, e.Body = cmp.Or(e.BodyBase64, e.Body), "" // the log has it in base64
		before := latest[e.MessageID]
		if before == nil {
			order = append(order, e.MessageID)
			before = &exportedMessage{}
		}
		e.BodyBase64 = cmp.Or(e.BodyBase64, before.BodyBase64)
		e.ResponseStatus, e.ResponseBody = cmp.Or(e.ResponseStatus, before.ResponseStatus), cmp.Or(e.ResponseBody, before.ResponseBody)
		e.Error, e.Retried = cmp.Or(e.Error, before.Error), max(e.Retried, before.Retried)
		if e.Header == nil {
			e.Header = before.Header
		}
		latest[e.MessageID] = e
	}
	for _, id := range order {
		switch e := latest[id]; e.State {
		case "FAILED":
			f.entry(e)
		case "ERROR", "RETRY", "ACTIVE", "CREATED":
			before := len(f.DLQ)
			if f.entry(e); len(f.DLQ) == before {
				continue
			}
			m := f.DLQ[before]
			f.DLQ = f.DLQ[:before]
			for _, name := range []string{"response", "id", "retried", "callerIp"} {
				delete(m, name)
			}
			f.Msgs = append(f.Msgs, m)
		default:
			f.skipped++
		}
	}
}
