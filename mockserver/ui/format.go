package ui

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec/route"
)

// templateFunctions are what templates may call.
var templateFunctions = template.FuncMap{
	"between": spanBetween,
	"bytes":   sizeText,
	"count":   groupedNumber,
	"cut":     cutText,
	"dict":    dictOf,
	"headers": listedHeaders,
	"json":    asJSON,
	"lower":   strings.ToLower,
	"later":   isLater,
	"list":    func(items ...string) []string { return items },
	"match":   func(text, pattern string) (bool, error) { return regexp.MatchString(pattern, text) },
	"ms":      durationText,
	"quoted":  shellQuoted,
	"route":   routeOf,
	"round":   math.Round,
	"shape":   stateShape,
	"show":    showBody,
	"took":    tookText,
	"tries":   triesText,
}

// routeOf is the path of an operation, for the commands that the page suggests.
func routeOf(operationID string, values ...string) (string, error) {
	r, ok := route.Lookup(operationID)
	if !ok {
		return "", fmt.Errorf("operation %s: not found", operationID)
	}
	return r.Path(values...), nil
}

// readNumber reads what JSON or Go gives.
func readNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return 0, false
}

// instantForm is how an instant in UTC is written for machines.
const instantForm = "2006-01-02T15:04:05.000Z"

// stampedTime is an instant in Unix ms, with how far it is from now.
func stampedTime(v any, now int64, kind string) template.HTML {
	n, ok := readNumber(v)
	if !ok || n == 0 {
		return ""
	}
	at := time.UnixMilli(int64(n)).UTC()
	form := "15:04:05.000"
	if base := time.UnixMilli(now).UTC(); at.YearDay() != base.YearDay() || at.Year() != base.Year() {
		form = "2 Jan 15:04:05"
		if at.Year() != base.Year() {
			form = "2 Jan 2006 15:04"
		}
	}
	full := at.Format(instantForm)
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s, %s">%s <small data-at="%d" data-of="%s">%s</small></time>`, //nolint:gosec // numbers and constants
		full, full, map[string]string{"clock": "on the clock of the account", "real": "real time"}[kind], at.Format(form), int64(n), kind, timeAway(int64(n)-now)))
}

// timeAway is how far something is from now, in ms.
func timeAway(d int64) string {
	switch {
	case d > 0:
		return "in " + durationText(d)
	case d > -1000:
		return "now"
	}
	return durationText(-d) + " ago"
}

// maxDuration is the longest span that Go has, in ms: 292 years.
const maxDuration = float64(math.MaxInt64 / int64(time.Millisecond))

// durationText is a span of ms in its two largest units.
func durationText(v any) string {
	n, _ := readNumber(v)
	d := time.Duration(min(n, maxDuration)) * time.Millisecond
	switch {
	case d < time.Second:
		return strconv.Itoa(int(n)) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return unitPair(int(d/time.Minute), "m", int(d%time.Minute/time.Second), "s")
	case d < 24*time.Hour:
		return unitPair(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "m")
	}
	return unitPair(int(d/(24*time.Hour)), "d", int(d%(24*time.Hour)/time.Hour), "h")
}

func unitPair(large int, unit string, small int, smaller string) string {
	text := strconv.Itoa(large) + " " + unit
	if small > 0 {
		text += " " + strconv.Itoa(small) + " " + smaller
	}
	return text
}

// spanBetween is the span from one instant to another in Unix ms, nothing without both.
func spanBetween(from, to any) string {
	a, _ := readNumber(from)
	b, ok := readNumber(to)
	if !ok || b == 0 {
		return ""
	}
	return durationText(b - a)
}

// isLater reports whether an instant lies behind another.
func isLater(a, b any) bool {
	x, _ := readNumber(a)
	y, _ := readNumber(b)
	return x > y
}

// triesText says how many attempts a message has had, and how many it may have.
func triesText(row doc) string {
	had, _ := readNumber(row["attempts"])
	most, _ := readNumber(row["maxRetries"])
	return fmt.Sprintf("%d of %d", int(had), int(most)+1)
}

// tookText is a duration in ms with a part of one.
func tookText(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	}
	return durationText(ms)
}

// groupedNumber is a number with its thousands apart.
func groupedNumber(v any) string {
	n, _ := readNumber(v)
	text := strconv.FormatFloat(n, 'f', -1, 64)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "\u202f" + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

func sizeText(v any) string {
	n, _ := readNumber(v)
	switch {
	case n >= 1<<30:
		return strconv.FormatFloat(n/(1<<30), 'f', 1, 64) + " GiB"
	case n >= 1<<20:
		return strconv.FormatFloat(n/(1<<20), 'f', 1, 64) + " MiB"
	case n >= 1<<10:
		return strconv.FormatFloat(n/(1<<10), 'f', 1, 64) + " KiB"
	}
	return strconv.Itoa(int(n)) + " B"
}

// stateShape is which of a few colours a state, or an HTTP status, has.
func stateShape(v any) string {
	if n, ok := readNumber(v); ok {
		switch {
		case n >= 200 && n < 300:
			return "good"
		case n == 0:
			return "bad"
		case n < 400:
			return "soft"
		}
		return "bad"
	}
	text, _ := v.(string)
	switch text {
	case "DELIVERED", "RUN_SUCCESS", "CALLBACK_SUCCESS", "SUCCESS", "STEP_SUCCESS":
		return "good"
	case "FAILED", "RUN_FAILED", "CALLBACK_FAIL", "FAIL", "STEP_FAILED":
		return "bad"
	case "RETRY", "ERROR", "STEP_RETRY", "CANCEL_REQUESTED":
		return "warn"
	case "ACTIVE", "RUN_STARTED", "STEP_PROGRESS", "IN_PROGRESS", "CALLBACK_INPROGRESS":
		return "busy"
	}
	return "soft"
}

// dictOf makes a map of pairs, for templates that take several values.
func dictOf(pairs ...any) doc {
	d := doc{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		d[name] = pairs[i+1]
	}
	return d
}

// field is a header line.
type field struct{ Name, Value string }

// fieldsShown is a header, at most so many lines of it.
type fieldsShown struct {
	Fields []field
	Hidden int
}

const mostFields = 100

// listedHeaders lists a header by name, whichever form it has.
func listedHeaders(v any) fieldsShown {
	var all []field
	switch h := v.(type) {
	case map[string][]string:
		for _, name := range slices.Sorted(maps.Keys(h)) {
			for _, value := range h[name] {
				all = append(all, field{name, value})
			}
		}
	case doc:
		for _, name := range slices.Sorted(maps.Keys(h)) {
			values, ok := h[name].([]any)
			if !ok {
				values = []any{h[name]}
			}
			for _, value := range values {
				all = append(all, field{name, fmt.Sprint(value)})
			}
		}
	}
	for i := range all {
		all[i].Value = clipText(all[i].Value, 2000)
	}
	return fieldsShown{all[:min(len(all), mostFields)], max(0, len(all)-mostFields)}
}

// clipText cuts a text at a whole character.
func clipText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// content is a body as it is shown.
type content struct {
	Text   string
	Kind   string // text, json, binary
	Size   int
	Hidden int // bytes that are not shown
}

// mostContent is how much of a body is shown, in bytes.
const mostContent = 16 << 10

// showBody prepares a body, given as text or as base64, and how long the whole of it
// is where this is its beginning.
func showBody(text, encoded any, whole ...any) content {
	c := bodyBeginning(text, encoded)
	if len(whole) > 0 {
		if n, ok := readNumber(whole[0]); ok && int(n) > c.Size {
			if c.Size == 0 {
				return content{fmt.Sprintf("dropped to make room: %d bytes; --memory keeps more", int(n)), "dropped", int(n), 0}
			}
			c.Hidden, c.Size = c.Hidden+int(n)-c.Size, int(n)
		}
	}
	return c
}

// bodyBeginning is what a page shows of a body: JSON with indentation, text as it
// is, bytes as a dump. A long text is cut before it is looked at, so that a page
// costs the same whatever the body.
func bodyBeginning(text, encoded any) content {
	plain, _ := text.(string)
	if b64, _ := encoded.(string); b64 != "" {
		raw, err := base64.StdEncoding.DecodeString(b64)
		if err != nil {
			raw = []byte(b64)
		}
		const most = 512
		return content{hex.Dump(raw[:min(len(raw), most)]), "binary", len(raw), max(0, len(raw)-most)}
	}
	c := content{plain, "text", len(plain), 0}
	if len(plain) > mostContent {
		c.Text, c.Hidden = strings.ToValidUTF8(plain[:mostContent], ""), len(plain)-mostContent
	} else if p := prettyJSON(plain); p != plain {
		c.Text, c.Kind = p, "json"
	}
	return c
}

// prettyJSON is JSON with indentation; anything else stays.
func prettyJSON(text string) string {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return text
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(trimmed), "", "  ") != nil {
		return text
	}
	return b.String()
}

func asJSON(v any) (string, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return string(raw), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}
