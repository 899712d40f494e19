package mockserver

import (
	"cmp"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
)

// setting is one configuration value and where it stood.
type setting struct {
	in, name string // header Svc-Retries, query svc-retries
	values   []string
}

// settings are the configuration of one publish, by canonical name without
// Svc-.
type settings map[string]setting

const configPrefix = "Svc-"

// headerSettings collects configuration from headers.
func headerSettings(h http.Header) settings {
	set := settings{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, configPrefix); ok && len(values) > 0 {
			set[rest] = setting{"header", name, values}
		} else if misspeltPrefix(name) != "" {
			set[name] = setting{"header", name, values} // which no option has
		}
	}
	return set
}

// withQuery adds what the query says; a header wins (decided: 10).
func (set settings) withQuery(q url.Values) settings {
	for name, values := range q {
		if !strings.EqualFold(name[:min(len(name), len(configPrefix))], configPrefix) {
			continue
		}
		key := textproto.CanonicalMIMEHeaderKey(name)
		rest, ok := strings.CutPrefix(key, configPrefix)
		if _, taken := set[rest]; ok && !taken {
			set[rest] = setting{"query", name, values}
		}
	}
	return set
}

// below is the part of the settings that configures a callback.
func (set settings) below(prefix string) settings {
	sub := settings{}
	for name, s := range set {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			sub[rest] = s
		}
	}
	return sub
}

// option reads one configuration value.
type option struct {
	name  string
	parse func(o *engine.Options, value string) error
}

// options is every configuration name that stands for one value. Sorted;
// option_test.go compares it with the document.
var options = []option{
	{"Callback", func(o *engine.Options, v string) error { return callbackURL(&o.Callback, v) }},
	{"Content-Based-Deduplication", func(o *engine.Options, v string) error { return parseBool(&o.DedupContent, v) }},
	{"Deduplication-Id", func(o *engine.Options, v string) error { return text(&o.DedupID, v, 1024) }},
	{"Delay", func(o *engine.Options, v string) error { return parseDuration(&o.Delay, v) }},
	{"Failure-Callback", func(o *engine.Options, v string) error { return callbackURL(&o.FailureCallback, v) }},
	{"Flow-Control-Key", flowKey},
	{"Flow-Control-Value", flowValue},
	{"Header-Forward", func(o *engine.Options, v string) error { return parseBool(&o.HeaderForward, v) }},
	{"Label", labels},
	{"Method", method},
	{"Not-Before", notBefore},
	{"Queue-Name", func(o *engine.Options, v string) error { return aName(&o.Queue, v) }},
	{"Redact-Fields", redactFields},
	{"Retries", retries},
	{"Retry-Delay", retryDelay},
	{"Timeout", parseTimeout},
}

// workflowOptions are the protocol fields of a workflow message. Sorted.
var workflowOptions = []struct {
	name  string
	parse func(w *engine.Workflow, value string) error
}{
	{"Feature-Set", func(w *engine.Workflow, v string) error { w.Features = splitAll([]string{v}); return nil }},
	{"Workflow-Calltype", func(w *engine.Workflow, v string) error { return text(&w.CallType, v, 64) }},
	{"Workflow-Createdat", func(w *engine.Workflow, v string) error { return unixMilli(&w.CreatedAt, v) }},
	{"Workflow-Init", func(w *engine.Workflow, v string) error { w.Init = new(bool); return parseBool(w.Init, v) }},
	{"Workflow-Invoke", func(w *engine.Workflow, v string) error { return parseBool(&w.Invoke, v) }},
	{"Workflow-Runid", func(w *engine.Workflow, v string) error { return text(&w.RunID, v, 512) }},
	{"Workflow-Sdk-Version", func(w *engine.Workflow, v string) error { return text(&w.SDKVersion, v, 64) }},
	{"Workflow-Trigger-By-Sdk", func(w *engine.Workflow, v string) error { return parseBool(&w.TriggerBySDK, v) }},
	{"Workflow-Url", func(w *engine.Workflow, v string) error { w.URL = v; return urlFault(v) }},
}

// elsewhere are names that mean something, but not here.
var elsewhere = []string{"Cron", "Schedule-Id", "Warning"}

// parse reads settings into options. It returns the names that nobody knows,
// and every value that is refused.
func (set settings) parse() (o engine.Options, unknown []setting, problems []spec.Problem) {
	known := 0
	for _, row := range options {
		s, ok := set[row.name]
		if !ok {
			continue
		}
		known++
		if row.name == "Label" {
			s.values = []string{strings.Join(s.values, ",")}
		}
		problems = s.read(problems, func(v string) error { return row.parse(&o, v) })
	}
	if known < len(set) {
		problems = set.parseWorkflow(&o, problems)
		unknown, problems = set.parseFamilies(&o, problems)
	}
	return o, unknown, set.paired(problems)
}

// read hands the value to a parser; a value given twice is refused.
func (s setting) read(problems []spec.Problem, parse func(string) error) []spec.Problem {
	if len(s.values) > 1 {
		return append(problems, s.problem(refusal{"stands " + strconv.Itoa(len(s.values)) + " times", "one value"}))
	}
	if err := parse(s.values[0]); err != nil {
		return append(problems, s.problem(err))
	}
	return problems
}

func (set settings) parseWorkflow(o *engine.Options, problems []spec.Problem) []spec.Problem {
	for _, row := range workflowOptions {
		s, ok := set[row.name]
		if !ok {
			continue
		}
		if o.Workflow == nil {
			o.Workflow = &engine.Workflow{}
		}
		if row.name == "Feature-Set" { // some clients send one line for each
			s.values = []string{strings.Join(s.values, ",")}
		}
		problems = s.read(problems, func(v string) error { return row.parse(o.Workflow, v) })
	}
	return problems
}

// parseFamilies reads the names that go on after a prefix: Forward-NAME,
// Callback-OPTION, Failure-Callback-OPTION.
func (set settings) parseFamilies(o *engine.Options, problems []spec.Problem) ([]setting, []spec.Problem) {
	var unknown []setting
	for name, s := range set {
		if rest, ok := strings.CutPrefix(name, "Forward-"); ok && rest != "" {
			if o.Forward == nil {
				o.Forward = engine.Header{}
			}
			if rest = textproto.CanonicalMIMEHeaderKey(rest); !slices.Contains(ofTheHop, rest) {
				o.Forward[rest] = s.values
			}
		} else if !knownName(name) || misspeltProtocol(name) {
			unknown = append(unknown, s)
		}
	}
	for _, family := range []struct {
		prefix string
		target **engine.Callback
	}{{"Callback-", &o.Callback}, {"Failure-Callback-", &o.FailureCallback}} {
		sub := set.below(family.prefix)
		if len(sub) == 0 {
			continue
		}
		nested, odd, wrong := sub.parse()
		problems, unknown = append(problems, wrong...), append(unknown, odd...)
		if *family.target == nil {
			*family.target = &engine.Callback{}
		}
		(*family.target).Options = nested
	}
	slices.SortFunc(unknown, func(x, y setting) int { return strings.Compare(x.name, y.name) })
	return unknown, problems
}

func knownName(name string) bool {
	return slices.ContainsFunc(options, func(o option) bool { return o.name == name }) ||
		slices.Contains(elsewhere, name) || name == "Feature-Set" ||
		strings.HasPrefix(name, "Workflow-") || strings.HasPrefix(name, "Telemetry-") ||
		strings.HasPrefix(name, "Callback-") || strings.HasPrefix(name, "Failure-Callback-")
}

// refusal is why a value is not taken, and what is.
type refusal struct{ why, accepted string }

func (r refusal) Error() string { return r.why + "; accepted is " + r.accepted }

// problem says which value of which name is wrong.
func (s setting) problem(err error) spec.Problem {
	r, ok := err.(refusal) //nolint:errorlint // never wrapped
	if !ok {
		r = split(err, s.values[0])
	}
	return problem(s.in, s.name, strconv.Quote(shorten(s.values[0])), r.why, r.accepted)
}

// split takes an error of the engine apart: without the value, which the
// problem shows anyway.
func split(err error, value string) refusal {
	text := oneLine(strings.TrimSuffix(err.Error(), ": "+engine.ErrInvalid.Error()))
	if i := strings.Index(text, strconv.Quote(value)); i >= 0 {
		text = strings.TrimLeft(text[i+len(strconv.Quote(value)):], ": ")
	}
	for _, words := range []string{"; accepted is ", "; accepted are ", "accepted is ", "accepted are "} {
		if why, accepted, ok := strings.Cut(text, words); ok {
			return refusal{cmp.Or(why, "is not accepted"), accepted}
		}
	}
	return refusal{text, ""}
}

func shorten(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}

// paired refuses a flow-control key without value and a value without key.
func (set settings) paired(problems []spec.Problem) []spec.Problem {
	key, hasKey := set["Flow-Control-Key"]
	value, hasValue := set["Flow-Control-Value"]
	if hasKey == hasValue {
		return problems
	}
	given, have, want := key, "Key", "Value"
	if hasValue {
		given, have, want = value, "Value", "Key"
	}
	if given.in == "query" {
		have, want = strings.ToLower(have), strings.ToLower(want)
	}
	missing := strings.TrimSuffix(given.name, have) + want
	return append(problems, spec.Problem{In: given.in, Name: missing, Rule: "required", Message: "is missing beside " + given.name, Accepted: "flow-control key and value together"})
}

func parseBool(to *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "1", "":
		*to = true
	case "false", "0":
		*to = false
	default:
		return refusal{"is neither true nor false", "true or false"}
	}
	return nil
}

func text(to *string, v string, most int) error {
	if v == "" || len(v) > most {
		return refusal{fmt.Sprintf("has %d bytes", len(v)), fmt.Sprintf("text of 1 to %d bytes", most)}
	}
	*to = v
	return nil
}

func parseDuration(to *time.Duration, v string) error {
	d, err := engine.ParseDuration(v)
	if err != nil {
		return refusal{"is no duration", fmt.Sprintf("numbers with the units s, m, h, d, such as 50s or 1d10h30m, at most %dd", engine.MaxDelay/(24*time.Hour))}
	}
	*to = d
	return nil
}

func parseTimeout(o *engine.Options, v string) error {
	if err := parseDuration(&o.Timeout, v); err != nil {
		return err
	}
	if o.Timeout == 0 {
		return refusal{"leaves no time", "a duration from 1s up"}
	}
	return nil
}

func callbackURL(to **engine.Callback, v string) error {
	*to = &engine.Callback{URL: v}
	return urlFault(v)
}

// wholeNumber reads digits and nothing else.
func wholeNumber(v string, least, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most || v[0] == '+' || v[0] == '-' {
		return 0, refusal{"is no such number", fmt.Sprintf("a whole number from %d to %d", least, most)}
	}
	return n, nil
}

// most is the largest number of retries, parallelism or rate.
const most = 1_000_000_000

func retries(o *engine.Options, v string) error {
	n, err := wholeNumber(v, 0, most)
	o.Retries = &n
	return err
}

func retryDelay(o *engine.Options, v string) error {
	f, err := engine.ParseFormula(v)
	o.RetryDelay = f
	return err
}

var unixSeconds = regexp.MustCompile(`^\d{1,11}(\.\d+)?$`)

func notBefore(o *engine.Options, v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !unixSeconds.MatchString(v) {
		return refusal{"is no time", "Unix seconds"}
	}
	o.NotBefore = time.UnixMilli(int64(n * 1000))
	return nil
}

func unixMilli(to *time.Time, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return refusal{"is no time", "Unix ms"}
	}
	*to = time.UnixMilli(n)
	return nil
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func method(o *engine.Options, v string) error {
	o.Method = strings.ToUpper(v)
	if !slices.Contains(methods, o.Method) {
		return refusal{"is no method for a delivery", strings.Join(methods, ", ")}
	}
	return nil
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)

// aName reads what names queues and labels.
func aName(to *string, v string) error {
	if !plainName.MatchString(v) {
		return refusal{"is no name", "1 to 256 letters, digits, _, - and ."}
	}
	*to = v
	return nil
}

// maxLabels bounds the labels of one message.
const maxLabels = 100

func labels(o *engine.Options, v string) error {
	for label := range strings.SplitSeq(v, ",") {
		o.Labels = append(o.Labels, "")
		if err := aName(&o.Labels[len(o.Labels)-1], strings.TrimSpace(label)); err != nil {
			return refusal{"holds a label that is no name", "labels of 1 to 256 letters, digits, _, - and ., separated by commas"}
		}
	}
	if n := len(o.Labels); n > maxLabels {
		return refusal{fmt.Sprintf("holds %d labels", n), fmt.Sprintf("at most %d", maxLabels)}
	}
	return nil
}

func flowOf(o *engine.Options) *engine.FlowControl {
	if o.Flow == nil {
		o.Flow = &engine.FlowControl{}
	}
	return o.Flow
}

func flowKey(o *engine.Options, v string) error { return aFlowKey(&flowOf(o).Key, v) }

// flowValue reads parallelism=5, rate=10, period=1m in any order.
func flowValue(o *engine.Options, v string) error {
	f := flowOf(o)
	const accepted = "parallelism=N, rate=N, period=DURATION, each once, N and the period from 1 up, at least one of parallelism and rate"
	seen := map[string]bool{}
	for part := range strings.SplitSeq(v, ",") {
		name, value, _ := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if seen[name] {
			return refusal{"names " + name + " twice", accepted}
		}
		seen[name] = true
		var err error
		switch name {
		case "period":
			if err = parseDuration(&f.Period, value); err == nil && f.Period <= 0 {
				err = refusal{}
			}
		case "parallelism":
			f.Parallelism, err = wholeNumber(value, 1, most)
		case "rate":
			f.Rate, err = wholeNumber(value, 1, most)
		default:
			return refusal{fmt.Sprintf("names %q", shorten(name)), accepted}
		}
		if err != nil {
			return refusal{fmt.Sprintf("has a %s of %q", name, shorten(value)), accepted}
		}
	}
	if f.Rate == 0 && f.Parallelism == 0 {
		return refusal{"has neither parallelism nor rate", accepted}
	}
	return nil
}

func redactFields(o *engine.Options, v string) error {
	o.Redact = &engine.Redaction{}
	for field := range strings.SplitSeq(v, ",") {
		field = strings.TrimSpace(field)
		name, isHeader := strings.CutPrefix(strings.ToLower(field), "header[")
		switch {
		case strings.EqualFold(field, "body"):
			o.Redact.Body = true
		case strings.EqualFold(field, "header"):
			o.Redact.Headers = true
		case isHeader && strings.HasSuffix(name, "]") && len(name) > 1:
			o.Redact.Names = append(o.Redact.Names, textproto.CanonicalMIMEHeaderKey(strings.TrimSuffix(name, "]")))
		default:
			return refusal{fmt.Sprintf("names %q", shorten(field)), "body, header and header[NAME], separated by commas"}
		}
	}
	return nil
}

func splitAll(values []string) []string {
	var out []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}
