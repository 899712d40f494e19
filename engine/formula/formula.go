// Package formula computes the wait before a retry.
//
//	f, err := formula.Parse("1000 * pow(2, retried)")
//	wait := f.Delay(3)
//
// A formula is arithmetic on the number of retries so far. It has no side effects, does not
// depend on the time, and always terminates. In JSON, a formula is its text.
package formula

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// MaxWait is the longest wait before a retry (decided: 31).
const MaxWait = 24 * time.Hour

// Formula computes the wait before a retry in milliseconds from `retried`, 0
// for the first retry (wire.md, "Retries").
type Formula struct {
	text    string
	program *vm.Program
}

var formulaText = regexp.MustCompile(`^[0-9a-z+\-*/()., ]+$`)

// foreignOperator matches operators of the expression language that formulas do not have:
// power (**) and comments.
var foreignOperator = regexp.MustCompile(`[*/][*/]`)

// maxFormula is the largest length of a formula, in bytes.
const maxFormula = 512

const formulaTerms = "numbers, retried, + - * / ( ), pow sqrt abs exp floor ceil round min max"

// Parse compiles a formula and checks its value for the first retry.
func Parse(text string) (*Formula, error) {
	if len(text) > maxFormula || !formulaText.MatchString(text) || foreignOperator.MatchString(text) {
		return nil, refusal.OfValue("retry delay", text, "", fmt.Sprintf("a formula in ms of at most %d characters over %s", maxFormula, formulaTerms))
	}
	program, err := expr.Compile(text, formulaOptions()...)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		return nil, refusal.OfValue("retry delay", text, why, "a formula in ms over "+formulaTerms)
	}
	f := &Formula{text: text, program: program}
	return f, f.Check(1)
}

func formulaOptions() []expr.Option {
	one := func(f func(float64) float64) func(...any) (any, error) {
		return func(v ...any) (any, error) { return f(toFloat(v[0])), nil }
	}
	two := func(f func(x, y float64) float64) func(...any) (any, error) {
		return func(v ...any) (any, error) { return f(toFloat(v[0]), toFloat(v[1])), nil }
	}
	opts := []expr.Option{
		expr.Env(map[string]any{"retried": 0.0}),
		expr.DisableAllBuiltins(),
		expr.AsFloat64(),
		expr.MaxNodes(200),
	}
	for name, f := range map[string]func(float64) float64{
		"sqrt": math.Sqrt, "abs": math.Abs, "exp": math.Exp, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round,
	} {
		opts = append(opts, expr.Function(name, one(f), new(func(float64) float64), new(func(int) float64)))
	}
	for name, f := range map[string]func(x, y float64) float64{"pow": math.Pow, "min": math.Min, "max": math.Max} {
		opts = append(opts, expr.Function(name, two(f),
			new(func(float64, float64) float64), new(func(int, float64) float64),
			new(func(float64, int) float64), new(func(int, int) float64)))
	}
	return opts
}

func toFloat(v any) float64 {
	switch n := v.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return math.NaN()
}

// Check evaluates the formula for the given number of retries, at most 100, and returns an
// error if a value is not a finite number of 0 or more.
func (f *Formula) Check(retries int) error {
	for n := range min(max(retries, 1), 100) {
		if ms, err := f.eval(n); err != nil || math.IsNaN(ms) || math.IsInf(ms, 0) || ms < 0 {
			return refusal.OfValue("retry delay", f.text, fmt.Sprintf("gives %v ms for retried=%d", ms, n), "a formula that gives a finite number of 0 or more")
		}
	}
	return nil
}

func (f *Formula) eval(retried int) (float64, error) {
	v, err := expr.Run(f.program, map[string]any{"retried": float64(retried)})
	if err != nil {
		return math.NaN(), err
	}
	return toFloat(v), nil
}

// Delay returns the wait before the next retry after retried retries, at most 24 h. If the
// formula has no usable value for it, the wait is 24 h.
func (f *Formula) Delay(retried int) time.Duration {
	ms, err := f.eval(retried)
	if err != nil || !(ms >= 0 && ms < float64(MaxWait.Milliseconds())) {
		return MaxWait
	}
	return time.Duration(ms) * time.Millisecond
}

// String returns the formula as given.
func (f *Formula) String() string { return f.text }

// MarshalText returns the formula as given.
func (f *Formula) MarshalText() ([]byte, error) { return []byte(f.text), nil }

// UnmarshalText compiles a formula.
func (f *Formula) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*f = *parsed
	}
	return err
}
