package request

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// forwardFamily starts the names that end with a header name of the client.
const forwardFamily = "Forward"

// callbackFamilies are the prefixes of options that configure a callback.
var callbackFamilies = []string{"Callback-", "Failure-Callback-"}

// optionNames are all configuration names with a fixed spelling, without
// prefix, nested ones included.
var optionNames = func() (names []string) {
	for _, o := range optionTable {
		names = append(names, o.name)
	}
	for _, o := range workflowOptions {
		names = append(names, o.name)
	}
	for _, family := range callbackFamilies {
		for _, name := range slices.Clone(names[:len(optionTable)+len(workflowOptions)]) {
			names = append(names, family+name)
		}
	}
	return append(names, "Cron", "Schedule-Id")
}()

// prefixWords are the header prefixes of the built-in dialects, except short ones,
// which too many words resemble.
var prefixWords = func() (words []string) {
	for _, d := range spec.BuiltInDialects() {
		if word := strings.TrimSuffix(d.HeaderPrefix, "-"); len(word) > 4 {
			words = append(words, word)
		}
	}
	return words
}()

// misspeltPrefix returns the intended header for the name of an option after a
// misspelt prefix; "" for all other headers.
func misspeltPrefix(name string) string {
	i := strings.IndexAny(name, "-_")
	if i < 0 {
		return ""
	}
	rest := strings.ReplaceAll(name[i+1:], "_", "-")
	at := slices.IndexFunc(optionNames, func(option string) bool { return len(option) == len(rest) && strings.EqualFold(option, rest) })
	if at < 0 {
		return ""
	}
	for _, word := range prefixWords {
		if max(i-len(word), len(word)-i) <= 2 && similar.Distance(strings.ToLower(name[:i]), strings.ToLower(word)) <= 2 {
			return word + "-" + optionNames[at]
		}
	}
	return ""
}

// misspeltProtocol reports whether a name nearly equals a protocol field of workflow
// messages. Other unknown fields are accepted: client libraries add some.
func misspeltProtocol(name string) bool {
	if !strings.HasPrefix(name, "Workflow-") || slices.Contains(optionNames, name) { // the usual case: saves the search
		return false
	}
	_, least := similar.Nearest(name, optionNames)
	return least > 0 && least <= 2
}

// sameStart returns the options that start with the first four letters of a name: retry may
// be one more change away from retries than other words.
func sameStart(given string) (names []string) {
	const letters = 4
	for _, name := range optionNames {
		if len(given) >= letters && strings.HasPrefix(strings.ToLower(name), given[:letters]) {
			names = append(names, name)
		}
	}
	return names
}

// NearestName returns the configuration name that resembles an unknown one, in the
// spelling of its place, header or query; "" when none is similar.
func NearestName(name string) string {
	if meant := misspeltPrefix(name); meant != "" {
		return meant
	}
	given := strings.ToLower(name[len(header.Prefix):])
	best, least := similar.Nearest(given, optionNames)
	if most := max(2, len(given)/3); least > most {
		if best, least = similar.Nearest(given, sameStart(given)); least > most+1 {
			best, least = "", most+1
		}
	}
	for _, family := range append([]string{""}, callbackFamilies...) {
		rest, ok := strings.CutPrefix(given, strings.ToLower(family))
		word, own, nested := strings.Cut(rest, "-")
		if !ok || !nested || own == "" {
			continue
		}
		if d := similar.Distance(word, strings.ToLower(forwardFamily)); d > 0 && d < least && d <= 2 {
			best, least = family+forwardFamily+"-"+own, d
		}
	}
	switch {
	case best == "":
		return ""
	case strings.HasPrefix(name, header.Prefix):
		return textproto.CanonicalMIMEHeaderKey(header.Prefix + best)
	}
	return strings.ToLower(header.Prefix + best)
}
