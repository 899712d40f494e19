package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Kinds are the lists that a query searches, in this order.
var Kinds = []string{"message", "run", "dlq", "log"}

// MaxLength is the maximum length of a query in bytes.
const MaxLength = 2000

// Reader is the context in which a query is parsed.
type Reader struct {
	Now        time.Time                // the time that durations in since and until count back from
	HeaderName func(name string) string // returns the neutral name of a header; nil: the name itself
}

// Query is a parsed line.
type Query struct {
	Kinds        []string  // the lists to search
	Since, Until time.Time // zero: no bound
	States       []string  // empty: any state
	words        []word
	searched     int               // bytes of all lists
	begun        bool              // an item of the current list was searched
	filters      map[string][]test // by key; one test of each key must pass
}

// HasWords reports whether a query has words: then a log event without a text cannot
// match.
func (q *Query) HasWords() bool { return len(q.words) > 0 }

// test reports whether an item matches one value of a filter.
type test func(*engine.SearchItem) bool

// filterKey is a key of filters.
type filterKey struct {
	name, values string // values describes the values, for error texts
	read         func(Reader, string) (test, error)
}

// filterKeys are the keys, sorted. Query.filter reads those without a read function:
// a search needs their values before it looks at items.
var filterKeys = []filterKey{
	{"body", "a text in the body, the payload or the answer", textFilter(bodyFields)},
	{"error", "a text in the error", textFilter(errorFields)},
	{"flow", "a flow-control key", nameFilter(func(it *engine.SearchItem) string { return it.FlowKey })},
	{"group", "a URL group", nameFilter(func(it *engine.SearchItem) string { return it.Group })},
	{"header", "the name of a header, a text in a value, or NAME=TEXT", readHeader},
	{"host", "the host of the URL", nameFilter(hostOf)},
	{"id", "the id of a message, a run or a DLQ entry, or how it starts", idFilter(func(it *engine.SearchItem) []string {
		return []string{it.ID, it.RunID, it.DLQID, it.SourceID}
	})},
	{"kind", "message, run, dlq or log", nil},
	{"label", "a label", listFilter(func(it *engine.SearchItem) []string { return it.Labels })},
	{"method", "the method of the delivery", nameFilter(func(it *engine.SearchItem) string { return it.Method })},
	{"path", "a text in the path of the URL", textFilter(pathField)},
	{"queue", "a queue", nameFilter(func(it *engine.SearchItem) string { return it.Queue })},
	{"run", "a workflow run id, or how it starts", idFilter(func(it *engine.SearchItem) []string { return []string{it.RunID} })},
	{"schedule", "a schedule id", nameFilter(func(it *engine.SearchItem) string { return it.Schedule })},
	{"since", "a duration before now, or a time", nil},
	{"state", "a state such as failed, retry or run_started", nil},
	{"status", "a status such as 503, or a class such as 5xx", readStatus},
	{"step", "the name of a step", listFilter(stepNames)},
	{"until", "a duration before now, or a time", nil},
	{"url", "a text in the URL", textFilter(urlFields)},
}

// Keys returns the names of all keys, sorted.
func Keys() []string {
	names := make([]string, len(filterKeys))
	for i := range filterKeys {
		names[i] = filterKeys[i].name
	}
	return names
}

// filterForm matches a filter; split excludes URLs such as https://app.test.
var filterForm = regexp.MustCompile(`^([A-Za-z][A-Za-z_-]*):(.*)$`)

// Parse parses a line. Errors name the part of it that is invalid.
func Parse(line string, r Reader) (*Query, error) {
	if len(line) > MaxLength {
		return nil, refusal.OfValue("q", "", "too long", fmt.Sprintf("at most %d bytes", MaxLength))
	}
	q := &Query{filters: map[string][]test{}}
	tokens, err := split(line)
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, refusal.OfValue("q", "", "empty", "words, or filters such as state:failed; the keys are "+strings.Join(Keys(), ", "))
	}
	for _, t := range tokens {
		if key, value, ok := strings.Cut(t.value, ":"); t.key == "" && !t.quoted && ok && strings.HasPrefix(key, "-") && value != "" && slices.Contains(Keys(), strings.ToLower(key[1:])) {
			return nil, refusal.OfValue("q", t.value, "no filter can exclude", fmt.Sprintf("a filter without -, or in quotation marks to look for the text: %q", t.value))
		}
		if t.key == "" {
			q.words = append(q.words, newWord(t.value))
			continue
		}
		if err := q.filter(t, r); err != nil {
			return nil, err
		}
	}
	if len(q.Kinds) == 0 {
		q.Kinds = Kinds
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && q.Until.Before(q.Since) {
		return nil, refusal.OfValue("q", line, "until is before since", "since:2h until:1h for the hour before the last one")
	}
	return q, nil
}

// filter adds a filter to the query.
func (q *Query) filter(t token, r Reader) error {
	i := slices.IndexFunc(filterKeys, func(k filterKey) bool { return k.name == strings.ToLower(t.key) })
	if i < 0 {
		return refusal.OfValue("q", t.key+":"+t.value, fmt.Sprintf("unknown key %q", t.key), fmt.Sprintf("one of %s, or in quotation marks to look for the text: %q%s",
			strings.Join(Keys(), ", "), t.key+":"+t.value, similar.DidYouMean(t.key, Keys())))
	}
	key := &filterKeys[i]
	values := []string{t.value}
	if !t.quoted {
		values = strings.FieldsFunc(t.value, func(c rune) bool { return c == ',' })
	}
	if len(values) == 0 || values[0] == "" {
		return refusal.OfValue("q", t.key+":", "missing value", key.values+" directly after the colon")
	}
	for _, value := range values {
		var err error
		switch key.name {
		case "kind":
			err = q.addKind(value)
		case "since":
			err = readBound(&q.Since, key.name, value, r.Now)
		case "state":
			err = q.addState(value)
		case "until":
			err = readBound(&q.Until, key.name, value, r.Now)
		default:
			var fits test
			fits, err = key.read(r, value)
			q.filters[key.name] = append(q.filters[key.name], fits)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addKind adds a list, in the order of Kinds. It accepts plurals such as messages.
func (q *Query) addKind(value string) error {
	kind := strings.ToLower(value)
	if !slices.Contains(Kinds, kind) {
		kind = strings.TrimSuffix(kind, "s")
	}
	if !slices.Contains(Kinds, kind) {
		return refusal.OfValue("q", "kind:"+value, "", "one of "+strings.Join(Kinds, ", "))
	}
	if !slices.Contains(q.Kinds, kind) {
		q.Kinds = append(q.Kinds, kind)
		slices.SortFunc(q.Kinds, func(x, y string) int { return slices.Index(Kinds, x) - slices.Index(Kinds, y) })
	}
	return nil
}

// instantForms are the accepted layouts of a time, in UTC unless it has an offset.
var instantForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

// readBound reads a bound of the time. There is one of each: the smallest and the largest of
// several would be a guess.
func readBound(bound *time.Time, key, value string, now time.Time) (err error) {
	if !bound.IsZero() {
		return refusal.OfValue("q", key+":"+value, "more than one "+key, "one "+key)
	}
	*bound, err = readInstant(key, value, now)
	return err
}

// readInstant reads a time, Unix ms, or a duration before now.
func readInstant(key, value string, now time.Time) (time.Time, error) {
	if ms, err := strconv.ParseInt(value, 10, 64); err == nil && len(value) >= len("1000000000000") {
		return time.UnixMilli(ms), nil
	}
	for _, form := range instantForms {
		if at, err := time.Parse(form, value); err == nil {
			return at, nil
		}
	}
	if d, err := response.Duration(value); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, refusal.OfValue("q", key+":"+value, "", "a duration before now such as 30m, 1h or 2d, a time in UTC such as 2026-01-02T15:04, or Unix ms")
}

// token is a word, or a filter with its key.
type token struct {
	key, value string
	quoted     bool
}

// split splits a line into tokens. A quotation mark starts a quoted text only at the
// start of a word or a value; elsewhere it is literal, so that JSON needs no quotes.
func split(line string) (list []token, err error) {
	for rest := strings.TrimLeftFunc(line, unicode.IsSpace); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		var t token
		if form := filterForm.FindStringSubmatch(rest); form != nil && !strings.HasPrefix(form[2], "//") {
			t.key, rest = form[1], form[2]
		}
		if after, ok := strings.CutPrefix(rest, `"`); ok {
			t.value, rest, t.quoted = cutText(after)
			if !t.quoted {
				return nil, refusal.OfValue("q", `"`+after, "", `a text that ends with a quotation mark; \" is one within a text`)
			}
		} else {
			end := strings.IndexFunc(rest, unicode.IsSpace)
			if end < 0 {
				end = len(rest)
			}
			t.value, rest = rest[:end], rest[end:]
		}
		if t.key != "" || t.value != "" {
			list = append(list, t)
		}
	}
	return list, nil
}

// cutText returns the text up to the closing quotation mark, without the escapes.
func cutText(rest string) (text, after string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && i+1 < len(rest) && (rest[i+1] == '"' || rest[i+1] == '\\'):
			i++
		case rest[i] == '"':
			return b.String(), rest[i+1:], true
		}
		b.WriteByte(rest[i])
	}
	return "", "", false
}
