package mockserver

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/spec"
)

// unknownOptions are the problems of names that nobody knows: errors of a
// strict server, else warnings of the answer.
func (s *Server) unknownOptions(c *call, unknown []setting) (problems []spec.Problem) {
	for _, u := range unknown {
		if c.hops > 0 && slices.Contains(addedHeaders, u.name) {
			continue // the server's own
		}
		p := spec.Problem{In: u.in, Name: shorten(u.name), Rule: "known", Message: "unknown option"}
		if near := nearest(u.name); near != "" {
			p.Message += "; did you mean " + near + "?"
		}
		problems = append(problems, p)
	}
	if s.cfg.StrictOptions {
		return problems
	}
	for _, p := range problems {
		c.warnings = append(c.warnings, brandNames(c.dialect).Replace(p.String()))
	}
	return nil
}

// forwardFamily begins the names whose rest is the client's own.
const forwardFamily = "Forward"

// callbackFamilies begin the names of options within options.
var callbackFamilies = []string{"Callback-", "Failure-Callback-"}

// optionNames are all configuration names with a fixed spelling, without
// prefix, nested ones included.
var optionNames = func() (names []string) {
	for _, o := range options {
		names = append(names, o.name)
	}
	for _, o := range workflowOptions {
		names = append(names, o.name)
	}
	for _, family := range callbackFamilies {
		for _, name := range slices.Clone(names[:len(options)+len(workflowOptions)]) {
			names = append(names, family+name)
		}
	}
	return append(names, "Cron", "Schedule-Id")
}()

// nearest is the configuration name that an unknown one resembles, in the
// spelling of where it was given; "" when none comes close.
func nearest(name string) string {
	given := strings.ToLower(name[len(configPrefix):])
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
	case strings.HasPrefix(name, configPrefix):
		return textproto.CanonicalMIMEHeaderKey(configPrefix + best)
	}
	return strings.ToLower(configPrefix + best)
}
