package request

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// forwardFamily begins the names whose rest is the client's own.
const forwardFamily = "Forward"

// callbackFamilies begin the names of options within options.
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

// prefixWords begin the headers of the built-in dialects. Those that are short
// are near too many words.
var prefixWords = func() (words []string) {
	for _, d := range spec.BuiltInDialects() {
		if word := strings.TrimSuffix(d.HeaderPrefix, "-"); len(word) > 4 {
			words = append(words, word)
		}
	}
	return words
}()

// misspeltPrefix is the header that somebody meant who wrote an option behind a
// prefix that is not quite right, "" for all other headers.
func misspeltPrefix(name string) string {
	i := strings.IndexAny(name, "-_")
	if i < 0 {
		return ""
	}
	for _, word := range prefixWords {
		if max(i-len(word), len(word)-i) > 2 || spec.Distance(strings.ToLower(name[:i]), strings.ToLower(word)) > 2 {
			continue
		}
		for _, option := range optionNames {
			if strings.EqualFold(option, strings.ReplaceAll(name[i+1:], "_", "-")) {
				return word + "-" + option
			}
		}
	}
	return ""
}

// misspeltProtocol reports whether a name is almost one of a workflow message.
// Others pass: client libraries add to them.
func misspeltProtocol(name string) bool {
	if !strings.HasPrefix(name, "Workflow-") {
		return false
	}
	_, least := spec.Nearest(name, optionNames)
	return least > 0 && least <= 2
}

// NearestName is the configuration name that an unknown one resembles, in the
// spelling of where it was given; "" when none comes close.
func NearestName(name string) string {
	if meant := misspeltPrefix(name); meant != "" {
		return meant
	}
	given := strings.ToLower(name[len(header.Prefix):])
	best, least := spec.Nearest(given, optionNames)
	if most := max(2, len(given)/3); least > most {
		best, least = "", most+1
	}
	for _, family := range append([]string{""}, callbackFamilies...) {
		rest, ok := strings.CutPrefix(given, strings.ToLower(family))
		word, own, nested := strings.Cut(rest, "-")
		if !ok || !nested || own == "" {
			continue
		}
		if d := spec.Distance(word, strings.ToLower(forwardFamily)); d > 0 && d < least && d <= 2 {
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
