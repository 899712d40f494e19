package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/mockserver"
)

// BugReportCmd writes a report without anything that its user has sent or configured: it
// copies only values that it knows.
type BugReportCmd struct {
	remote `embed:""`

	File string `arg:"" optional:"" help:"Output file. Default: standard output."`
}

// reportEntries is the largest number of entries in each list of a report.
const reportEntries = 500

// Help is the long help of the command.
func (*BugReportCmd) Help() string {
	return fmt.Sprintf(`Writes versions, platform, the flags of the server and its latest %d requests, deliveries and events as JSON.

It contains no tokens, bodies, headers, URLs, ids, labels or names: each URL, message and run has a number, the same throughout the report. Flags whose value may be yours have … in its place. A report without a running server has versions and platform only.

To send a journal that replays, use understudy ctl journal export.`, reportEntries)
}

// bugReport is the document.
type bugReport struct {
	File       string           `json:"file"`
	Version    string           `json:"version"`
	Go         string           `json:"go"`
	Platform   string           `json:"platform"`
	Server     map[string]any   `json:"server,omitempty"` // missing: it could not be asked
	Requests   []map[string]any `json:"requests,omitempty"`
	Deliveries []map[string]any `json:"deliveries,omitempty"`
	Events     []map[string]any `json:"events,omitempty"`
}

// Run writes the report. A server that does not answer may be what is reported.
func (c *BugReportCmd) Run(e *env) error {
	r := bugReport{File: "understudy bug report", Version: mockserver.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if err := c.ask(e, &r); err != nil {
		e.warn("the report has nothing about the server: " + err.Error())
	}
	if c.File == "" {
		return e.printJSON(r)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(c.File, append(text, '\n'), 0o600)
	}
	if err != nil {
		return usageError("bug-report: %w", err)
	}
	_, err = fmt.Fprintf(e.out, "%d bytes written to %s; read the file before you send it\n", len(text)+1, c.File)
	return err
}

// kept are the members of the answers that a report has, by list. All their values are
// numbers, or words of the server.
var kept = map[string][]string{
	"requests":   {"at", "operationId", "method"},
	"deliveries": {"at", "role", "attempt", "method", "stubbed", "durationMs"},
	"log":        {"time", "state", "responseStatus", "nextDeliveryTime"},
	"overview":   {"clock", "messages", "runs", "attempts", "inFlight", "parallel", "dlq", "flowKeys", "paused", "groups", "queues", "schedules", "waiters", "stubs", "faults", "journal", "flags"},
	"health":     {"version", "memory"},
}

// methods are the methods that a report names. Others are words of the user.
var methods = []string{"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}

// ask adds what the server says.
func (c *BugReportCmd) ask(e *env, r *bugReport) error {
	about := map[string]any{}
	for _, path := range []string{"health", "overview"} {
		var answer map[string]any
		if err := c.call(e, http.MethodGet, path, nil, nil, &answer); err != nil {
			return err
		}
		for _, name := range kept[path] {
			if v, ok := answer[name]; ok {
				about[name] = v
			}
		}
	}
	number := numbers{}
	for _, list := range []struct {
		path, member, limit string
		to                  *[]map[string]any
	}{{"requests", "entries", "limit", &r.Requests}, {"deliveries", "entries", "limit", &r.Deliveries}, {"log", "events", "count", &r.Events}} {
		var answer map[string]any
		if err := c.call(e, http.MethodGet, list.path, url.Values{list.limit: {fmt.Sprint(reportEntries)}}, nil, &answer); err != nil {
			return err
		}
		entries, _ := answer[list.member].([]any)
		for _, one := range entries[:min(len(entries), reportEntries)] {
			if entry, ok := one.(map[string]any); ok {
				*list.to = append(*list.to, number.entry(list.path, entry))
			}
		}
	}
	r.Server = about
	return nil
}

// numbers replace what the user has chosen: the same text has the same number.
type numbers map[string]int

func (n numbers) of(text string) int {
	if n[text] == 0 {
		n[text] = len(n) + 1
	}
	return n[text]
}

// entry is what a report has of an entry of a list.
func (n numbers) entry(list string, from map[string]any) map[string]any {
	to := map[string]any{}
	for _, name := range kept[list] {
		if v, ok := from[name]; ok {
			to[name] = v
		}
	}
	if method, ok := to["method"].(string); ok && !slices.Contains(methods, method) {
		to["method"] = "another method"
	}
	for _, m := range [][2]string{{"url", "url"}, {"workflowUrl", "url"}, {"messageId", "message"}, {"workflowRunId", "run"}} {
		if text, ok := from[m[0]].(string); ok && text != "" {
			to[m[1]] = n.of(text)
		}
	}
	for _, half := range []string{"request", "response"} {
		content, _ := from[half].(map[string]any)
		if v, ok := content["status"]; ok {
			to["status"] = v
		}
		body, _ := content["body"].(string)
		to[half+"Bytes"] = cmp.Or[any](content["bodyBytes"], len(body))
	}
	if list == "log" {
		delete(to, "requestBytes")
		delete(to, "responseBytes")
	}
	if problems, ok := from["problems"].([]any); ok {
		to["problems"] = len(problems)
	}
	if text, ok := from["error"].(string); ok && text != "" {
		to["error"] = errorKind(text)
	}
	return to
}

// errorKind is the kind of an error, whose text may have an address. Sorted by precedence.
func errorKind(text string) string {
	for _, kind := range []string{"connection refused", "connection reset", "no such host", "certificate", "timeout", "deadline exceeded", "EOF", "no stub", "canceled", "loop"} {
		if strings.Contains(text, kind) {
			return kind
		}
	}
	return "another error"
}

// plainValue matches values of flags that say nothing of their user: numbers, sizes and
// durations.
var plainValue = regexp.MustCompile(`^\d+(\.\d+)?([KMG]iB|B|ms|s|m|h)?$`)

// reportedWords are values of flags that have no fixed list of values. None says anything of
// its user.
var reportedWords = []string{"real", "manual", "auto", "svc", "upstash", "debug", "info", "warn", "error", "hash"}

// reportedFlags are the flags of a command that have other values than their defaults. A value
// that may be the user's is replaced.
func reportedFlags(node *kong.Node) []string {
	return changedFlags(node, func(f *kong.Flag, text string) string {
		if _, enumerated := f.EnumMap()[text]; text != "" && !hasSecret(f) && (enumerated || plainValue.MatchString(text) || slices.Contains(reportedWords, text)) {
			return "=" + text
		}
		return "=…"
	})
}
