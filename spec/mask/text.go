package mask

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// Patterns of credentials in texts, besides URLs.
var (
	schemes     = regexp.MustCompile(`(?i)\b(bearer|basic)( +|%20|\+)([^\s"',;&]+)`)
	signingKeys = regexp.MustCompile(`\bsig_\w{8,}`)
	quoted      = regexp.MustCompile(`(?i)([\w-]*(?:` + strings.ReplaceAll(strings.Join(names, "|"), "-", "[-_]?") + `))((?:\\?"? *[:=] *\[? *(?:invalid value )?| +)\\?)"((?:[^"\\]|\\[^"]|\\")*)`)
)

// placeholders follow Bearer or Basic in explanations and are not credentials. Sorted.
var placeholders = []string{"CONTROL_TOKEN", "TOKEN", "VECTOR_TOKEN", "and", "base64(USERNAME:PASSWORD)", "token", "with"}

// Text hides credentials in a text, such as a log line or an error.
func Text(s string) string { return hiding.Text(s) }

// Text hides credentials in a text.
func (m Masker) Text(s string) string {
	s = m.located(s, edges)
	if holds(s, "bearer", "basic") {
		s = schemes.ReplaceAllStringFunc(s, func(found string) string {
			parts := schemes.FindStringSubmatch(found)
			if slices.Contains(placeholders, parts[3]) {
				return found
			}
			return parts[1] + parts[2] + m.Replace(parts[3])
		})
	}
	if strings.Contains(s, "sig_") {
		s = signingKeys.ReplaceAllStringFunc(s, m.Replace)
	}
	if strings.Contains(s, `"`) && holds(s, stems...) {
		s = quoted.ReplaceAllStringFunc(s, func(found string) string {
			parts := quoted.FindStringSubmatch(found)
			return parts[1] + parts[2] + `"` + m.Replace(parts[3])
		})
	}
	return s
}

// Handler returns a handler that hides credentials in log records and passes them to next.
func Handler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	shown := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		shown[i] = attr(a)
	}
	return handler{h.Handler.WithAttrs(shown)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }

func attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		if Secret(a.Key) {
			return slog.String(a.Key, Hidden)
		}
		return slog.String(a.Key, Value(v.String()))
	case slog.KindGroup:
		list := make([]any, 0, len(v.Group()))
		for _, one := range v.Group() {
			list = append(list, attr(one))
		}
		return slog.Group(a.Key, list...)
	case slog.KindAny:
		switch one := v.Any().(type) {
		case error:
			return slog.String(a.Key, Text(one.Error()))
		case []string:
			return slog.Any(a.Key, texts(one))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

func texts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Value(s)
	}
	return out
}
