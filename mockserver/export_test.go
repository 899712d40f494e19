package mockserver

import (
	"net/textproto"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// Paced is a configuration whose connections have little time.
func Paced(cfg Config, idle, grace time.Duration) Config {
	cfg.pace = pace{idle, grace, defaultPace.rate}
	return cfg
}

func init() { strictEngine = true }

// OptionNames are the names of the option tables, in their order.
func OptionNames() []string {
	var names []string
	for _, o := range optionTable {
		names = append(names, configPrefix+o.name)
	}
	for _, o := range workflowOptions {
		names = append(names, configPrefix+o.name)
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
	set := settings{textproto.CanonicalMIMEHeaderKey(name): {"header", configPrefix + name, []string{value}}}
	o, _, problems := set.parse()
	return o, problems
}

// Shown is what answers show of options, by the name of the option.
func Shown(o engine.Options) map[string]any {
	shown := map[string]any{}
	for _, row := range optionTable {
		if row.show != nil {
			shown[row.name] = row.show(&o)
		}
	}
	return shown
}

// Destination reads what a publish names.
func Destination(path, query string) (url, group string, err error) {
	target, err := parseDestination(path, query)
	if err != nil {
		return "", "", err
	}
	r := engine.PublishRequest{}
	err = setDestination(&r, "path", target)
	return r.URL, r.Group, err
}

// WithHandlers runs f with another handler table, and then restores it. An
// operation that change adds, or sets to another mark than "", gets a handler
// of that kind.
func WithHandlers(change func(map[string]string), f func()) {
	saved := handlerTable
	defer func() { handlerTable = saved }()
	marks := map[string]string{}
	for id := range saved {
		marks[id] = ""
	}
	change(marks)
	handlerTable = map[string]handler{}
	for id, mark := range marks {
		switch mark {
		case "panics":
			handlerTable[id] = func(*Server, *call) (response.Response, error) { panic("a bug") }
		case "wrong":
			handlerTable[id] = func(*Server, *call) (response.Response, error) {
				return response.Response{Body: map[string]int{"current": 1}}, nil
			}
		case "unencodable":
			handlerTable[id] = func(*Server, *call) (response.Response, error) { return response.Response{Body: func() {}}, nil }
		default:
			handlerTable[id] = saved[id]
		}
	}
	f()
}

// FlowValue reads a flow-control value and writes it again.
func FlowValue(v string) (f engine.FlowControl, again string, err error) {
	o := engine.Options{}
	if err := flowValue(&o, v); err != nil {
		return engine.FlowControl{}, "", err
	}
	return *o.Flow, flowText(o.Flow), nil
}

// NotBuilt lists the operations of the document that no handler stands for.
func NotBuilt() (left []string) {
	doc, err := spec.Load()
	if err != nil {
		panic(err)
	}
	for _, op := range doc.Operations() {
		if handlerTable[op.ID] == nil {
			left = append(left, op.ID)
		}
	}
	return left
}

// CopyFields copies what two response bodies share.
func CopyFields(to, from any) { response.CopyFields(to, from) }
