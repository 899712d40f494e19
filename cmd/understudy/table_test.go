package main

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// Members of the entries of all tables, by the kind of their values.
var (
	wordMembers = strings.Fields(`cron destination dlqId error eventId flowControlKey from id kind label method messageId name
		on operation operationId owner path place problems reason scheduleId scope state stepName timeZone to type url
		words workflowRunId workflowState workflowUrl message took number`)
	numberMembers = strings.Fields(`accounts attempt attempts bytes createdAt deadline durationMs failedAt lag lastScheduleTime later
		maxAttempts nextDeliveryTime parallelism parallelismCount parallelismMax rateCount rateMax ratePeriod responseStatus
		since status time at waitListSize workflowRunCompletedAt workflowRunCreatedAt`)
)

// anyText is a text of words with one of many lengths, or "".
func anyText(r *rand.Rand) string {
	lengths := []int{0, 1, 5, 12, 30, 30, 45, 80, 300}
	var b strings.Builder
	for range lengths[r.IntN(len(lengths))] {
		b.WriteByte("abcdefghijklmnopqrstuvwxyz/:- "[r.IntN(30)])
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// anyRow is an entry with random members. A full one has all members.
func anyRow(r *rand.Rand, full bool) row {
	words := func() string {
		for {
			if text := anyText(r); text != "" || !full {
				return text
			}
		}
	}
	entry := row{"leaving": true, "deduplicated": true}
	for _, name := range wordMembers {
		entry[name] = words()
	}
	for _, name := range numberMembers {
		if full || r.IntN(4) > 0 {
			entry[name] = float64(1 + r.IntN(1_000_000))
		}
	}
	entry["nextTimes"] = []any{float64(1 + r.IntN(1_000_000))}
	entry["excerpt"] = map[string]any{"before": words(), "found": "x", "after": words()}
	entry["endpoints"] = []any{map[string]any{"url": words()}, map[string]any{"url": words()}}
	entry["answers"] = []any{map[string]any{"status": 503.0, "body": words()}}
	return entry
}

// answerOf is an answer of the control API with entries, as a table reads it.
func answerOf(l *listing, rows []row) any {
	list := make([]any, len(rows))
	for i := range rows {
		list[i] = map[string]any(rows[i])
	}
	if l.key == "" {
		return list
	}
	return map[string]any{l.key: list}
}

func tableScreen(b *strings.Builder, width int) *screen {
	return &screen{w: b, width: width, now: func() (int64, bool) { return 500_000, true }}
}

func TestTables(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		l := tables[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			full := anyRow(r, true)
			for _, c := range l.columns {
				if c.of(tableScreen(nil, 0), full) == "" {
					t.Fatalf("column %s is empty: add its member to the members of this test", c.title)
				}
			}
			t.Run("has no line wider than the terminal, and shows ids and reasons", func(t *testing.T) {
				for range 300 {
					rows := make([]row, 1+r.IntN(4))
					for i := range rows {
						rows[i] = anyRow(r, false)
					}
					width := 80 + r.IntN(2)*r.IntN(80)
					var b strings.Builder
					expect.NoError(t, l.show(tableScreen(&b, width), answerOf(l, rows)))
					checkTable(t, l, rows, b.String(), width)
				}
			})
			t.Run("as a stream has no line wider than the terminal, and shows ids and reasons", func(t *testing.T) {
				for range 100 {
					rows := make([]row, 1+r.IntN(6))
					var b strings.Builder
					stream := l.stream(tableScreen(&b, 80))
					for i := range rows {
						rows[i] = anyRow(r, false)
						expect.NoError(t, stream.next(rows[i]))
					}
					checkTable(t, l, rows, b.String(), 80)
				}
			})
		})
	}
}

// checkTable fails if a table of rows is wider than the terminal, cuts an id of the usual length,
// or shows less of a reason than can be read.
func checkTable(t *testing.T, l *listing, rows []row, shown string, width int) {
	t.Helper()
	for line := range strings.Lines(shown) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
			t.Fatalf("a line has %d characters in a terminal of %d:\n%s", n, width, shown)
		}
	}
	s := tableScreen(nil, 0)
	for _, r := range rows {
		if id := l.columns[0].of(s, r); utf8.RuneCountInString(id) <= 30 && !strings.Contains(shown, cutAddress(id, 30)) {
			t.Fatalf("the first column is cut: %q is not in a table of %d columns:\n%s", id, width, shown)
		}
		last := l.columns[len(l.columns)-1]
		if !slices.Contains(reasonTitles, last.title) {
			continue
		}
		reason := []rune(last.of(s, r))
		if start := strings.TrimSpace(string(reason[:min(len(reason), narrowest-1)])); !strings.Contains(shown, start) {
			t.Fatalf("the reason cannot be read: %q is not in a table of %d columns:\n%s", start, width, shown)
		}
	}
}
