package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/command"
)

// screen is where answers are shown to people.
type screen struct {
	w        io.Writer
	width    int // columns of the terminal; 0: lines have any length
	colour   bool
	absolute bool                 // times are not distances from now
	now      func() (int64, bool) // the time of the account in Unix ms, if it is known
	url      string               // of the server
	account  string               // of --account
}

// view shows an answer on a screen: a listing, or words.
type view interface {
	show(s *screen, answer any) error
}

// words is a view: a template in the language of text/template, or the name of one in
// views.tmpl.
type words string

//go:embed views.tmpl
var viewTexts string

// show executes the template. Its value is the answer.
func (v words) show(s *screen, answer any) error {
	all, err := template.New("views").Funcs(s.functions()).Option("missingkey=zero").Parse(viewTexts)
	if err != nil {
		return err
	}
	one := all.Lookup(string(v))
	if one == nil {
		if one, err = all.New("words").Parse(string(v) + "\n"); err != nil {
			return err
		}
	}
	var b strings.Builder
	if err := one.Execute(&b, answer); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(s.w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// functions are the functions of the templates.
func (s *screen) functions() template.FuncMap {
	return template.FuncMap{
		"at":    func(v any) string { return instant(v, time.DateTime) + " UTC" },
		"bold":  func(v any) string { return s.paint(oneLine(textOf(v)), toneBold) },
		"body":  s.body,
		"count": countOf,
		"dict":  func(name string, v any) map[string]any { return map[string]any{name: v} },
		"each": func(v any) []any {
			if list, ok := v.([]any); ok {
				return list
			}
			return []any{v}
		},
		"dim":        func(v any) string { return s.paint(oneLine(textOf(v)), toneDim) },
		"long":       s.longWhen,
		"lastAnswer": lastAnswer, "nextSteps": nextSteps, "pages": s.pages, "pairs": pairsOf,
		"plain": func(v any) string { return oneLine(textOf(v)) },
		"sh":    func(v any) string { return clip.Shell(textOf(v)) },
		"steps": stepsOf,
		"state": func(v any) string { text := oneLine(stateWord(v)); return s.paint(text, toneOf(text)) },
		"table": func(name string, v any) (string, error) { return s.inside(name, v) },
		"took":  tookOf,
		"url":   func() string { return s.url },
		"when":  s.when,
	}
}

// inside is a table of a noun as text.
func (s *screen) inside(name string, answer any) (string, error) {
	var b strings.Builder
	part := *s
	part.w = &b
	err := tables[name].show(&part, answer)
	return b.String(), err
}

// screen is the screen of a command.
func (e *env) screen(c *remote, o *outputFlags, now func() (int64, bool)) *screen {
	s := &screen{w: e.out, colour: e.hasColours(e.out), absolute: o.Absolute, now: now, url: c.URL.base(), account: c.Account}
	if f, ok := e.out.(*os.File); ok {
		s.width, _, _ = term.GetSize(int(f.Fd())) // 0 if it is no terminal
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.width = n
	}
	return s
}

// hasColours reports whether an output has colours: those of --color, otherwise a terminal
// without NO_COLOR (https://no-color.org).
func (e *env) hasColours(w io.Writer) bool {
	if e.flags != nil && e.flags.Color != "auto" {
		return e.flags.Color == "always"
	}
	return command.IsTerminal(w) && wantsColours()
}

// wantsColours reports whether terminals of this user have colours.
func wantsColours() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// Colours of a terminal.
const (
	toneBold = "1"
	toneDim  = "2"
)

// tones are the colours of words in states; the first that is found applies.
var tones = []struct{ word, tone string }{
	{"failed", "31"}, {"succeeded", "32"}, {"delivered", "32"}, {"done", "32"}, {"cancel", toneDim},
	{"retrying", "33"}, {"paused", "33"}, {"waiting", "36"}, {"in flight", "36"}, {"progress", "36"}, {"running", "36"},
}

// toneOf is the colour of a state, or of the status of a response.
func toneOf(state string) string {
	if status, err := strconv.Atoi(state); err == nil {
		switch {
		case status >= 400:
			return "31"
		case status >= 200 && status < 300:
			return "32"
		}
		return ""
	}
	for _, t := range tones {
		if strings.Contains(state, t.word) {
			return t.tone
		}
	}
	return ""
}

// paint colours a text.
func (s *screen) paint(text, tone string) string {
	if !s.colour || tone == "" || text == "" {
		return text
	}
	return "\x1b[" + tone + "m" + text + "\x1b[0m"
}

// instant is a time in Unix ms in UTC; "" for none.
func instant(v any, layout string) string {
	ms, _ := v.(float64)
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(int64(ms)).UTC().Format(layout)
}

// when is the distance of a time from the time of the account, such as "in 3 m" or "5 s ago".
func (s *screen) when(v any) string {
	ms, _ := v.(float64)
	if ms == 0 || s.absolute {
		return instant(v, time.DateTime)
	}
	now, known := s.now()
	if !known {
		return instant(v, time.DateTime)
	}
	switch d := ms - float64(now); {
	case d > 0:
		return "in " + durationOf(d)
	case d > -1000:
		return "now"
	default:
		return durationOf(-d) + " ago"
	}
}

// longWhen is a distance and the time itself.
func (s *screen) longWhen(v any) string {
	text := instant(v, time.RFC3339)
	if away := s.when(v); !s.absolute && text != "" {
		text = away + ", at " + text
	}
	return text
}

// tookOf is the time between two times in Unix ms; "" if one is missing.
func tookOf(from, to any) string {
	a, _ := from.(float64)
	if b, ok := to.(float64); ok {
		return durationOf(b - a)
	}
	return ""
}

// durationOf formats a duration in ms; whole seconds without a decimal.
func durationOf(ms float64) string {
	return strings.Replace(clip.Duration(ms), ".0 s", " s", 1)
}

// countOf is a number and what it counts.
func countOf(v any, one string) string {
	n, _ := strconv.Atoi(textOf(v)) // 0 for none
	return clip.Counted(n, one, one+"s")
}

// mostLines is how much of a body is shown; JSON has all of it.
const mostLines = 40

// body is an indented body, JSON with a line for each member.
func (s *screen) body(text any) string {
	shown := textOf(text)
	var v any
	if json.Unmarshal([]byte(shown), &v) == nil {
		if pretty, err := json.MarshalIndent(v, "", "  "); err == nil {
			shown = string(pretty)
		}
	}
	lines := strings.Split(strings.TrimRight(shown, "\n"), "\n")
	rest := ""
	if len(lines) > mostLines {
		rest = fmt.Sprintf("\n  ... %s; -o json has all", countOf(float64(len(lines)-mostLines), "more line"))
		lines = lines[:mostLines]
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight("  "+oneLine(strings.ReplaceAll(line, "\t", "    ")), " ")
		if s.width > 0 {
			lines[i] = cut(lines[i], 4*s.width)
		}
	}
	return strings.Join(lines, "\n") + rest
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	return strings.TrimRight(string([]rune(text)[:most-1]), " ") + "…"
}

// cutAddress shortens a URL: its scheme is what nobody misses, and its end tells URLs apart.
func cutAddress(text string, most int) string {
	if utf8.RuneCountInString(text) > most {
		text = strings.TrimPrefix(strings.TrimPrefix(text, "http://"), "https://")
	}
	if over := utf8.RuneCountInString(text) - most; over > 0 && most > 0 {
		text = "…" + string([]rune(text)[over+1:])
	}
	return text
}

// oneLine is a text without control characters, in one line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
}

// pairsOf is an object as a list of rows with its names and values.
func pairsOf(v any, name, value string) []any {
	m, _ := v.(map[string]any)
	list := []any{}
	for _, n := range sortedNames(m) {
		list = append(list, map[string]any{name: n, value: m[n]})
	}
	return list
}

// sortedNames are the names of members.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
