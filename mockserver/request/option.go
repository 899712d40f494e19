package request

import (
	"cmp"
	"fmt"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// option says how a configuration value is read and shown. The engine has a table
// with the effect of each.
type option struct {
	name  string
	parse func(o *engine.Options, value string) error
	show  func(o *engine.Options) any // the fields of responses that show it; nil: none
}

// optionTable has all configuration names with one value, sorted. option_test.go
// compares it with the document and with the options of the engine.
var optionTable = []option{
	{
		"Callback", func(o *engine.Options, v string) error { return callbackURL(&o.Callback, v) },
		func(o *engine.Options) any { return struct{ Callback *string }{callbackOf(o.Callback)} },
	},
	{"Content-Based-Deduplication", func(o *engine.Options, v string) error { return parseBool(&o.DedupContent, v) }, nil},
	{"Deduplication-Id", func(o *engine.Options, v string) error { return ReadText(&o.DedupID, v, 1024) }, nil},
	{
		"Delay", func(o *engine.Options, v string) error { return ReadDuration(&o.Delay, v) },
		func(o *engine.Options) any {
			return struct{ Delay *int }{response.Optional(int(o.Delay / time.Second))}
		},
	},
	{
		"Failure-Callback", func(o *engine.Options, v string) error { return callbackURL(&o.FailureCallback, v) },
		func(o *engine.Options) any { return struct{ FailureCallback *string }{callbackOf(o.FailureCallback)} },
	},
	{"Flow-Control-Key", SetFlowKey, showFlowKey},
	{"Flow-Control-Value", SetFlowValue, showFlowValue},
	{"Header-Forward", func(o *engine.Options, v string) error { return parseBool(&o.HeaderForward, v) }, nil},
	{"Label", parseLabels, showLabels},
	{"Method", parseMethod, func(o *engine.Options) any { return struct{ Method string }{cmp.Or(o.Method, http.MethodPost)} }},
	{"Not-Before", notBefore, nil}, // responses show the time that results from it and the delay
	{
		"Queue-Name", func(o *engine.Options, v string) error { return ReadName(&o.Queue, v) },
		func(o *engine.Options) any { return struct{ QueueName *string }{response.Optional(o.Queue)} },
	},
	{"Redact-Fields", redactFields, nil},
	{"Retries", parseRetries, showRetries},
	{"Retry-Delay", retryDelay, showRetryDelay},
	{
		"Timeout", parseTimeout,
		func(o *engine.Options) any {
			return struct{ Timeout *int }{response.Optional(int(o.Timeout / time.Second))}
		},
	},
}

// ShowOptions sets the fields of a response body that show options.
func ShowOptions(o *engine.Options, answer any) {
	for i := range optionTable {
		if show := optionTable[i].show; show != nil {
			response.CopyFields(answer, show(o))
		}
	}
}

// workflowOptions are the protocol fields of a workflow message. Sorted.
var workflowOptions = []struct {
	name  string
	parse func(w *engine.Workflow, value string) error
}{
	{"Feature-Set", func(w *engine.Workflow, v string) error { w.Features = splitAll([]string{v}); return nil }},
	{"Workflow-Calltype", func(w *engine.Workflow, v string) error { return ReadText(&w.CallType, v, 64) }},
	{"Workflow-Createdat", func(w *engine.Workflow, v string) error { return ReadUnixMilli(&w.CreatedAt, v) }},
	{"Workflow-Init", func(w *engine.Workflow, v string) error { w.Init = new(bool); return parseBool(w.Init, v) }},
	{"Workflow-Invoke", func(w *engine.Workflow, v string) error { return parseBool(&w.Invoke, v) }},
	{"Workflow-Runid", func(w *engine.Workflow, v string) error { return ReadText(&w.RunID, v, 512) }},
	{"Workflow-Sdk-Version", func(w *engine.Workflow, v string) error { return ReadText(&w.SDKVersion, v, 64) }},
	{"Workflow-Trigger-By-Sdk", func(w *engine.Workflow, v string) error { return parseBool(&w.TriggerBySDK, v) }},
	{"Workflow-Url", func(w *engine.Workflow, v string) error { w.URL = v; return urlFault(v) }},
}

// parseBool accepts an empty value as true: a header without a value enables its
// option.
func parseBool(to *bool, v string) error {
	switch strings.ToLower(v) {
	case "true", "1", "":
		*to = true
	case "false", "0":
		*to = false
	default:
		return response.Unfit("", "true or false")
	}
	return nil
}

// ReadText accepts text of 1 to most bytes.
func ReadText(to *string, v string, most int) error {
	if v == "" || len(v) > most {
		return response.Unfit(fmt.Sprintf("%d bytes", len(v)), fmt.Sprintf("text of 1 to %d bytes", most))
	}
	*to = v
	return nil
}

// ReadDuration reads a duration of the interface.
func ReadDuration(to *time.Duration, v string) error {
	d, err := duration.Parse(v)
	if err != nil {
		return err
	}
	*to = d
	return nil
}

func parseTimeout(o *engine.Options, v string) error {
	if err := ReadDuration(&o.Timeout, v); err != nil {
		return err
	}
	if o.Timeout == 0 {
		return response.Unfit("", "a duration of 1s or more")
	}
	return nil
}

func callbackOf(c *engine.Callback) *string {
	if c == nil {
		return nil
	}
	return response.Optional(c.URL)
}

// callbackURL sets the URL of a callback and checks it.
func callbackURL(to **engine.Callback, v string) error {
	*to = &engine.Callback{URL: v}
	return urlFault(v)
}

// wholeNumber reads an integer without a sign.
func wholeNumber(v string, least, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most || v[0] == '+' || v[0] == '-' {
		return 0, response.Unfit("", fmt.Sprintf("an integer from %d to %d", least, most))
	}
	return n, nil
}

// maxNumber is the largest number of retries, parallelism or rate.
const maxNumber = 1_000_000_000

// parseRetries sets a pointer, because nil means that a group or the default decides.
func parseRetries(o *engine.Options, v string) error {
	n, err := wholeNumber(v, 0, maxNumber)
	o.Retries = &n
	return err
}

func showRetries(o *engine.Options) any {
	n := engine.DefaultRetries
	if o.Retries != nil {
		n = *o.Retries
	}
	return struct{ Retries *int }{&n}
}

func retryDelay(o *engine.Options, v string) error {
	f, err := engine.ParseFormula(v)
	o.RetryDelay = f
	return err
}

func showRetryDelay(o *engine.Options) any {
	if o.RetryDelay == nil {
		return struct{}{}
	}
	return struct{ RetryDelayExpression *string }{response.Optional(o.RetryDelay.String())}
}

var unixSeconds = regexp.MustCompile(`^\d{1,11}(\.\d+)?$`)

// notBefore accepts fractions of a second, which some clients send.
func notBefore(o *engine.Options, v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !unixSeconds.MatchString(v) {
		return response.Unfit("", "a time in Unix seconds")
	}
	o.NotBefore = time.UnixMilli(int64(n * 1000))
	return nil
}

// ReadUnixMilli reads a time in Unix ms.
func ReadUnixMilli(to *time.Time, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return response.Unfit("", "a time in Unix ms")
	}
	*to = time.UnixMilli(n)
	return nil
}

var deliveryMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// parseMethod accepts upper and lower case.
func parseMethod(o *engine.Options, v string) error {
	o.Method = strings.ToUpper(v)
	if !slices.Contains(deliveryMethods, o.Method) {
		return response.Unfit("", "one of "+strings.Join(deliveryMethods, ", "))
	}
	return nil
}

// notInName reports characters that are not allowed in names of queues and labels.
func notInName(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z'
	return !letter && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
}

// ReadName reads the name of a queue or a label.
func ReadName(to *string, v string) error {
	if v == "" || len(v) > 256 || strings.ContainsFunc(v, notInName) {
		return response.Unfit("", "1 to 256 letters, digits, _, - and .")
	}
	*to = v
	return nil
}

// maxLabels bounds the labels of one message.
const maxLabels = 100

// parseLabels appends: a label may be given several times, and several in one value.
func parseLabels(o *engine.Options, v string) error {
	for label := range strings.SplitSeq(v, ",") {
		o.Labels = append(o.Labels, "")
		if err := ReadName(&o.Labels[len(o.Labels)-1], strings.TrimSpace(label)); err != nil {
			return response.Unfit("", "labels of 1 to 256 letters, digits, _, - and ., separated by commas")
		}
	}
	if n := len(o.Labels); n > maxLabels {
		return response.Unfit(fmt.Sprintf("%d labels", n), fmt.Sprintf("at most %d labels", maxLabels))
	}
	return nil
}

// showLabels shows all labels, and the first one also in a field of its own.
func showLabels(o *engine.Options) any {
	if len(o.Labels) == 0 {
		return struct{}{}
	}
	return struct {
		Label  *string
		Labels *[]string
	}{&o.Labels[0], &o.Labels}
}

func flowOf(o *engine.Options) *engine.FlowControl {
	if o.Flow == nil {
		o.Flow = &engine.FlowControl{}
	}
	return o.Flow
}

// SetFlowKey reads a flow-control key. The overrides of a restart may have a key
// without a value.
func SetFlowKey(o *engine.Options, v string) error { return ReadFlowKey(&flowOf(o).Key, v) }

// SetFlowValue reads parallelism=5, rate=10, period=1m in any order.
func SetFlowValue(o *engine.Options, v string) error {
	f := flowOf(o)
	const accepted = "parallelism=N, rate=N and period=DURATION, separated by commas, each at most once; N is an integer of 1 or more, and one of parallelism and rate is required"
	seen := map[string]bool{}
	for part := range strings.SplitSeq(v, ",") {
		name, value, _ := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if seen[name] {
			return response.Unfit("duplicate "+name, accepted)
		}
		seen[name] = true
		var err error
		switch name {
		case "period":
			if err = ReadDuration(&f.Period, value); err == nil && f.Period <= 0 {
				err = response.Unfit("", accepted)
			}
		case "parallelism":
			f.Parallelism, err = wholeNumber(value, 1, maxNumber)
		case "rate":
			f.Rate, err = wholeNumber(value, 1, maxNumber)
		default:
			return response.Unfit(fmt.Sprintf("unknown part %q", refusal.Shorten(name)), accepted)
		}
		if err != nil {
			return response.Unfit(fmt.Sprintf("invalid %s %q", name, refusal.Shorten(value)), accepted)
		}
	}
	if f.Rate == 0 && f.Parallelism == 0 {
		return response.Unfit("neither parallelism nor rate", accepted)
	}
	return nil
}

func showFlowKey(o *engine.Options) any {
	if o.Flow == nil {
		return struct{}{}
	}
	return struct{ FlowControlKey *string }{response.Optional(o.Flow.Key)}
}

// showFlowValue shows the parts; the period is 1 s when not given.
func showFlowValue(o *engine.Options) any {
	if o.Flow == nil {
		return struct{}{}
	}
	rate, period := response.Optional(o.Flow.Rate), int(max(o.Flow.Period, time.Second)/time.Second)
	return struct{ Rate, RatePerSecond, Parallelism, Period *int }{rate, rate, response.Optional(o.Flow.Parallelism), &period}
}

// redactFields replaces an earlier value. It stores header names in canonical form,
// for comparison.
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
			return response.Unfit(fmt.Sprintf("unknown field %q", refusal.Shorten(field)), "body, header and header[NAME], separated by commas")
		}
	}
	return nil
}

func splitAll(values []string) []string {
	var out []string
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			part = strings.TrimSpace(part)
			switch {
			case part == "":
			case out == nil:
				out = append(make([]string, 0, 1+strings.Count(v, ",")), part)
			default:
				out = append(out, part)
			}
		}
	}
	return out
}

// FlowText formats a flow-control value: without blanks, the period in seconds.
func FlowText(f *engine.FlowControl) string {
	var parts []string
	if f.Parallelism > 0 {
		parts = append(parts, "parallelism="+strconv.Itoa(f.Parallelism))
	}
	if f.Rate > 0 {
		parts = append(parts, "rate="+strconv.Itoa(f.Rate))
	}
	return strings.Join(append(parts, "period="+strconv.Itoa(int(max(f.Period, time.Second)/time.Second))), ",")
}

// ReadFlowKey reads a flow-control key: any text that a header can carry, of at most
// 256 bytes. The document gives no limit ("Flow-control key").
func ReadFlowKey(to *string, v string) error {
	if v == "" || len(v) > 256 || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
		return response.Unfit("", "1 to 256 bytes of text without control characters")
	}
	*to = v
	return nil
}
