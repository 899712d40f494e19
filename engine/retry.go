package engine

import (
	"fmt"
	"math"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// maxWait is the longest wait before a retry (decided: 31).
const maxWait = 24 * time.Hour

// defaultBackoff is the wait before retry n, 1 for the first: min(86400, e^(2.5 n))
// seconds, whole seconds (decided: 31).
func defaultBackoff(n int) time.Duration {
	seconds := math.Exp(2.5 * float64(n))
	if seconds >= maxWait.Seconds() {
		return maxWait
	}
	return time.Duration(seconds) * time.Second
}

// retryWait says how long to wait before the next attempt of m, and by which
// rule. m.Retried counts the retries made so far.
func (a *Account) retryWait(m *Message, o *Outcome) (wait time.Duration, rule string) {
	if name, wait, ok := retryAfter(o.Header, a.now); ok {
		return wait, name
	}
	if f := m.Options.RetryDelay; f != nil {
		return f.Delay(m.Retried), a.headerName(m.Options, "Retry-Delay") + " " + f.String()
	}
	return defaultBackoff(m.Retried + 1), "backoff"
}

// resetHeaders may set the wait, the first that does wins (wire.md, "Retries").
var resetHeaders = []string{"Retry-After", "X-Ratelimit-Reset", "X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens"}

// retryAfter reads the wait that a destination asks for: seconds, a duration
// such as 6m5s, or an HTTP date. A wait beyond one day does not count.
func retryAfter(h Header, now time.Time) (name string, wait time.Duration, ok bool) {
	for _, name := range resetHeaders {
		v := h[textproto.CanonicalMIMEHeaderKey(name)]
		if len(v) == 0 {
			continue
		}
		if wait, ok := parseWait(strings.TrimSpace(v[0]), now); ok && wait <= maxWait {
			return name, wait, true
		}
	}
	return "", 0, false
}

func parseWait(s string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		if !(seconds >= 0 && seconds <= 10*maxWait.Seconds()) {
			return 0, false
		}
		return time.Duration(seconds * float64(time.Second)), true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d, d >= 0
	}
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, s); err == nil {
			return max(0, t.Sub(now)), true
		}
	}
	return 0, false
}

// Formula computes the wait before a retry in milliseconds from `retried`, 0
// for the first retry (wire.md, "Retries").
type Formula struct {
	text    string
	program *vm.Program
}

var formulaText = regexp.MustCompile(`^[0-9a-z+\-*/()., ]+$`)

// foreignOperator is what the expression language knows beyond formulas: power
// and comments.
var foreignOperator = regexp.MustCompile(`[*/][*/]`)

// maxFormula bounds the text of a formula, in bytes.
const maxFormula = 512

const formulaTerms = "numbers, retried, + - * / ( ), pow sqrt abs exp floor ceil round min max"

// ParseFormula compiles a formula and tries it for the first retry.
func ParseFormula(text string) (*Formula, error) {
	if len(text) > maxFormula || !formulaText.MatchString(text) || foreignOperator.MatchString(text) {
		return nil, refusal.OfValue("retry delay", text, "", fmt.Sprintf("a formula in ms of at most %d characters over %s", maxFormula, formulaTerms))
	}
	program, err := expr.Compile(text, formulaOptions()...)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		return nil, refusal.OfValue("retry delay", text, why, "a formula in ms over "+formulaTerms)
	}
	f := &Formula{text: text, program: program}
	return f, f.check(1)
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

// check tries the formula for the given number of retries.
func (f *Formula) check(retries int) error {
	for n := range min(max(retries, 1), 100) {
		if ms, err := f.eval(n); err != nil || math.IsNaN(ms) || math.IsInf(ms, 0) || ms < 0 {
			return refusal.OfValue("retry delay", f.text, fmt.Sprintf("gives %v ms for retried=%d", ms, n), "a formula that gives a finite number from 0 up")
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

// Delay is the wait before the next retry when so many have been made, at most
// 24 h. A formula without a usable value there gives the longest wait.
func (f *Formula) Delay(retried int) time.Duration {
	ms, err := f.eval(retried)
	if err != nil || !(ms >= 0 && ms < float64(maxWait.Milliseconds())) {
		return maxWait
	}
	return time.Duration(ms) * time.Millisecond
}

// String is the formula as given.
func (f *Formula) String() string { return f.text }

// MarshalText is the formula as given.
func (f *Formula) MarshalText() ([]byte, error) { return []byte(f.text), nil }

// UnmarshalText compiles a formula.
func (f *Formula) UnmarshalText(text []byte) error {
	parsed, err := ParseFormula(string(text))
	if err == nil {
		*f = *parsed
	}
	return err
}
