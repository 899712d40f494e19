package request

import (
	"net/textproto"
	"slices"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// OptionNames are the names of the option tables, in their order.
func OptionNames() []string {
	var names []string
	for _, o := range optionTable {
		names = append(names, header.Prefix+o.name)
	}
	for _, o := range workflowOptions {
		names = append(names, header.Prefix+o.name)
	}
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	if slices.IsSorted(names[:len(optionTable)]) && slices.IsSorted(names[len(optionTable):]) {
		return sorted
	}
	return names
}

// ParseOption reads one configuration header.
func ParseOption(name, value string) (engine.Options, []spec.Problem) {
	set := Settings{{"header", header.Prefix + name, textproto.CanonicalMIMEHeaderKey(name), []string{value}}}
	o, _, problems := set.Parse()
	return o, problems
}

// Shown returns the fields of responses that show options, by the name of the option.
func Shown(o engine.Options) map[string]any {
	shown := map[string]any{}
	for _, row := range optionTable {
		if row.show != nil {
			shown[row.name] = row.show(&o)
		}
	}
	return shown
}

// The two checks of a URL.
var (
	IsPlainURL     = isPlainURL
	ParsedURLFault = parsedURLFault
)
