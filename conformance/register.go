package conformance

import (
	"context"
	"reflect"
	"regexp"
	"sync"

	"github.com/cucumber/godog"
	"github.com/understudy-mock/understudy/conformance/harness"
)

// scenario is one scenario with what its steps know, area by area. Steps are its
// methods.
type scenario struct {
	*harness.Scenario

	publish  publishing
	group    grouping
	flow     flowing
	runs     running
	stats    statistics
	vectors  vectorizing
	searched searching
	plugin   limiting
	extra    extending
}

type scenarioKey struct{}

// of is the scenario that a step belongs to.
func of(ctx context.Context) *scenario {
	s, _ := ctx.Value(scenarioKey{}).(*scenario)
	return s
}

// newScenario is a scenario that no step has been made of.
func newScenario(s *harness.Scenario) *scenario {
	own := &scenario{Scenario: s}
	s.Context = context.WithValue(s.Context, scenarioKey{}, own)
	return own
}

// step is a line of the step table: a pattern, and the method of *scenario that
// it runs, whose arguments are the groups of the pattern.
type step struct {
	keyword string // Given, When or Then: And and But take that of the line before
	pattern string
	do      any
}

// stepTable is every step there is, compiled once.
var stepTable = sync.OnceValue(func() []compiledStep {
	var all []compiledStep
	for _, area := range stepAreas() {
		for _, st := range area.steps {
			all = append(all, compiledStep{st, regexp.MustCompile("^" + st.pattern + "$")})
		}
	}
	return all
})

type compiledStep struct {
	step
	expression *regexp.Regexp
}

// register gives the table to godog. Steps stand at the level of the suite and
// find their scenario in the context, so that they are compiled once.
func register(sc *godog.ScenarioContext) {
	for _, st := range stepTable() {
		f := bound(st.do)
		switch st.keyword {
		case "Given":
			sc.Given(st.expression, f)
		case "When":
			sc.When(st.expression, f)
		default:
			sc.Then(st.expression, f)
		}
	}
}

// bound makes a function that godog calls out of a method of *scenario: the
// context takes the place of the receiver.
func bound(method any) any {
	m := reflect.ValueOf(method)
	t := m.Type()
	in := []reflect.Type{reflect.TypeFor[context.Context]()}
	for i := 1; i < t.NumIn(); i++ {
		in = append(in, t.In(i))
	}
	f := reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[error]()}, false)
	return reflect.MakeFunc(f, func(args []reflect.Value) []reflect.Value {
		ctx, _ := reflect.TypeAssert[context.Context](args[0])
		args[0] = reflect.ValueOf(of(ctx))
		return m.Call(args)
	}).Interface()
}
