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

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

// templateFunctions are the functions of the templates.
var templateFunctions = template.FuncMap{
	"between":  spanBetween,
	"plain":    plainURL,
	"pretty":   prettyJSON,
	"record":   recordText,
	"resumes":  canResume,
	"brief":    BriefReason,
	"bytes":    SizeText,
	"chain":    chainOf,
	"commands": withCommands,
	"columns":  func(list string) []column { return listColumns[list] },
	"count":    groupedNumber,
	"cut":      cutText,
	"dict":     dictOf,
	"field":    fieldName,
	"headers":  listedHeaders,
	"camel":    wordsOf,
	"fans":     fansOf,
	"icon":     iconDrawing,
	"instants": withInstants,
	"json":     asJSON,
	"lower":    strings.ToLower,
	"later":    isLater,
	"link":     linkAddress,
	"parts":    inParts,
	"list":     func(items ...string) []string { return items },
	"match":    func(text, pattern string) (bool, error) { return regexp.MatchString(pattern, text) },
	"members":  ruleFields,
	"minus":    func(b, a int) int { return a - b },
	"quoted":   clip.Shell,
	"route":    routeOf,
	"round":    math.Round,
	"seconds":  secondsText,
	"shape":    stateTone,
	"short":    shortID,
	"show":     showBody,
	"static":   staticAddress,
	"path":     pathOf,
	"plural":   pluralText,
	"ticks":    ticksOf,
	"took":     tookText,
	"tries":    triesText,
	"usual":    usualHost,
	"where":    whereText,
	"word":     StateWord,
}

// routeOf is the path of an operation, for the commands that the page suggests.
func routeOf(operationID string, values ...string) (string, error) {
	r, ok := route.Lookup(operationID)
	if !ok {
		return "", fmt.Errorf("operation %s: not found", operationID)
	}
	return r.Path(values...), nil
}

// readNumber reads a number that was decoded from JSON or set in Go.
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

// Layouts of times in UTC: for machines, for people, and for people with milliseconds.
const (
	instantForm = "2006-01-02T15:04:05.000Z"
	clockForm   = "2 Jan 2006 15:04:05 UTC"
	fullForm    = "2 Jan 2006 15:04:05.000 UTC"
)

// utcText formats a time in Unix ms with its zone; "" for 0.
func utcText(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(fullForm)
}

// stampedTime is an element with a time in Unix ms and its distance from now, or only that, short; kind is
// clock or real.
func stampedTime(v any, now int64, kind string, short bool) template.HTML {
	n := number(v)
	if n == 0 {
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
	full, words, of := at.Format(instantForm), at.Format(form)+" ", kind+`"`
	away := timeAway(int64(n) - now)
	if short {
		words, of, away = "", of+" data-short", shortAway(away)
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s, %s">%s<small data-at="%d" data-of="%s>%s</small></time>`, //nolint:gosec // numbers and constants
		full, full, map[string]string{"clock": "on the clock of the account", "real": "real time"}[kind], words, int64(n), of, away))
}

// timeAway describes a distance from now in ms, such as "in 5 s" or "5 s ago".
func timeAway(d int64) string {
	switch {
	case d > 0:
		return "in " + durationText(d)
	case d > -1000:
		return "now"
	}
	return durationText(-d) + " ago"
}

// secondUnit matches the smaller unit in the text of a distance, such as in 1 h 5 m and 1 h 5 m ago.
var secondUnit = regexp.MustCompile(`( \d+ [a-z]+)( \d+ [a-z]+)`)

// shortAway is the text of a distance with only the largest unit, for columns.
func shortAway(away string) string {
	return strings.TrimSpace(secondUnit.ReplaceAllString(" "+away, "$1"))
}

// durationText formats a duration in ms.
func durationText(v any) string {
	return clip.Duration(number(v))
}

// secondsText formats a whole number of seconds, such as the period of a rate.
func secondsText(v any) string {
	if number(v) < 60 {
		return groupedNumber(v) + " s"
	}
	return durationText(number(v) * 1000)
}

// spanBetween is the duration between two times in Unix ms; "" if the second is missing.
func spanBetween(from, to any) string {
	if number(to) == 0 {
		return ""
	}
	return durationText(number(to) - number(from))
}

// isLater reports whether the number a is greater than b.
func isLater(a, b any) bool {
	return number(a) > number(b)
}

// triesText is the number of attempts of a message, and their maximum.
func triesText(row doc) string {
	return fmt.Sprintf("%d of %d", int(number(row["attempts"])), int(number(row["maxRetries"]))+1)
}

// ticksOf are the tones of the attempts of a message, and of those it may still make: "left".
func ticksOf(row doc) (tones []string) {
	const most = 8
	had := int(number(row["attempts"]))
	all := max(had, int(number(row["maxRetries"]))+1)
	if row["state"] == "DELIVERED" {
		all = had
	}
	for i := range min(all, most) {
		switch tone := stateTone(row["state"]); {
		case i < min(had, most)-1 || i < had && tone != "good" && tone != "busy":
			tones = append(tones, "bad")
		case i < had:
			tones = append(tones, tone)
		default:
			tones = append(tones, "left")
		}
	}
	return tones
}

// tookText is a duration in ms, with decimals below 10 ms.
func tookText(ms float64) string {
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	}
	return durationText(ms)
}

// groupedNumber formats a number with separators between thousands.
func groupedNumber(v any) string {
	text := strconv.FormatFloat(number(v), 'f', -1, 64)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "\u202f" + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

// SizeText is a number of bytes as people say it.
func SizeText(v any) string {
	n := number(v)
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := math.Pow(1024, float64(3-i)); n >= size {
			return strconv.FormatFloat(n/size, 'f', 1, 64) + " " + unit
		}
	}
	return strconv.Itoa(int(n)) + " B"
}

// stateTones are the shapes and colours of states and activities, by the names that lists,
// timelines, waterfalls and charts use.
var stateTones = map[string][]string{
	"good": {"DELIVERED", "RUN_SUCCESS", "CALLBACK_SUCCESS", "SUCCESS", "STEP_SUCCESS", "delivered", "success", "serving", "done"},
	"bad":  {"FAILED", "RUN_FAILED", "CALLBACK_FAIL", "FAIL", "STEP_FAILED", "failed", "no response", "refused"},
	"warn": {"RETRY", "ERROR", "STEP_RETRY", "CANCEL_REQUESTED", "retrying", "retried", "leaving"},
	"busy": {"ACTIVE", "RUN_STARTED", "STEP_PROGRESS", "IN_PROGRESS", "CALLBACK_INPROGRESS", "running", "started", "in flight", "in progress"},
	"wait": {"CREATED", "created", "sleeping", "delayed", "WAITER_ADDED", "INVOKED", "waiting"},
	"held": {"paused", "held"},
	"kept": {"kept"},
}

// stateWords are the states of the interface whose words are not their constants in lower case.
var stateWords = map[string]string{
	"CREATED": "Waiting", "ACTIVE": "In flight", "RETRY": "Retrying", "ERROR": "Attempt failed", "CANCEL_REQUESTED": "Canceling",
	"RUN_STARTED": "Running", "RUN_SUCCESS": "Succeeded", "RUN_FAILED": "Failed", "RUN_CANCELED": "Canceled",
	"STEP_PROGRESS": "Step started", "STEP_SUCCESS": "Step done", "WAITER_ADDED": "Waiting for event",
	"CALLBACK_INPROGRESS": "Callback sent", "CALLBACK_SUCCESS": "Callback delivered", "CALLBACK_FAIL": "Callback failed",
}

// StateWord is a state as people say it.
func StateWord(v any) string {
	text := fmt.Sprint(v)
	if word := stateWords[text]; word != "" || text == "" {
		return word
	}
	word := strings.ToLower(strings.ReplaceAll(text, "_", " "))
	return strings.ToUpper(word[:1]) + word[1:]
}

// stateTone is the colour of a state or of an HTTP status; "gone" for others.
func stateTone(v any) string {
	if n, ok := readNumber(v); ok {
		switch {
		case n >= 200 && n < 300:
			return "good"
		case n != 0 && n < 400:
			return "gone"
		}
		return "bad"
	}
	text, _ := v.(string)
	if n, err := strconv.Atoi(text); err == nil {
		return stateTone(n)
	}
	for tone, names := range stateTones {
		if slices.Contains(names, text) {
			return tone
		}
	}
	return "gone"
}

// dictOf makes a map of names and values, for templates with several arguments.
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

// fieldsShown is at most mostFields lines of a header.
type fieldsShown struct {
	Fields []field
	Hidden int // number of omitted lines
}

const mostFields = 100

// listedHeaders lists a header by name. It accepts a typed header or decoded JSON.
func listedHeaders(v any) fieldsShown {
	var header map[string][]string
	raw, _ := json.Marshal(v)
	_ = json.Unmarshal(raw, &header) // both always succeed for a header
	var all []field
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			all = append(all, field{name, value})
		}
	}
	for i := range all {
		all[i].Value = clip.Text(all[i].Value, 2000)
	}
	return fieldsShown{all[:min(len(all), mostFields)], max(0, len(all)-mostFields)}
}

// content is a body prepared for display.
type content struct {
	Text   string
	Kind   string // text, json, binary, dropped
	Size   int    // bytes of the whole body
	Hidden int    // bytes that are not shown
	More   bool   // Size and Hidden may be larger

	Tree    template.HTML // JSON as foldable lines; "" for other content
	Folds   bool          // some lines of the tree can be folded
	Partial bool          // the tree has only some levels of the JSON
	Decoded *content      // the decoded text, if it is base64 or gzip
	Coding  string        // what the decoded text was decoded from
	Link    string        // address of the whole body in parts
}

// mostContent is the maximum size of the shown part of a body, in bytes.
const mostContent = 16 << 10

// showBody prepares a body for display. It is given as text or as base64; whole is the
// size of the whole body if this is only its start.
func showBody(text, encoded any, whole ...any) content {
	c := bodyBeginning(text, encoded)
	if len(whole) > 0 {
		if n, ok := readNumber(whole[0]); ok && int(n) > c.Size {
			if c.Size == 0 {
				return content{Text: fmt.Sprintf("dropped to make room: %d bytes; --memory keeps more", int(n)), Kind: "dropped", Size: int(n)}
			}
			c.Hidden, c.Size = c.Hidden+int(n)-c.Size, int(n)
		}
	}
	return c
}

// bodyBeginning prepares the start of a body: JSON as a tree, text unchanged, bytes as
// a hex dump. A long text is cut before it is parsed, so that the cost of a page does
// not depend on the size of the body.
func bodyBeginning(text, encoded any) content {
	plain, _ := text.(string)
	if b64, _ := encoded.(string); b64 != "" {
		raw, err := base64.StdEncoding.DecodeString(b64)
		if err != nil {
			raw = []byte(b64)
		}
		const most = 512
		c := content{Text: hex.Dump(raw[:min(len(raw), most)]), Kind: "binary", Size: len(raw), Hidden: max(0, len(raw)-most)}
		c.unzip(raw)
		return c
	}
	if len(plain) > mostContent {
		return content{Text: strings.ToValidUTF8(plain[:mostContent], ""), Kind: "text", Size: len(plain), Hidden: len(plain) - mostContent}
	}
	return readableContent(plain)
}

// readableContent prepares a whole text: JSON as foldable lines, and base64 also decoded.
func readableContent(plain string) content {
	c := content{Text: plain, Kind: "text", Size: len(plain)}
	trimmed := strings.TrimSpace(plain)
	if trimmed == "" {
		return c
	}
	if strings.ContainsRune("{[\"", rune(trimmed[0])) {
		if n, err := parseJSON(trimmed); err == nil {
			c.Tree, c.Kind, c.Folds = jsonLines(&n), "json", len(n.children) > 0
			return c
		}
		c.Text = prettyJSON(plain)
	}
	if held, from := decode(trimmed); from != "" {
		inner := readableContent(maskedText(held))
		c.Decoded, c.Coding = &inner, from
	}
	return c
}

// unzip adds the beginning of the text in gzip data.
func (c *content) unzip(raw []byte) {
	text, whole, ok := unzip(raw)
	if !ok {
		return
	}
	inner := bodyBeginning(maskedText(string(text)), "")
	inner.Size, inner.More = len(text), !whole
	c.Decoded, c.Coding = &inner, "gzip"
}

// maskedText hides the credentials of a decoded text, which the API cannot see.
func maskedText(plain string) string { return string(mask.JSON([]byte(plain))) }

// prettyJSON indents JSON objects and arrays; it returns other texts unchanged.
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
