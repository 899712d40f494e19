package state

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// MaxWait is the longest wait before a retry (decided: 31).
const MaxWait = 24 * time.Hour

// Formula computes the wait before a retry in milliseconds from `retried`, 0
// for the first retry (wire.md, "Retries").
type Formula struct {
	text string
	wait term
}

// term is a part of a formula: it returns its value for a number of retries.
type term func(retried float64) float64

// Formulas have the syntax of expressions of Go, without comments.
var (
	characters = regexp.MustCompile(`^(?:[0-9a-z+\-*()., ]|/[0-9a-z+\-()., ])+$`)
	signs      = strings.NewReplacer("--", "- -", "++", "+ +") // separates signs that are one token in Go; must be applied twice
)

// maxFormula is the largest length of a formula, in bytes.
const maxFormula = 512

const formulaTerms = "numbers, retried, + - * / ( ), pow sqrt abs exp floor ceil round min max"

// ParseFormula compiles a formula and checks its value for the first retry.
func ParseFormula(text string) (*Formula, error) {
	if len(text) > maxFormula || !characters.MatchString(text) {
		return nil, refusal.OfValue("retry delay", text, "", fmt.Sprintf("a formula in ms of at most %d characters over %s", maxFormula, formulaTerms))
	}
	parsed, err := parser.ParseExpr(signs.Replace(signs.Replace(text)))
	f := &Formula{text: text}
	if err == nil {
		f.wait, err = compile(parsed)
	}
	if err != nil {
		return nil, refusal.OfValue("retry delay", text, err.Error(), "a formula in ms over "+formulaTerms)
	}
	return f, f.Check(1)
}

var (
	operators = map[token.Token]func(x, y float64) float64{
		token.ADD: func(x, y float64) float64 { return x + y },
		token.SUB: func(x, y float64) float64 { return x - y },
		token.MUL: func(x, y float64) float64 { return x * y },
		token.QUO: func(x, y float64) float64 { return x / y },
	}
	ofOne = map[string]func(x float64) float64{"sqrt": math.Sqrt, "abs": math.Abs, "exp": math.Exp, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round}
	ofTwo = map[string]func(x, y float64) float64{"pow": math.Pow, "min": math.Min, "max": math.Max}
)

// compile turns the syntax of a formula into its term.
func compile(e ast.Expr) (term, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return compile(e.X)
	case *ast.BasicLit:
		if v, err := strconv.ParseFloat(e.Value, 64); err == nil {
			return func(float64) float64 { return v }, nil
		}
	case *ast.Ident:
		if e.Name == "retried" {
			return func(retried float64) float64 { return retried }, nil
		}
		return nil, fmt.Errorf("unknown name %s", e.Name)
	case *ast.UnaryExpr:
		x, err := compile(e.X)
		switch e.Op {
		case token.ADD:
			return x, err
		case token.SUB:
			return func(retried float64) float64 { return -x(retried) }, err
		}
	case *ast.BinaryExpr:
		return apply(operators[e.Op], e.X, e.Y)
	case *ast.CallExpr:
		name, _ := e.Fun.(*ast.Ident)
		switch {
		case name == nil || e.Ellipsis.IsValid():
		case len(e.Args) == 1 && ofOne[name.Name] != nil:
			x, err := compile(e.Args[0])
			return func(retried float64) float64 { return ofOne[name.Name](x(retried)) }, err
		case len(e.Args) == 2 && ofTwo[name.Name] != nil:
			return apply(ofTwo[name.Name], e.Args[0], e.Args[1])
		default:
			return nil, fmt.Errorf("unknown function %s with %d arguments", name.Name, len(e.Args))
		}
	}
	return nil, fmt.Errorf("unexpected term at character %d", e.Pos())
}

// apply is the term that applies f to two terms.
func apply(f func(x, y float64) float64, left, right ast.Expr) (term, error) {
	if f == nil {
		return nil, fmt.Errorf("unknown operator before character %d", right.Pos())
	}
	x, wrongX := compile(left)
	y, wrongY := compile(right)
	return func(retried float64) float64 { return f(x(retried), y(retried)) }, errors.Join(wrongX, wrongY)
}

// Check evaluates the formula for the given number of retries, at most 100, and returns an
// error if a value is not a finite number of 0 or more.
func (f *Formula) Check(retries int) error {
	for n := range min(max(retries, 1), 100) {
		if ms := f.wait(float64(n)); math.IsNaN(ms) || math.IsInf(ms, 0) || ms < 0 {
			return refusal.OfValue("retry delay", f.text, fmt.Sprintf("gives %v ms for retried=%d", ms, n), "a formula that gives a finite number of 0 or more")
		}
	}
	return nil
}

// Delay returns the wait before the next retry after retried retries, at most 24 h. If the
// formula has no usable value for it, the wait is 24 h.
func (f *Formula) Delay(retried int) time.Duration {
	ms := f.wait(float64(retried))
	if !(ms >= 0 && ms < float64(MaxWait.Milliseconds())) {
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
	parsed, err := ParseFormula(string(text))
	if err == nil {
		*f = *parsed
	}
	return err
}
