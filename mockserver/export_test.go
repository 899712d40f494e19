package mockserver

import (
	"time"

	"github.com/understudy-mock/understudy/mockserver/listener"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// Paced is a configuration whose connections have little time.
func Paced(cfg Config, idle, grace time.Duration) Config {
	cfg.pace = listener.Pace{Idle: idle, Grace: grace, Rate: listener.DefaultPace.Rate}
	return cfg
}

func init() { strictEngine = true }

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
	handlerTable = table{}
	for id, mark := range marks {
		switch mark {
		case "panics":
			handlerTable[id] = func(*Server, *request.Call) (any, error) { panic("a bug") }
		case "wrong":
			handlerTable[id] = func(*Server, *request.Call) (any, error) {
				return response.Response{Body: map[string]int{"current": 1}}, nil
			}
		case "unencodable":
			handlerTable[id] = func(*Server, *request.Call) (any, error) { return response.Response{Body: func() {}}, nil }
		default:
			handlerTable[id] = saved[id]
		}
	}
	f()
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

// ParseQuery is parseQuery.
var ParseQuery = parseQuery
