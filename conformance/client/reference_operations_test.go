package client_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type builder = func(*referenceClient, values) (*request, error)

// simple are the operations whose request is a path, perhaps with a list of arguments as a
// JSON body, and what their result must have. A path parameter is an argument.
var simple = []struct{ op, call, body, due string }{
	{"schedule.get", "GET /v2/schedules/{scheduleId}", "", "object"},
	{"schedule.list", "GET /v2/schedules", "", "list"},
	{"schedule.delete", "DELETE /v2/schedules/{scheduleId}", "", ""},
	{"schedule.pause", "PATCH /v2/schedules/{scheduleId}/pause", "", ""},
	{"schedule.resume", "PATCH /v2/schedules/{scheduleId}/resume", "", ""},
	{"message.get", "GET /v2/messages/{messageId}", "", "object"},
	{"message.cancel", "DELETE /v2/messages/{messageId}", "", ""},
	{"queue.upsert", "POST /v2/queues", "queue:queueName parallelism paused", ""},
	{"queue.get", "GET /v2/queues/{queue}", "", "object"},
	{"queue.list", "GET /v2/queues", "", "list"},
	{"queue.delete", "DELETE /v2/queues/{queue}", "", ""},
	{"queue.pause", "POST /v2/queues/{queue}/pause", "", ""},
	{"queue.resume", "POST /v2/queues/{queue}/resume", "", ""},
	{"key.get", "GET /v2/keys", "", "current next"},
	{"key.rotate", "POST /v2/keys/rotate", "", "current next"},
	{"group.add", "POST /v2/topics/{group}/endpoints", "endpoints", ""},
	{"group.remove", "DELETE /v2/topics/{group}/endpoints", "endpoints", ""},
	{"group.get", "GET /v2/topics/{group}", "", "object"},
	{"group.list", "GET /v2/topics", "", "list"},
	{"group.delete", "DELETE /v2/topics/{group}", "", ""},
	{"dlq.list", "GET /v2/workflows/dlq", "", "object"},
	{"dlq.all", "GET /v2/workflows/dlq", "", "object"},
	{"dlq.get", "GET /v2/workflows/dlq/{dlqId}", "", "object"},
	{"dlq.delete", "DELETE /v2/workflows/dlq/{dlqId}", "", ""},
	{"log.list", "GET /v2/workflows/messageLogs", "", "object"},
	{"log.all", "GET /v2/workflows/messageLogs", "", "object"},
	{"event.list", "GET /v2/logs", "", "object"},
	{"flow.get", "GET /v2/flowControl/{key}", "", "object"},
	{"flow.pause", "POST /v2/flowControl/{key}/pause", "", ""},
	{"flow.resume", "POST /v2/flowControl/{key}/resume", "", ""},
	{"flow.pin", "POST /v2/flowControl/{key}/pin", "", ""},
	{"flow.unpin", "POST /v2/flowControl/{key}/unpin", "", ""},
	{"flow.reset", "POST /v2/flowControl/{key}/resetRate", "", ""},
	{"stats.get", "GET /v2/qstash/stats/{userId}", "", "object"},
	{"search.delete", "DELETE /v2/search/{searchId}", "", "text"},
	{"vector.info", "GET /info", "", "result"},
	{"wf.cancel", "DELETE /v2/workflows/runs/{runId}", "", ""},
	{"wf.waiters", "GET /v2/waiters/{eventId}", "", "list"},
	{"wf.cancel_all", "DELETE /v2/workflows/runs", "", ""},
	{"message.cancel_all", "DELETE /v2/messages", "", ""},
}

// operations has the request of each operation.
var operations = map[string]builder{
	"publish": message(false, publish), "publish.json": message(true, publish), "publish.address": message(false, address),
	"enqueue": message(false, enqueue), "enqueue.json": message(true, enqueue), "schedule.create": message(false, schedule),
	"batch":               func(c *referenceClient, a values) (*request, error) { return c.batch(a, false) },
	"batch.json":          func(c *referenceClient, a values) (*request, error) { return c.batch(a, true) },
	"group.update":        groupUpdate,
	"message.cancel_many": many("/v2/messages", "messageIds"),
	"dlq.delete_many":     many("/v2/workflows/dlq", "dlqIds"),
	"dlq.restart":         again("restart"),
	"dlq.resume":          again("resume"),
	"wf.trigger":          trigger,
	"wf.notify":           notify,
}

func init() { //nolint:gochecknoinits // the table refers to functions that refer to it
	for _, s := range simple {
		operations[s.op] = func(c *referenceClient, a values) (*request, error) { return c.simple(s.call, s.body, s.due, a) }
	}
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// segment is a value as one segment of a path.
func (c *referenceClient) segment(value string) string {
	if value == "." || value == ".." {
		return strings.ReplaceAll(value, ".", "%2E")
	}
	switch {
	case c.broken("025.1"):
		return value
	case c.broken("025.2"):
		return url.PathEscape(url.PathEscape(value))
	}
	return strings.ReplaceAll(url.PathEscape(value), "+", "%2B")
}

func (c *referenceClient) simple(call, body, due string, a values) (*request, error) {
	var empty string
	method, at, _ := strings.Cut(call, " ")
	if c.broken("004.1") {
		at = strings.Replace(at, "/v2/", "/v1/", 1)
	}
	if c.broken("067.1") {
		at = strings.Replace(at, "/keys/rotate", "/rotate", 1)
	}
	q := &request{method: method, due: due, basic: strings.Contains(at, "/stats/") || strings.HasPrefix(at, "/v2/search/")}
	q.path = parameter.ReplaceAllStringFunc(at, func(p string) string {
		name := strings.Trim(p, "{}")
		if a.text(name) == "" {
			empty = name
		}
		if name == "eventId" && c.broken("025.3") {
			return a.text(name)
		}
		return c.segment(a.text(name))
	})
	if empty != "" && !c.broken("026.1") {
		return nil, refuse("%s: must not be empty", empty)
	}
	q.path = strings.TrimSuffix(q.path, "/") + c.query(a)
	switch due {
	case "text":
		q.due, q.read = "", nil
	case "result":
		q.read = func(v any) (any, error) { return v.(map[string]any)["result"], nil }
	}
	if body != "" {
		object := map[string]any{}
		for name := range strings.FieldsSeq(body) {
			name, wire, renamed := strings.Cut(name, ":")
			if !renamed {
				wire = name
			}
			if a.has(name) {
				object[wire] = a[name]
			}
		}
		q.json(c, object)
	}
	return q, nil
}

// query are filters, cursor, page size and the other arguments that are query parameters.
func (c *referenceClient) query(a values) string {
	query := url.Values{}
	for name, value := range a.part("filters") {
		for _, v := range list(value) {
			query.Add(name, plainText(v))
		}
	}
	for _, name := range []string{"cursor", "count", "period", "parallelism", "rate"} {
		if value := a[name]; value != nil && !a.has("queue") {
			query.Set(name, plainText(value))
		}
	}
	if cursor := query.Get("cursor"); cursor != "" && c.broken("093.1") {
		query.Set("cursor", url.QueryEscape(cursor))
	}
	if c.broken("003.1") {
		query.Set("svc_token", c.token)
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// list is a value, or the values of a list.
func list(value any) []any {
	if l, ok := value.([]any); ok {
		return l
	}
	if value == nil {
		return nil
	}
	return []any{value}
}

func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

func (q *request) json(c *referenceClient, value any) {
	q.set("Content-Type", "application/json")
	q.body = c.json(value)
}

func (c *referenceClient) json(value any) []byte {
	text, _ := json.Marshal(value) // decoded JSON
	if c.does("escaped-json") {
		var ascii strings.Builder
		for _, r := range string(text) {
			switch {
			case r > 0xffff:
				r -= 0x10000
				fmt.Fprintf(&ascii, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			case r > 0x7e:
				fmt.Fprintf(&ascii, `\u%04x`, r)
			default:
				ascii.WriteRune(r)
			}
		}
		return []byte(ascii.String())
	}
	return text
}

// message is an operation that sends one message: the headers and the body are the same in
// all of them.
func message(asJSON bool, to builder) builder {
	return func(c *referenceClient, a values) (*request, error) {
		q, err := to(c, a)
		if err != nil {
			return nil, err
		}
		headers, body, err := c.message(a, asJSON)
		if err != nil {
			return nil, err
		}
		q.header, q.body = append(q.header, headers...), body
		if q.method == "" {
			return q, q.inQuery()
		}
		if c.broken("003.1") {
			q.path += map[bool]string{true: "&", false: "?"}[strings.Contains(q.path, "?")] + "svc_token=" + c.token
		}
		return q, nil
	}
}

func publish(c *referenceClient, a values) (*request, error) {
	to, err := c.destination(a)
	q := &request{method: "POST", path: "/v2/publish/" + c.inPath(to), due: "messageId"}
	if c.broken("004.1") {
		q.path = "/v1/publish/" + c.inPath(to)
	}
	if c.broken("090.1") {
		q.read = func(v any) (any, error) {
			if l, ok := v.([]any); ok {
				return l[0], nil
			}
			return v, nil
		}
	}
	return q, err
}

func enqueue(c *referenceClient, a values) (*request, error) {
	q, err := publish(c, a)
	if err == nil && a.text("queue") == "" {
		err = refuse("queue: must not be empty")
	}
	if err == nil && !c.broken("063.1") {
		q.path = strings.Replace(q.path, "/publish/", "/enqueue/"+c.segment(a.text("queue"))+"/", 1)
	}
	return q, err
}

func schedule(c *referenceClient, a values) (*request, error) {
	q, err := publish(c, a)
	if err != nil {
		return nil, err
	}
	q.path = strings.Replace(q.path, "/publish/", "/schedules/", 1)
	q.due, q.read = "scheduleId", nil
	q.set("Svc-Cron", a.text("cron"))
	return q, nil
}

// address is the address for a webhook sender: the destination and its query are one
// segment, so that the options can follow.
func address(c *referenceClient, a values) (*request, error) {
	to, err := c.destination(a)
	return &request{path: c.base + "/v2/publish/" + encode(to) + "?svc_token=" + url.QueryEscape(c.token)}, err
}

// inQuery moves the headers to the query of an address.
func (q *request) inQuery() error {
	for _, h := range q.header {
		if !strings.HasPrefix(h[0], "Svc-") {
			return refuse("header %s: an address cannot have it", h[0])
		}
		q.path += "&" + strings.ToLower(h[0]) + "=" + url.QueryEscape(h[1])
	}
	return nil
}

func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// destination is the URL or the group of a message.
func (c *referenceClient) destination(a values) (string, error) {
	d := a.part("destination")
	to, group := d.text("url"), d.text("group")
	if d == nil {
		to = a.text("url")
	}
	if (to == "") == (group == "") {
		return "", refuse("destination: must be a URL or a group")
	}
	if group != "" {
		return group, nil
	}
	if !regexp.MustCompile(`(?i)^https?://[^/?#\s]+`).MatchString(to) || strings.TrimSpace(to) != to {
		return "", refuse("destination: %q is not a URL", to)
	}
	if lineBreak.MatchString(to) && !c.broken("033.1") {
		return "", refuse("destination: must not have line breaks")
	}
	switch scheme, rest, _ := strings.Cut(to, "://"); {
	case c.broken("020.1"):
		to = scheme + ":/" + rest
	case c.broken("021.1"):
		to, _, _ = strings.Cut(to, "?")
	case c.broken("021.2"):
		if once, err := url.PathUnescape(to); err == nil && !strings.ContainsAny(once, " %") {
			to = once
		}
	case c.broken("023.1"):
		host, p, _ := strings.Cut(rest, "/")
		to = scheme + "://" + host + path.Clean("/"+p)
	case c.broken("022.1"):
		host, p, _ := strings.Cut(rest, "/")
		p, query, asked := strings.Cut(p, "?")
		clean := path.Clean("/" + host + "/" + strings.NewReplacer("%2e", ".", "%2E", ".").Replace(p))
		if strings.HasSuffix(p, "/") && clean != "/" {
			clean += "/"
		}
		to = scheme + ":/" + clean
		if p == "" {
			to = scheme + "://" + rest
		} else if asked {
			to += "?" + query
		}
	}
	return to, nil
}

// inPath is a destination as the end of a path.
func (c *referenceClient) inPath(to string) string {
	if !strings.Contains(to, "://") && !c.broken("020.1") {
		return c.segment(to)
	}
	if c.does("encoded-destination") {
		return encode(to)
	}
	to, _, _ = strings.Cut(to, "#")
	var raw strings.Builder // bytes that cannot be in a request target are escaped
	for i := range len(to) {
		if b := to[i]; b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>\\^`{|}", b) >= 0 {
			fmt.Fprintf(&raw, "%%%02X", b)
		} else {
			raw.WriteByte(b)
		}
	}
	return raw.String()
}

// message are the headers and the body of a message.
func (c *referenceClient) message(a values, asJSON bool) ([][2]string, []byte, error) {
	headers := [][2]string{}
	typed := false
	for _, pair := range a.list("headers") {
		h := pair.([]any)
		name := plainText(h[0])
		for _, value := range list(h[1]) {
			typed = typed || strings.EqualFold(name, "Content-Type")
			headers = append(headers, [2]string{c.forwarded(name), plainText(value)})
		}
	}
	body, err := c.body(a, asJSON)
	if err != nil {
		return nil, nil, err
	}
	if asJSON && !typed && body != nil {
		headers = append(headers, [2]string{"Content-Type", "application/json"})
	}
	if method := a.text("method"); method != "" {
		headers = append(headers, [2]string{"Svc-Method", method})
	}
	options, err := c.options("Svc-", a.part("options"))
	return append(headers, options...), body, err
}

// forwarded is the name under which a header of the caller is sent.
func (c *referenceClient) forwarded(name string) string {
	lower := strings.ToLower(name)
	switch {
	case lower == "content-type":
		return "Content-Type"
	case strings.HasPrefix(lower, "svc-forward-") && !c.broken("032.1"), c.broken("031.1"):
		return name
	}
	return "Svc-Forward-" + name
}

func (c *referenceClient) body(a values, asJSON bool) ([]byte, error) {
	b := a.part("body")
	switch {
	case b == nil:
		return nil, nil
	case b.has("base64"):
		body, err := base64.StdEncoding.DecodeString(b.text("base64"))
		return c.rawBody(body), err
	case b.has("text"):
		return c.rawBody([]byte(b.text("text"))), nil
	case !asJSON:
		return c.json(b["json"]), nil
	}
	text := c.json(b["json"])
	if c.broken("029.1") {
		text = c.json(string(text))
	}
	if c.broken("062.1") {
		b["json"] = string(text)
	}
	return text, nil
}

func (c *referenceClient) rawBody(body []byte) []byte {
	switch {
	case c.broken("028.1"):
		return []byte(strings.ToValidUTF8(string(body), "\ufffd"))
	case c.broken("028.2"):
		return []byte(strings.ReplaceAll(string(body), "\r\n", "\n"))
	}
	return body
}

// optionHeaders are the options that are one header.
var optionHeaders = map[string]func(c *referenceClient, value any) (name, text string){
	"delay":            func(c *referenceClient, v any) (string, string) { return "Delay", c.duration(v, c.broken("040.1")) },
	"timeout":          func(c *referenceClient, v any) (string, string) { return "Timeout", c.duration(v, false) },
	"not_before":       notBefore,
	"retries":          func(_ *referenceClient, v any) (string, string) { return "Retries", plainText(v) },
	"retry_delay":      func(_ *referenceClient, v any) (string, string) { return "Retry-Delay", plainText(v) },
	"callback":         func(_ *referenceClient, v any) (string, string) { return "Callback", plainText(v) },
	"failure_callback": func(_ *referenceClient, v any) (string, string) { return "Failure-Callback", plainText(v) },
	"label":            func(_ *referenceClient, v any) (string, string) { return "Label", joined(v) },
	"deduplication_id": func(c *referenceClient, v any) (string, string) {
		id := plainText(v)
		if c.broken("049.2") {
			id = id[:min(len(id), 200)]
		}
		return "Deduplication-Id", id
	},
	"schedule_id": func(_ *referenceClient, v any) (string, string) { return "Schedule-Id", plainText(v) },
	"queue":       func(_ *referenceClient, v any) (string, string) { return "Queue-Name", plainText(v) },
	"run_id": func(c *referenceClient, v any) (string, string) {
		return map[bool]string{false: "Workflow-RunId", true: "Workflow-Run"}[c.broken("073.1")], plainText(v)
	},
	"header_forward": func(_ *referenceClient, v any) (string, string) { return "Header-Forward", ifTrue(v, "true") },
	"content_based_deduplication": func(c *referenceClient, v any) (string, string) {
		return "Content-Based-Deduplication", ifTrue(v, map[bool]string{false: "true", true: "True"}[c.broken("050.1")])
	},
}

func optionNames() iter.Seq[string] { return maps.Keys(optionHeaders) }

func notBefore(c *referenceClient, v any) (name, text string) {
	text = plainText(v)
	if c.broken("041.1") {
		text += "000"
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && c.broken("038.1") {
		text = strconv.FormatFloat(n, 'e', -1, 64)
	}
	return "Not-Before", text
}

func ifTrue(v any, text string) string {
	if v == true {
		return text
	}
	return ""
}

func joined(v any) string {
	var parts []string
	for _, item := range list(v) {
		parts = append(parts, plainText(item))
	}
	return strings.Join(parts, ",")
}

// duration is a number of seconds, or a text as it is.
func (c *referenceClient) duration(v any, inMilliseconds bool) string {
	n, ok := v.(json.Number)
	if !ok {
		return plainText(v)
	}
	if s, err := strconv.Atoi(n.String()); err == nil && s > 59 && c.does("minutes") {
		return fmt.Sprintf("%dm%ds", s/60, s%60)
	}
	if inMilliseconds {
		return n.String() + "000"
	}
	return n.String() + "s"
}

// options are options as headers with a prefix. Those of callbacks have options too.
func (c *referenceClient) options(prefix string, options values) ([][2]string, error) {
	headers := [][2]string{}
	for name, value := range options {
		write, ok := optionHeaders[name]
		if !ok || value == nil {
			continue
		}
		header, text := write(c, value)
		if text == "" || name == "retries" && text == "0" && c.broken("037.1") {
			continue
		}
		headers = append(headers, [2]string{prefix + header, text})
	}
	if c.broken("036.1") && !options.has("label") {
		headers = append(headers, [2]string{prefix + "Label", "undefined"})
	}
	if redact := redacted(options.part("redact")); redact != "" {
		headers = append(headers, [2]string{prefix + "Redact-Fields", redact})
	}
	flow, err := c.flow(prefix, options.part("flow_control"))
	headers = append(headers, flow...)
	for _, callback := range []string{"Callback", "Failure-Callback"} {
		nested := options.part(strings.ReplaceAll(strings.ToLower(callback), "-", "_") + "_options")
		if nested == nil || err != nil {
			continue
		}
		var of, own [][2]string
		own, _, err = c.message(values{"headers": nested["headers"], "options": map[string]any(nested), "method": nested["method"]}, false)
		for _, h := range own {
			of = append(of, [2]string{prefix + callback + "-" + strings.TrimPrefix(h[0], "Svc-"), h[1]})
		}
		headers = append(headers, of...)
	}
	return headers, err
}

func redacted(redact values) string {
	var fields []string
	if redact["body"] == true {
		fields = append(fields, "body")
	}
	if redact["header"] == true {
		fields = append(fields, "header")
	}
	for _, name := range redact.list("header") {
		fields = append(fields, "header["+plainText(name)+"]")
	}
	return strings.Join(fields, ",")
}

func (c *referenceClient) flow(prefix string, flow values) ([][2]string, error) {
	if flow == nil {
		return nil, nil
	}
	var parts []string
	for _, name := range []string{"parallelism", "rate"} {
		if flow[name] != nil {
			parts = append(parts, name+"="+plainText(flow[name]))
		}
	}
	if len(parts) == 0 {
		return nil, refuse("flow_control: must have parallelism or rate")
	}
	if period := flow["period"]; period != nil {
		_, number := period.(json.Number)
		if !number || !c.broken("048.1") {
			parts = append(parts, "period="+c.duration(period, false))
		}
	}
	if c.does("flow-order") {
		slices.Reverse(parts)
	}
	headers := [][2]string{{prefix + "Flow-Control-Value", strings.Join(parts, ", ")}}
	if flow.text("key") != "" {
		headers = append(headers, [2]string{prefix + "Flow-Control-Key", flow.text("key")})
	}
	return headers, nil
}

// batch is a list of messages in one request.
func (c *referenceClient) batch(a values, asJSON bool) (*request, error) {
	items := []map[string]any{}
	for _, m := range a.list("messages") {
		one := values(m.(map[string]any))
		to, err := c.destination(one)
		if err != nil {
			return nil, err
		}
		headers, body, err := c.message(one, asJSON)
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(body) {
			return nil, refuse("body: must be UTF-8 in a batch")
		}
		item := map[string]any{"destination": to, "headers": c.batchHeaders(headers)}
		if body != nil {
			item["body"] = string(body)
		}
		if one.text("queue") != "" {
			item["queue"] = one.text("queue")
		} else if c.does("null-queue") {
			item["queue"] = nil
		}
		items = append(items, item)
	}
	if c.broken("060.1") {
		slices.Reverse(items)
	}
	q := &request{method: "POST", path: "/v2/batch", due: "list"}
	if c.broken("004.1") {
		q.path = "/v1/batch"
	}
	q.path += c.query(values{})
	q.json(c, items)
	return q, nil
}

// batchHeaders are headers as an object; a name with several values has a list.
func (c *referenceClient) batchHeaders(headers [][2]string) map[string]any {
	object := map[string]any{}
	for _, h := range headers {
		switch before := object[h[0]].(type) {
		case nil:
			object[h[0]] = h[1]
		case string:
			object[h[0]] = []string{before, h[1]}
		case []string:
			object[h[0]] = append(before, h[1])
		}
	}
	if c.broken("053.1") {
		delete(object, "Svc-Retry-Delay")
	}
	return object
}

func groupUpdate(c *referenceClient, a values) (*request, error) {
	q, err := c.simple("PATCH /v2/topics/{group}", "", "", a)
	if err != nil {
		return nil, err
	}
	q.json(c, map[string]any{"headers": a["headers"]})
	return q, nil
}

// many is the bulk form of a deletion. Without ids it does nothing.
func many(at, parameter string) builder {
	return func(c *referenceClient, a values) (*request, error) {
		if len(a.list(parameter)) == 0 {
			return nil, refuse("%s: must not be empty", parameter)
		}
		return c.simple("DELETE "+at, "", "object", values{"filters": map[string]any{parameter: a[parameter]}})
	}
}

// again is the restart or the resume of a failed run.
func again(what string) builder {
	return func(c *referenceClient, a values) (*request, error) {
		q, err := c.simple("POST /v2/dlq/"+what+"/{dlqId}", "", "workflowRunId", a)
		if err != nil {
			return nil, err
		}
		if c.does("bulk-restart") {
			q.path, q.due = "/v2/workflows/dlq/"+what+"?dlqIds="+url.QueryEscape(a.text("dlqId")), "object"
			q.read = func(v any) (any, error) {
				if runs := values(v.(map[string]any)).list("workflowRuns"); len(runs) > 0 {
					return runs[0], nil
				}
				if isDue(v, "workflowRunId") {
					return v, nil
				}
				return nil, c.failed("the response has no run", 200)
			}
		}
		if q.header, err = c.options("Svc-", a.part("options")); err != nil {
			return nil, err
		}
		if c.broken("072.1") {
			q.json(c, map[string]any{})
		}
		return q, nil
	}
}

func notify(c *referenceClient, a values) (*request, error) {
	q, err := c.simple("POST /v2/notify/{eventId}", "", "list", a)
	if err == nil {
		q.body, err = c.body(a, false)
	}
	return q, err
}
