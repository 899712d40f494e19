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

// row is an entry of a list, as the control API has it.
type row map[string]any

// column is a column of a table.
type column struct {
	title string
	of    func(row) string
}

// listing is how the answer of a call becomes a table.
type listing struct {
	key     string // of the entries in the answer; "": the answer is the list, or its only entry
	columns []column
}

// The tables of ctl, by command. The last column is the longest.
var (
	messageTable = listing{"messages", []column{
		{"MESSAGE", field("messageId")}, {"STATE", field("state")}, {"RETRIED", retried}, {"CREATED (UTC)", moment("createdAt")},
		{"NEXT (UTC)", moment("nextDeliveryTime")}, {"RUN", field("workflowRunId")}, {"METHOD", field("method")}, {"URL", field("url")},
	}}
	runTable = listing{"runs", []column{
		{"RUN", field("workflowRunId")}, {"STATE", field("workflowState")}, {"CREATED (UTC)", moment("workflowRunCreatedAt")},
		{"ENDED (UTC)", moment("workflowRunCompletedAt")}, {"DLQ", field("dlqId")}, {"URL", field("workflowUrl")},
	}}
	dlqTable = listing{"entries", []column{
		{"DLQ", field("dlqId")}, {"FAILED (UTC)", moment("failedAt")}, {"MESSAGE", field("messageId")}, {"RUN", field("workflowRunId")},
		{"URL", field("url")}, {"CAUSE", field("cause")},
	}}
	eventTable = listing{"events", []column{
		{"TIME (UTC)", moment("time")}, {"STATE", field("state")}, {"NEXT (UTC)", moment("nextDeliveryTime")}, {"STATUS", field("responseStatus")}, {"ERROR", field("error")},
	}}
	deliveryTable = listing{"entries", []column{
		{"TIME (UTC)", moment("at")}, {"MESSAGE", field("messageId")}, {"ATTEMPT", field("attempt")}, {"RESULT", result}, {"METHOD", field("method")}, {"URL", field("url")},
	}}
	requestTable = listing{"entries", []column{
		{"TIME (UTC)", moment("at")}, {"STATUS", result}, {"METHOD", field("method")}, {"PATH", field("path")}, {"PROBLEMS", field("problems")},
	}}
	stubTable = listing{"", []column{
		{"METHOD", field("method")}, {"URL", field("url")}, {"ANSWERS", answers},
	}}
	publishTable = listing{"", []column{
		{"MESSAGE", field("messageId")}, {"DEDUPLICATED", field("deduplicated")}, {"URL", field("url")},
	}}
	notifyTable  = listing{"", []column{{"MESSAGE", field("messageId")}, {"RUN", field("workflowRunId")}}}
	restartTable = listing{"", []column{{"RUN", field("workflowRunId")}, {"CREATED (UTC)", moment("workflowCreatedAt")}}}
)

// field is a member as text.
func field(name string) func(row) string {
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

// moment is a member in Unix ms as a time.
func moment(name string) func(row) string {
	return func(r row) string {
		n, ok := r[name].(json.Number)
		millis, err := n.Int64()
		if !ok || err != nil || millis == 0 {
			return ""
		}
		return time.UnixMilli(millis).UTC().Format(time.DateTime)
	}
}

func retried(r row) string { return field("retried")(r) + "/" + field("maxRetries")(r) }

// result is the status of a response, or why there is none.
func result(r row) string {
	if why := field("error")(r); why != "" {
		return why
	}
	response, _ := r["response"].(map[string]any)
	return field("status")(response)
}

// answers are those of a stub, in the form in which ctl stub takes them.
func answers(r row) string {
	list, _ := r["answers"].([]any)
	parts := make([]string, len(list))
	for i := range list {
		one, _ := list[i].(map[string]any)
		for _, name := range []string{"status", "body", "fail", "delay"} {
			if text := field(name)(one); text != "" {
				parts[i] = strings.TrimPrefix(parts[i]+":"+text, ":")
			}
		}
	}
	return strings.Join(parts, " ")
}

// print writes an answer: a table for people on a terminal, JSON for scripts.
func (c *CtlCmd) print(e *env, answer json.RawMessage, l *listing) error {
	if l != nil && (c.Output == "table" || c.Output == "auto" && command.IsTerminal(e.out)) {
		return l.write(e.out, answer)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, answer, "", "  "); err != nil {
		return fmt.Errorf("answer is not JSON: %w", err)
	}
	_, err := fmt.Fprintln(e.out, pretty.String())
	return err
}

// rows are the entries of an answer, and the cursor of the next ones.
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
			cell := printable(c.of(r))
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
		_, _ = fmt.Fprintln(aligned, strings.TrimSuffix(lines[i].String(), "\t")) // into memory
	}
	_ = aligned.Flush() // into memory
	for i, line := range strings.Split(strings.TrimSpace(text.String()), "\n") {
		if line = strings.TrimRight(line, " "); i == 0 && command.IsTerminal(w) && colourful() {
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

// printable is a text of somebody else in one line, without control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
