package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/mockserver/ui"
)

// row is an entry of a list of the control API.
type row map[string]any

// column is a column of a table. How its cells look follows from its title.
type column struct {
	title string
	of    func(*screen, row) string
}

// listing is the table for the answer of a call.
type listing struct {
	key     string // member with the entries; "": the answer is the list, or its only entry
	columns []column
}

// text is a column with a member.
func text(title, name string) column {
	return column{title, func(_ *screen, r row) string { return textOf(r[name]) }}
}

// state is a column with a member that is a state, in words.
func state(name string) column {
	return column{"STATE", func(_ *screen, r row) string { return stateWord(r[name]) }}
}

// stateWord is a state in the words of the page.
func stateWord(v any) string { return strings.ToLower(ui.StateWord(textOf(v))) }

// moment is a column with a member that is a time in Unix ms.
func moment(title, name string) column {
	return column{title, func(s *screen, r row) string { return s.when(r[name]) }}
}

// textOf is a value as text; a list as its elements.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = textOf(v[i])
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		b, _ := json.Marshal(v) // was decoded from JSON
		return string(b)
	}
	return fmt.Sprint(v)
}

// within follows the names of members; nil if one is missing.
func within(v any, names ...string) any {
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// cutTitles are the columns that are cut when a table is wider than the terminal.
var cutTitles = []string{"ANSWERS", "BEFORE", "BODY", "CRON", "DESTINATION", "FOUND IN", "LABELS", "PATH", "PROBLEMS", "REASON", "RESULT", "RULE", "STEP", "TEXT", "TO", "URL", "WHEN", "WHY", "WORKFLOW"}

// dropTitles are the columns that are left out when the terminal has no room for narrowest
// characters of the columns that are cut, the first of them first. The first column of a table
// stays.
var dropTitles = []string{"ZONE", "DEDUPLICATED", "LAST", "DLQ", "MESSAGE", "RUN", "CREATED", "TOOK", "ATTEMPTS", "NEXT", "FOUND IN", "STATUS"}

// reasonTitles are the last columns that are on a line of their own when the terminal has no room
// for narrowest characters of them.
var reasonTitles = []string{"PROBLEMS", "REASON", "TEXT", "WHY"}

// narrowest is the width of a column that may be cut, as long as there is room.
const narrowest = 24

// table is a table that is being written. The lines of a stream keep the widths of the lines
// before them.
type table struct {
	screen  *screen
	columns []column
	widths  []int
	day     string // of the latest line of a stream
}

// show writes the table, without the columns that are empty in every row, and the command that
// lists what follows.
func (l *listing) show(s *screen, answer any) error {
	list := l.rows(answer)
	if len(list) == 0 {
		_, err := fmt.Fprintln(s.w, "none")
		return err
	}
	t := table{screen: s}
	for _, c := range l.columns {
		width := 0
		for _, r := range list {
			width = max(width, utf8.RuneCountInString(oneLine(c.of(s, r))))
		}
		if width > 0 {
			t.columns, t.widths = append(t.columns, c), append(t.widths, max(width, len(c.title)))
		}
	}
	t.fit()
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.title
	}
	if err := t.line(heads, true); err != nil {
		return err
	}
	for _, r := range list {
		if err := t.line(t.cells(r), false); err != nil {
			return err
		}
	}
	if cursor, _ := within(answer, "cursor").(string); cursor != "" {
		_, err := fmt.Fprintf(s.w, "more: --cursor %s\n", cursor)
		return err
	}
	return nil
}

// rows returns the entries of an answer.
func (l *listing) rows(answer any) (list []row) {
	if l.key != "" {
		answer = within(answer, l.key)
	}
	switch v := answer.(type) {
	case []any:
		for i := range v {
			r, _ := v[i].(map[string]any)
			list = append(list, r)
		}
	case map[string]any:
		list = append(list, v)
	}
	return list
}

// fit leaves out columns that nobody misses, puts the reason on a line of its own, and cuts the
// widest columns, until a line fits.
func (t *table) fit() {
	if t.screen.width == 0 {
		return
	}
	columns, widths := slices.Clone(t.columns), slices.Clone(t.widths)
	t.leaveOut()
	if last := len(columns) - 1; t.over(narrowest) > 0 && slices.Contains(reasonTitles, columns[last].title) {
		widths[last] = 0
		t.columns, t.widths = columns, widths
		t.leaveOut()
	}
	for over := t.over(math.MaxInt); over > 0; over-- {
		widest := -1
		for i, c := range t.columns {
			if slices.Contains(cutTitles, c.title) && t.widths[i] > 2 && (widest < 0 || t.widths[i] > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

// leaveOut leaves out columns until there is room for narrowest characters of those that are cut.
func (t *table) leaveOut() {
	for _, title := range dropTitles {
		if t.over(narrowest) <= 0 {
			break
		}
		if at := slices.IndexFunc(t.columns, func(c column) bool { return c.title == title }); at > 0 {
			t.columns, t.widths = slices.Delete(t.columns, at, at+1), slices.Delete(t.widths, at, at+1)
		}
	}
}

// over is how much a line is too long, if the columns that may be cut have at most a width.
func (t *table) over(most int) int {
	n := -t.screen.width - 2
	for i, w := range t.widths {
		if slices.Contains(cutTitles, t.columns[i].title) {
			w = min(w, most)
		}
		n += w + 2
	}
	return n
}

// line writes a line. What still does not fit is cut at its end, except for a reason, which is
// below it.
func (t *table) line(cells []string, head bool) error {
	var b strings.Builder
	used, limit, below := 0, t.screen.width, ""
	for i, cell := range cells {
		most := t.widths[i]
		if limit > 0 {
			most = max(0, min(most, limit-used))
		}
		title := t.columns[i].title
		if most < min(narrowest, utf8.RuneCountInString(cell)) && slices.Contains(reasonTitles, title) && !head {
			below = "\n  " + cut(cell, limit-2)
			break
		}
		if title == "URL" || title == "DESTINATION" || title == "WORKFLOW" {
			cell = cutAddress(cell, most)
		}
		cell = cut(cell, most)
		b.WriteString(t.screen.paint(cell, t.toneOf(i, cell, head)) + strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+2))
		used += t.widths[i] + 2
	}
	_, err := fmt.Fprintln(t.screen.w, strings.TrimRight(b.String(), " ")+below)
	return err
}

// toneOf is the colour of a cell.
func (t *table) toneOf(i int, cell string, head bool) string {
	switch {
	case head:
		return toneBold
	case t.columns[i].title == "STATE" || t.columns[i].title == "STATUS" || t.columns[i].title == "RESULT":
		return toneOf(cell)
	}
	return ""
}

// cells are the texts of an entry. Times in a stream have no date if it is that of the line.
func (t *table) cells(r row) []string {
	list := make([]string, len(t.columns))
	for i, c := range t.columns {
		list[i] = strings.TrimPrefix(oneLine(c.of(t.screen, r)), t.day+" ")
	}
	return list
}

// next writes an entry of a stream, after a line with its date if it is another one.
func (t *table) next(r row) error {
	if day := instant(cmp.Or(r["time"], r["at"]), time.DateOnly); day != t.day {
		t.day = day
		_, _ = fmt.Fprintln(t.screen.w, t.screen.paint(day, toneDim)) // the line that follows reports an error
	}
	cells := t.cells(r)
	for i, cell := range cells {
		n := utf8.RuneCountInString(cell)
		if i < len(cells)-1 {
			n = max(t.widths[i], min(n, 40))
		}
		t.widths[i] = n
	}
	return t.line(cells, false)
}

// stream is a table without a head whose rows arrive one by one.
func (l *listing) stream(w *screen) *table {
	return &table{screen: w, columns: l.columns, widths: make([]int, len(l.columns))}
}

// rows of other forms: what the members of an answer mean together.

// triesOf is the number of attempts so far, and their maximum.
func triesOf(_ *screen, r row) string {
	most, had := r["maxAttempts"], r["attempts"]
	if retries, ok := r["maxRetries"].(float64); ok {
		most = retries + 1
	}
	if most == nil {
		return ""
	}
	return cmp.Or(textOf(had), "0") + "/" + textOf(most)
}

// whyOf is the cause of a failure, otherwise the reason for the state, with the time that it lasts.
func whyOf(s *screen, r row) string {
	if ended := cmp.Or(r["workflowState"], r["state"]); ended == "RUN_SUCCESS" || ended == "DELIVERED" {
		return ""
	}
	why := cmp.Or(textOf(r["cause"]), textOf(within(r["why"], "reason")), textOf(r["error"]))
	if until := within(r["why"], "until"); until != nil {
		why = strings.Replace(why, "not due yet", s.when(until), 1)
	}
	return ui.BriefReason(why)
}

// addressOf is a URL, after a method other than POST.
func addressOf(_ *screen, r row) string {
	if method := textOf(r["method"]); method != "" && method != "POST" {
		return method + " " + textOf(r["url"])
	}
	return textOf(r["url"])
}

// attemptOf is the number of an attempt.
func attemptOf(_ *screen, r row) string {
	n, _ := r["attempt"].(float64)
	return textOf(n + 1)
}

// resultOf is the error of an entry, otherwise the status of its response.
func resultOf(_ *screen, r row) string {
	return cmp.Or(textOf(r["error"]), textOf(within(r["response"], "status")))
}

// firstOf is the first member that is present.
func firstOf(names ...string) func(*screen, row) string {
	return func(_ *screen, r row) string {
		for _, name := range names {
			if v := textOf(r[name]); v != "" {
				return v
			}
		}
		return ""
	}
}

// stubAnswers are the answers of a stub, in the form that ctl stub accepts.
func stubAnswers(_ *screen, r row) string {
	list, _ := r["answers"].([]any)
	parts := make([]string, len(list))
	for i := range list {
		for _, name := range []string{"status", "body", "fail", "delay"} {
			if text := textOf(within(list[i], name)); text != "" {
				parts[i] = strings.TrimPrefix(parts[i]+":"+text, ":")
			}
		}
	}
	return strings.Join(parts, " ")
}

// othersOf are all members but some, as name=value.
func othersOf(without ...string) func(*screen, row) string {
	return func(_ *screen, r row) string {
		var parts []string
		for _, name := range sortedNames(r) {
			if !slices.Contains(without, name) {
				parts = append(parts, name+"="+textOf(r[name]))
			}
		}
		return strings.Join(parts, " ")
	}
}
