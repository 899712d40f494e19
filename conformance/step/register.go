package step

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"sync"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/harness"
)

// Scenario is the state of one scenario, by area. Its methods are the steps.
type Scenario struct {
	*harness.Scenario

	prepared publishing
	group    grouping
	flow     flowing
	runs     running
	stats    statistics
	searched searching
	plugin   hostState
	vectors  vectorizing
	worlds   *worlds
	answers  []*harness.Response // of several publishes, in order
}

type scenarioKey struct{}

// Of returns the scenario in the context of a step.
func Of(ctx context.Context) *Scenario {
	s, _ := ctx.Value(scenarioKey{}).(*Scenario)
	return s
}

// New returns a scenario before its first step, and stores it in the context of s.
func New(s *harness.Scenario) *Scenario {
	own := &Scenario{Scenario: s, prepared: publishing{header: http.Header{}, query: url.Values{}}}
	s.Context = context.WithValue(s.Context, scenarioKey{}, own)
	return own
}

// step is a row of the step table: a pattern and its implementation. Do is a method that takes the
// groups of the pattern as arguments, after the events of the run if it judges these, and returns an
// error, or nothing if it cannot fail.
type step struct {
	Keyword string // Given, When or Then; And and But have the keyword of the previous line
	Pattern string // a regular expression of the whole line
	Do      any
}

// stepTable returns all steps with their compiled patterns. It compiles them once.
var stepTable = sync.OnceValue(func() []compiledStep {
	var all []compiledStep
	for _, area := range stepAreas() {
		for _, st := range area.steps {
			all = append(all, compiledStep{st, regexp.MustCompile("^" + st.Pattern + "$")})
		}
	}
	return all
})

type compiledStep struct {
	step
	expression *regexp.Regexp
}

// Register registers all steps with godog. They are registered for the whole suite and find
// their scenario in the context, so that their patterns are compiled once.
func Register(sc *godog.ScenarioContext) {
	for _, st := range stepTable() {
		f := contextFirst(st.Do)
		switch st.Keyword {
		case "Given":
			sc.Given(st.expression, f)
		case "When":
			sc.When(st.expression, f)
		default:
			sc.Then(st.expression, f)
		}
	}
}

// contextFirst converts a method into a function for godog: the first argument is a context
// instead of the receiver, and a panic is an error of the suite.
func contextFirst(method any) any {
	m := reflect.ValueOf(method)
	t := m.Type()
	in, logged := []reflect.Type{reflect.TypeFor[context.Context]()}, false
	for i := 1; i < t.NumIn(); i++ {
		if t.In(i) == reflect.TypeFor[runLog]() {
			logged = true
			continue
		}
		in = append(in, t.In(i))
	}
	f := reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[error]()}, false)
	return reflect.MakeFunc(f, func(args []reflect.Value) []reflect.Value {
		ctx, _ := reflect.TypeAssert[context.Context](args[0])
		s := Of(ctx)
		call := func(own ...reflect.Value) error {
			out := m.Call(append(own, args[1:]...))
			if len(out) == 0 { // it only prepares values
				return nil
			}
			err, _ := reflect.TypeAssert[error](out[0])
			return err
		}
		err := harness.Guard(func() error {
			if !logged {
				return call(reflect.ValueOf(s))
			}
			return s.check(s.runs.id, func(log []any) error { return call(reflect.ValueOf(s), reflect.ValueOf(runLog(log))) })
		})
		return []reflect.Value{reflect.ValueOf(&err).Elem()}
	}).Interface()
}
