package mockserver

import (
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
)

// setting is one configuration value and where it stood.
type setting struct {
	where  string // "header Svc-Retries", "query svc-retries"
	values []string
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
			set[rest] = setting{"header " + name, values}
		}
	}
	return set
}

// withQuery adds what the query says; a header wins (decided: open point 10).
func (set settings) withQuery(q url.Values) settings {
	for name, values := range q {
		key := textproto.CanonicalMIMEHeaderKey(name)
		rest, ok := strings.CutPrefix(key, configPrefix)
		if _, taken := set[rest]; ok && !taken {
			set[rest] = setting{"query " + name, values}
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
	{"Flow-Control-Key", func(o *engine.Options, v string) error { return flowKey(o, v) }},
	{"Flow-Control-Value", func(o *engine.Options, v string) error { return flowValue(o, v) }},
	{"Header-Forward", func(o *engine.Options, v string) error { return parseBool(&o.HeaderForward, v) }},
	{"Label", func(o *engine.Options, v string) error { return labels(o, v) }},
	{"Method", func(o *engine.Options, v string) error { return method(o, v) }},
	{"Not-Before", func(o *engine.Options, v string) error { return notBefore(o, v) }},
	{"Queue-Name", func(o *engine.Options, v string) error { return queueName(o, v) }},
	{"Redact-Fields", func(o *engine.Options, v string) error { return redactFields(o, v) }},
	{"Retries", func(o *engine.Options, v string) error { return retries(o, v) }},
	{"Retry-Delay", func(o *engine.Options, v string) error { return retryDelay(o, v) }},
	{"Timeout", func(o *engine.Options, v string) error { return parseTimeout(o, v) }},
}

// workflowOptions are the protocol fields of a workflow message. Sorted.
var workflowOptions = []struct {
	name  string
	parse func(w *engine.Workflow, values []string) error
}{
	{"Feature-Set", func(w *engine.Workflow, v []string) error { w.Features = splitAll(v); return nil }},
	{"Workflow-Calltype", func(w *engine.Workflow, v []string) error { w.CallType = v[0]; return nil }},
	{"Workflow-Createdat", func(w *engine.Workflow, v []string) error { return unixMilli(&w.CreatedAt, v[0]) }},
	{"Workflow-Init", func(w *engine.Workflow, v []string) error { w.Init = new(bool); return parseBool(w.Init, v[0]) }},
	{"Workflow-Invoke", func(w *engine.Workflow, v []string) error { return parseBool(&w.Invoke, v[0]) }},
	{"Workflow-Runid", func(w *engine.Workflow, v []string) error { return text(&w.RunID, v[0], 512) }},
	{"Workflow-Sdk-Version", func(w *engine.Workflow, v []string) error { w.SDKVersion = v[0]; return nil }},
	{"Workflow-Trigger-By-Sdk", func(w *engine.Workflow, v []string) error { return parseBool(&w.TriggerBySDK, v[0]) }},
	{"Workflow-Url", func(w *engine.Workflow, v []string) error { w.URL = v[0]; return checkURL("workflow URL", v[0]) }},
}

// elsewhere are names that mean something, but not here.
var elsewhere = []string{"Cron", "Schedule-Id", "Warning"}

// parse reads settings into options. It returns the names that nobody knows.
func (set settings) parse() (o engine.Options, unknown []string, err error) {
	known := 0
	for _, row := range options {
		s, ok := set[row.name]
		if !ok {
			continue
		}
		known++
		value := s.values[0]
		if row.name == "Label" {
			value = strings.Join(s.values, ",")
		}
		if err := row.parse(&o, value); err != nil {
			return o, nil, s.refuse(err)
		}
	}
	if known == len(set) {
		return o, nil, paired(&o, set)
	}
	if err := set.parseWorkflow(&o); err != nil {
		return o, nil, err
	}
	if unknown, err = set.parseFamilies(&o); err != nil {
		return o, nil, err
	}
	return o, unknown, paired(&o, set)
}

func (set settings) parseWorkflow(o *engine.Options) error {
	for _, row := range workflowOptions {
		s, ok := set[row.name]
		if !ok {
			continue
		}
		if o.Workflow == nil {
			o.Workflow = &engine.Workflow{}
		}
		if err := row.parse(o.Workflow, s.values); err != nil {
			return s.refuse(err)
		}
	}
	return nil
}

// parseFamilies reads the names that go on after a prefix: Forward-NAME,
// Callback-OPTION, Failure-Callback-OPTION.
func (set settings) parseFamilies(o *engine.Options) (unknown []string, err error) {
	for name, s := range set {
		if rest, ok := strings.CutPrefix(name, "Forward-"); ok && rest != "" {
			if o.Forward == nil {
				o.Forward = engine.Header{}
			}
			o.Forward[textproto.CanonicalMIMEHeaderKey(rest)] = s.values
		} else if !knownName(name) {
			unknown = append(unknown, strings.TrimPrefix(strings.TrimPrefix(s.where, "header "), "query "))
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
		nested, odd, err := sub.parse()
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, odd...)
		if *family.target == nil {
			*family.target = &engine.Callback{}
		}
		(*family.target).Options = nested
	}
	slices.Sort(unknown)
	return unknown, nil
}

func knownName(name string) bool {
	return slices.ContainsFunc(options, func(o option) bool { return o.name == name }) ||
		slices.Contains(elsewhere, name) || name == "Feature-Set" ||
		strings.HasPrefix(name, "Workflow-") || strings.HasPrefix(name, "Telemetry-") ||
		strings.HasPrefix(name, "Callback-") || strings.HasPrefix(name, "Failure-Callback-")
}

// nearest is the configuration name that most resembles an unknown one.
func nearest(name string) string {
	best, least := "", 1<<30
	for _, o := range options {
		if d := distance(strings.ToLower(strings.TrimPrefix(name, configPrefix)), strings.ToLower(o.name)); d < least {
			best, least = configPrefix+o.name, d
		}
	}
	return best
}

// distance is the number of edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// refuse says which value of which name is wrong.
func (s setting) refuse(err error) error {
	text := fmt.Sprintf("%s: %s", s.where, oneLine(strings.TrimSuffix(err.Error(), ": "+engine.ErrInvalid.Error())))
	where, name, _ := strings.Cut(s.where, " ")
	message, accepted, _ := strings.Cut(text, "; accepted")
	return invalid(text, problem(where, name, strconv.Quote(shorten(s.values[0])), message, strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(accepted, " is"), " are"), " ")))
}

func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// paired refuses a flow-control key without value and a value without key.
func paired(o *engine.Options, set settings) error {
	if o.Flow == nil {
		return nil
	}
	_, key := set["Flow-Control-Key"]
	_, value := set["Flow-Control-Value"]
	if key && value {
		return nil
	}
	missing := "Svc-Flow-Control-Value"
	if value {
		missing = "Svc-Flow-Control-Key"
	}
	return invalid("flow control: "+missing+" is missing; accepted are key and value together", problem("header", missing, "", "is missing", "key and value together"))
}

func parseBool(to *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "1", "":
		*to = true
	case "false", "0":
		*to = false
	default:
		return fmt.Errorf("%.40q; accepted are true and false", v)
	}
	return nil
}

func text(to *string, v string, most int) error {
	if v == "" || len(v) > most {
		return fmt.Errorf("%d characters; accepted are 1 to %d", len(v), most)
	}
	*to = v
	return nil
}

func parseDuration(to *time.Duration, v string) error {
	d, err := engine.ParseDuration(v)
	*to = d
	return err
}

func parseTimeout(o *engine.Options, v string) error {
	if err := parseDuration(&o.Timeout, v); err != nil {
		return err
	}
	if o.Timeout == 0 {
		return fmt.Errorf("%q; accepted is a duration from 1s up", v)
	}
	return nil
}

func callbackURL(to **engine.Callback, v string) error {
	*to = &engine.Callback{URL: v}
	return checkURL("callback", v)
}

func retries(o *engine.Options, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 1_000_000 {
		return fmt.Errorf("%.40q; accepted is a whole number from 0 up", v)
	}
	o.Retries = &n
	return nil
}

func retryDelay(o *engine.Options, v string) error {
	f, err := engine.ParseFormula(v)
	o.RetryDelay = f
	return err
}

func notBefore(o *engine.Options, v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n < 1e11) {
		return fmt.Errorf("%.40q; accepted is a time in Unix seconds", v)
	}
	o.NotBefore = time.UnixMilli(int64(n * 1000))
	return nil
}

func unixMilli(to *time.Time, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return fmt.Errorf("%.40q; accepted is a time in Unix ms", v)
	}
	*to = time.UnixMilli(n)
	return nil
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func method(o *engine.Options, v string) error {
	o.Method = strings.ToUpper(v)
	if !slices.Contains(methods, o.Method) {
		return fmt.Errorf("%.40q; accepted are %s", v, strings.Join(methods, ", "))
	}
	return nil
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)

func queueName(o *engine.Options, v string) error {
	if o.Queue = v; !plainName.MatchString(v) {
		return fmt.Errorf("%.80q; accepted are 1 to 256 letters, digits, _, - and .", v)
	}
	return nil
}

// maxLabels bounds the labels of one message.
const maxLabels = 100

func labels(o *engine.Options, v string) error {
	for _, label := range strings.Split(v, ",") {
		if label = strings.TrimSpace(label); !plainName.MatchString(label) {
			return fmt.Errorf("label %.80q; accepted are 1 to 256 letters, digits, _, - and ., several separated by commas", label)
		}
		o.Labels = append(o.Labels, label)
	}
	if len(o.Labels) > maxLabels {
		return fmt.Errorf("%d labels; accepted are at most %d", len(o.Labels), maxLabels)
	}
	return nil
}

func flowOf(o *engine.Options) *engine.FlowControl {
	if o.Flow == nil {
		o.Flow = &engine.FlowControl{}
	}
	return o.Flow
}

func flowKey(o *engine.Options, v string) error {
	if flowOf(o).Key = v; !plainName.MatchString(v) {
		return fmt.Errorf("%.80q; accepted are 1 to 256 letters, digits, _, - and .", v)
	}
	return nil
}

// flowValue reads parallelism=5, rate=10, period=1m in any order.
func flowValue(o *engine.Options, v string) error {
	f := flowOf(o)
	const accepted = "accepted is parallelism=N, rate=N, period=DURATION with N from 1 up, at least one of parallelism and rate"
	for _, part := range strings.Split(v, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		n, err := strconv.Atoi(value)
		switch {
		case !ok:
			return fmt.Errorf("%.80q; %s", part, accepted)
		case name == "period":
			d, err := engine.ParseDuration(value)
			if err != nil || d <= 0 {
				return fmt.Errorf("period %.40q; accepted is a duration from 1s up, such as 30s or 1m, or seconds", value)
			}
			f.Period = d
		case name != "parallelism" && name != "rate":
			return fmt.Errorf("%.40q; %s", name, accepted)
		case err != nil || n < 1 || n > 1_000_000_000:
			return fmt.Errorf("%s %.40q; %s", name, value, accepted)
		case name == "rate":
			f.Rate = n
		default:
			f.Parallelism = n
		}
	}
	if f.Rate == 0 && f.Parallelism == 0 {
		return fmt.Errorf("%.80q; %s", v, accepted)
	}
	return nil
}

func redactFields(o *engine.Options, v string) error {
	o.Redact = &engine.Redaction{}
	for _, field := range strings.Split(v, ",") {
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
			return fmt.Errorf("%.80q; accepted are body, header and header[NAME], separated by commas", field)
		}
	}
	return nil
}

func splitAll(values []string) []string {
	var out []string
	for _, v := range values {
		for _, part := range strings.Split(v, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}
