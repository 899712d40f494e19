package control

import (
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Trace is a stack trace.
type Trace struct {
	Text string // the whole trace, one call per line
	Own  string // the innermost call in the endpoint's own code; "" if all are foreign
}

// Limits in bytes: how much of a body is searched, and how much of a trace is kept.
const (
	mostBody  = 256 << 10
	mostTrace = 16 << 10
)

// language is the format of the calls of a runtime. If it writes the innermost call last,
// the calls are read from the end.
type language struct {
	frame     *regexp.Regexp
	foreign   *regexp.Regexp // calls outside the endpoint's own code: packages and the runtime
	innerLast bool
}

// allLanguages are tried in this order; the one that matches the most lines applies. Java is
// before JavaScript, whose format includes its own.
var allLanguages = []language{
	{
		regexp.MustCompile(`^\s*at [\w.$/<>@-]+\([\w.$ ]*(?::\d+)?\)$`), // Java
		regexp.MustCompile(`\bat (?:[\w.-]+(?:@[\w.-]+)?/)?(?:java|javax|jdk|sun|kotlin|scala|org\.springframework|org\.apache|io\.netty)\.`), false,
	},
	// JavaScript. Bundlers write packages into the endpoint's own files, so the client library is
	// also known by its classes and functions. Deno and Bun keep packages in caches, below their versions.
	{
		regexp.MustCompile(`^\s*at (?:.*\()?(?:\S.*:\d+(?::\d+)?|native|<anonymous>)\)?$`),
		regexp.MustCompile(`node_modules|node:|ext:|\((?:internal/|native\)|<anonymous>\))|https?://|/npm/registry|@\d+\.\d|\bat (?:async |new )*_?(?:AutoExecutor|\w*Lazy\w*Step|\w*WorkflowContext|Receiver\.verify\w*|safeHandler|submit(?:Single|Parallel)Steps?|triggerRouteFunction)\b`), false,
	},
	{
		regexp.MustCompile(`^[\s|+]*File "[^"]+", line \d+`), // Python; | and + are the margin of a group of exceptions
		regexp.MustCompile(`site-packages|dist-packages|lib/python\d|/opt/python/|<frozen `), true,
	},
	{
		regexp.MustCompile(`^\s*\S+\.go:\d+(?: \+0x[0-9a-f]+)?$`), // Go
		regexp.MustCompile(`@v\d|/pkg/mod/|/vendor/|/usr/(?:local|lib)/go|(?:^\s*|/src/)(?:runtime|net|internal|testing|reflect|sync|io|os|encoding|crypto)/`), false,
	},
	{
		regexp.MustCompile(`^\s*(?:from )?\S+\.rb:\d+:in `), // Ruby
		regexp.MustCompile(`/gems/|/ruby/\d|<internal:`), false,
	},
	{
		regexp.MustCompile(`^\s*#\d+ (?:\S+\(\d+\): |\{main\})`), // PHP
		regexp.MustCompile(`/vendor/|#\d+ \{main\}`), false,
	},
	{
		regexp.MustCompile(`^\s*at \S.* in \S.*:line \d+$`), // .NET
		regexp.MustCompile(`\bat (?:System|Microsoft)\.`), false,
	},
}

// FindTrace returns the stack trace of a body with the most calls; false if there is none.
func FindTrace(body []byte) (Trace, bool) {
	body = body[:min(len(body), mostBody)]
	best, most := Trace{}, 0
	for _, text := range textsOf(body) {
		if trace, n := traceIn(text); n > most {
			best, most = trace, n
		}
	}
	return best, most > 0
}

// textsOf returns the texts of a body: the strings of a JSON document, the text of an
// HTML page, or the body itself.
func textsOf(body []byte) []string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	var v any
	switch {
	case text == "":
		return nil
	case strings.ContainsRune(`{["`, rune(text[0])) && json.Unmarshal([]byte(text), &v) == nil:
		return jsonTexts(v, 0)
	case text[0] == '<':
		return []string{html.UnescapeString(markup.ReplaceAllString(lineBreak.ReplaceAllString(text, "\n"), ""))}
	}
	return []string{text}
}

var (
	lineBreak = regexp.MustCompile(`(?i)<br\s*/?>|</(?:p|div|li|tr)>`)
	markup    = regexp.MustCompile(`<[^>]*>`)
)

// jsonTexts returns the strings of a document. A list of strings is one text, a line each.
func jsonTexts(v any, depth int) (texts []string) {
	const deepest = 8
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		lines := []string{}
		for _, one := range v {
			if line, ok := one.(string); ok {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			} else if depth < deepest {
				texts = append(texts, jsonTexts(one, depth+1)...)
			}
		}
		return append(texts, strings.Join(lines, "\n"))
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if depth < deepest {
				texts = append(texts, jsonTexts(v[name], depth+1)...)
			}
		}
	}
	return texts
}

// traceIn finds the trace in one text, and its number of calls. The trace extends from the
// line before the first call to two lines after the last.
func traceIn(text string) (best Trace, most int) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\u00a0", " ").Replace(text), "\n")
	for _, l := range allLanguages {
		var calls []int
		for i, line := range lines {
			if l.frame.MatchString(strings.TrimRight(line, " ")) {
				calls = append(calls, i)
			}
		}
		if len(calls) <= most {
			continue
		}
		most = len(calls)
		best.Text = clipped(strings.Join(lines[max(0, calls[0]-1):min(len(lines), calls[len(calls)-1]+3)], "\n"), l.innerLast)
		if l.innerLast {
			slices.Reverse(calls)
		}
		best.Own = ""
		if i := slices.IndexFunc(calls, func(i int) bool { return !l.foreign.MatchString(lines[i]) }); i >= 0 {
			best.Own = strings.Trim(lines[calls[i]], " \t|+")
		}
	}
	return best, most
}

// clipped shortens a trace to mostTrace bytes, at a character boundary. It keeps the start, or
// the end if the innermost call is there.
func clipped(text string, end bool) string {
	text = strings.TrimSpace(text)
	if len(text) <= mostTrace {
		return text
	}
	at := mostTrace
	if end {
		at = len(text) - mostTrace
	}
	for !utf8.RuneStart(text[at]) {
		at--
	}
	if end {
		return "…" + text[at:]
	}
	return text[:at] + "…"
}
