package client

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// regexpParameter matches a parameter of a path template.
var regexpParameter = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// sameHeader compares the lines of a header with the wanted values, by the meaning of the header.
func sameHeader(name string, want, got []string) bool {
	if slices.Equal(want, got) {
		return true
	}
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, "-forward-"), strings.Contains(lower, "-forward-"): // opaque values: one line for each, or joined
		return strings.Join(want, ",") == strings.Join(strings.Split(strings.Join(got, ","), ", "), ",")
	case strings.HasSuffix(lower, "-delay") && !strings.HasSuffix(lower, "-retry-delay"), strings.HasSuffix(lower, "-timeout"):
		return len(got) == 1 && seconds(got[0]) == seconds(want[0]) && seconds(got[0]) >= 0
	case strings.HasSuffix(lower, "-flow-control-value"):
		return len(got) == 1 && slices.Equal(flowControl(got[0]), flowControl(want[0]))
	case strings.HasSuffix(lower, "-label"), strings.HasSuffix(lower, "-redact-fields"), strings.HasSuffix(lower, "-feature-set"):
		return slices.Equal(listed(want), listed(got))
	case lower == "content-type":
		return len(got) == 1 && strings.EqualFold(mediaType(want[0]), mediaType(got[0]))
	}
	return false
}

// mediaType is a media type without charset=utf-8, which is the default.
func mediaType(text string) string {
	kind, parameters, _ := strings.Cut(text, ";")
	if strings.EqualFold(strings.TrimSpace(parameters), "charset=utf-8") {
		return strings.TrimSpace(kind)
	}
	return text
}

// listed is the items of comma lists.
func listed(lines []string) []string {
	var items []string
	for item := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		items = append(items, strings.TrimSpace(item))
	}
	return items
}

// part matches one part of a duration.
var part = regexp.MustCompile(`^(\d+)(ms|s|m|h|d)`)

// seconds reads a duration such as 90s, 1m30s or 1d2h, in milliseconds; -1 for no duration.
func seconds(text string) int64 {
	unit := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	var total time.Duration
	for rest := text; rest != ""; {
		m := part.FindStringSubmatch(rest)
		if m == nil {
			return -1
		}
		n, err := strconv.ParseInt(m[1], 10, 32)
		if err != nil {
			return -1
		}
		total += time.Duration(n) * unit[m[2]]
		rest = rest[len(m[0]):]
	}
	if text == "" {
		return -1
	}
	return total.Milliseconds()
}

// flowControl is the parts of a flow-control value in order of their names; a period without a unit
// is in seconds.
func flowControl(text string) []string {
	var parts []string
	for item := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(item, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if name == "period" {
			if _, err := strconv.Atoi(value); err == nil {
				value += "s"
			}
			value = strconv.FormatInt(seconds(value), 10)
		}
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return parts
}

// normalURL is a URL in normal form: scheme and host in lower case, the host in ASCII, and
// characters of path and query that no URL has encoded. Nothing else changes, above all no escape.
func normalURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	scheme = strings.ReplaceAll(scheme, "%20", " ") // blanks before a URL
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, tail := rest[:end], rest[end:]
	if plain, err := url.PathUnescape(host); err == nil {
		host = plain
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	if ascii, err := idna.ToASCII(strings.ToLower(name)); err == nil {
		name = ascii
	}
	if port != "" {
		name = net.JoinHostPort(name, port)
	}
	var b strings.Builder
	for i := range len(tail) {
		if c := tail[i]; c >= 0x80 || c == ' ' {
			b.WriteString("%" + strings.ToUpper(strconv.FormatInt(int64(c), 16)))
		} else {
			b.WriteByte(c)
		}
	}
	return strings.ToLower(scheme) + "://" + name + b.String()
}
