package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/understudy-mock/understudy/internal/command"
)

// row is an entry of a list of the control API.
type row map[string]any

// column is a column of a table.
type column struct {
	title string
	of    func(row) string
}

// listing describes the table for the answer of a call.
type listing struct {
	key     string // member with the entries; "": the answer is the list, or its only entry
	columns []column
}

// The tables of ctl, by command. The last column is the longest.
var (
	messageTable = listing{"messages", []column{
		{"MESSAGE", memberText("messageId")}, {"STATE", memberText("state")}, {"RETRIED", retryCount}, {"CREATED (UTC)", memberTime("createdAt")},
		{"NEXT (UTC)", memberTime("nextDeliveryTime")}, {"RUN", memberText("workflowRunId")}, {"METHOD", memberText("method")}, {"URL", memberText("url")},
	}}
	runTable = listing{"runs", []column{
		{"RUN", memberText("workflowRunId")}, {"STATE", memberText("workflowState")}, {"CREATED (UTC)", memberTime("workflowRunCreatedAt")},
		{"ENDED (UTC)", memberTime("workflowRunCompletedAt")}, {"DLQ", memberText("dlqId")}, {"URL", memberText("workflowUrl")},
	}}
	dlqTable = listing{"entries", []column{
		{"DLQ", memberText("dlqId")}, {"FAILED (UTC)", memberTime("failedAt")}, {"MESSAGE", memberText("messageId")}, {"RUN", memberText("workflowRunId")},
		{"URL", memberText("url")}, {"CAUSE", memberText("cause")},
	}}
	eventTable = listing{"events", []column{
		{"TIME (UTC)", memberTime("time")}, {"STATE", memberText("state")}, {"NEXT (UTC)", memberTime("nextDeliveryTime")}, {"STATUS", memberText("responseStatus")}, {"ERROR", memberText("error")},
	}}
	deliveryTable = listing{"entries", []column{
		{"TIME (UTC)", memberTime("at")}, {"MESSAGE", memberText("messageId")}, {"RETRIED", memberText("attempt")}, {"RESULT", resultOf}, {"METHOD", memberText("method")}, {"URL", memberText("url")},
	}}
	requestTable = listing{"entries", []column{
		{"TIME (UTC)", memberTime("at")}, {"STATUS", resultOf}, {"METHOD", memberText("method")}, {"PATH", memberText("path")}, {"PROBLEMS", memberText("problems")},
	}}
	stubTable = listing{"", []column{
		{"METHOD", memberText("method")}, {"URL", memberText("url")}, {"ANSWERS", stubAnswers},
	}}
	publishTable = listing{"", []column{
		{"MESSAGE", memberText("messageId")}, {"DEDUPLICATED", memberText("deduplicated")}, {"URL", memberText("url")},
	}}
	notifyTable  = listing{"", []column{{"MESSAGE", memberText("messageId")}, {"RUN", memberText("workflowRunId")}}}
	restartTable = listing{"", []column{{"RUN", memberText("workflowRunId")}, {"CREATED (UTC)", memberTime("workflowCreatedAt")}}}
)

// memberText returns a member as text.
func memberText(name string) func(row) string {
	return func(r row) string {
		switch v := r[name].(type) {
		case nil:
			return ""
		case []any:
			parts := make([]string, len(v))
			for i := range v {
				parts[i] = fmt.Sprint(v[i])
			}
			return strings.Join(parts, "; ")
		default:
			return fmt.Sprint(v)
		}
	}
}

// memberTime returns a member in Unix ms as a time.
func memberTime(name string) func(row) string {
	return func(r row) string {
		n, ok := r[name].(json.Number)
		millis, err := n.Int64()
		if !ok || err != nil || millis == 0 {
			return ""
		}
		return time.UnixMilli(millis).UTC().Format(time.DateTime)
	}
}

func retryCount(r row) string { return memberText("retried")(r) + "/" + memberText("maxRetries")(r) }

// resultOf is the error of an entry, otherwise the status of its response.
func resultOf(r row) string {
	if why := memberText("error")(r); why != "" {
		return why
	}
	response, _ := r["response"].(map[string]any)
	return memberText("status")(response)
}

// stubAnswers are the answers of a stub, in the form that ctl stub accepts.
func stubAnswers(r row) string {
	list, _ := r["answers"].([]any)
	parts := make([]string, len(list))
	for i := range list {
		one, _ := list[i].(map[string]any)
		for _, name := range []string{"status", "body", "fail", "delay"} {
			if text := memberText(name)(one); text != "" {
				parts[i] = strings.TrimPrefix(parts[i]+":"+text, ":")
			}
		}
	}
	return strings.Join(parts, " ")
}

// asTable reports whether lists are printed as tables.
func (c *CtlCmd) asTable(e *env) bool {
	return c.Output == "table" || c.Output == "auto" && command.IsTerminal(e.out)
}

// print writes an answer: a table for people on a terminal, JSON for scripts.
func (c *CtlCmd) print(e *env, answer json.RawMessage, l *listing) error {
	if l != nil && c.asTable(e) {
		return l.write(e.out, answer)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, answer, "", "  "); err != nil {
		return fmt.Errorf("answer is not JSON: %w", err)
	}
	_, err := fmt.Fprintln(e.out, pretty.String())
	return err
}

// rows returns the entries of an answer, and the cursor of the next page.
func (l *listing) rows(answer json.RawMessage) (list []row, cursor string, err error) {
	if l.key != "" {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(answer, &body); err != nil {
			return nil, "", err
		}
		_ = json.Unmarshal(body["cursor"], &cursor) // absent on the last page
		answer = body[l.key]
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	if !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
		list = make([]row, 1)
		return list, cursor, d.Decode(&list[0])
	}
	return list, cursor, d.Decode(&list)
}

// write writes the table, without the columns that are empty in every row.
func (l *listing) write(w io.Writer, answer json.RawMessage) error {
	list, cursor, err := l.rows(answer)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "none")
		return err
	}
	lines := make([]strings.Builder, 1+len(list))
	for _, c := range l.columns {
		cells, used := []string{c.title}, false
		for _, r := range list {
			cell := oneLine(c.of(r))
			cells, used = append(cells, cell), used || cell != ""
		}
		for i := range cells {
			if used {
				lines[i].WriteString(cells[i] + "\t")
			}
		}
	}
	var text bytes.Buffer
	aligned := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i := range lines {
		_, _ = fmt.Fprintln(aligned, strings.TrimSuffix(lines[i].String(), "\t")) // never fails: in memory
	}
	_ = aligned.Flush() // never fails: in memory
	for i, line := range strings.Split(strings.TrimSpace(text.String()), "\n") {
		if line = strings.TrimRight(line, " "); i == 0 && command.IsTerminal(w) && hasColours() {
			line = "\x1b[1m" + line + "\x1b[0m"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	if cursor != "" {
		_, err = fmt.Fprintf(w, "more: --cursor %s\n", cursor)
	}
	return err
}

// oneLine is a text without control characters, in one line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
