package state

import (
	"maps"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/formula"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Limits of the options (decided: 8, 31).
const (
	DefaultRetries = 3 // so four attempts
	DefaultTimeout = 15 * time.Minute
)

// Options configure one message. The zero value of a field means "not set", so
// that a group's defaults can stand in.
type Options struct {
	Method          string
	Delay           time.Duration
	NotBefore       time.Time // wins over Delay
	Retries         *int
	RetryDelay      *formula.Formula
	Timeout         time.Duration
	Callback        *Callback
	FailureCallback *Callback
	HeaderForward   bool
	Labels          []string
	Flow            *FlowControl
	DedupID         string
	DedupContent    bool
	Redact          *Redaction
	Queue           string
	Forward         Header    // of a callback or a group: headers for the destination
	Workflow        *Workflow // protocol fields of a workflow message
	Hops            int       // deliveries of this server to itself that led to the message
	Dialect         string    // of the publisher: what is sent speaks it; "": the account's
}

// Callback is where and how the outcome of a message is reported. URL may be
// empty in options that only refine a callback set elsewhere.
type Callback struct {
	URL     string
	Options Options
}

// FlowControl puts a message under a flow-control key. Zero Parallelism or
// Rate means no such limit; Period is 1 s when not given.
type FlowControl struct {
	Key         string
	Parallelism int
	Rate        int
	Period      time.Duration
}

// Redaction says what logs and DLQ show as REDACTED:<sha256>.
type Redaction struct {
	Body    bool
	Headers bool     // all of them
	Names   []string // these, canonical
}

// Workflow holds the protocol fields of a message that belongs to a run
// (wire.md, "Headers of a trigger").
type Workflow struct {
	Init         *bool
	RunID        string
	Header       Header // of a restart: configuration headers that take the place of the original's
	URL          string
	CallType     string // step, toCallback, fromCallback, failureCall
	Invoke       bool
	Features     []string
	SDKVersion   string
	TriggerBySDK bool
	CreatedAt    time.Time // the incarnation meant, zero for any
}

// Has reports whether the feature set names f.
func (w *Workflow) Has(f string) bool {
	if w == nil {
		return false
	}
	for _, g := range w.Features {
		if strings.EqualFold(f, g) {
			return true
		}
	}
	return false
}

// follower is what has options of its own, and inherits others from the message
// or run that it follows.
type follower int

const (
	stepFollower        follower = iota // a later call of a run, from the trigger
	RetryFollower                       // the message of a DLQ retry, from the failed one
	RestartFollower                     // the run of a restart or resume, from the failed one
	CallbackFollower                    // a callback, from the message that it reports on
	RunCallbackFollower                 // a callback within a run, from the trigger as well
	followerCount
)

// inheritance is what a follower does with one option.
type inheritance int

const (
	ownValue       inheritance = iota // it has what it sets itself
	inheritedValue                    // what it does not set itself comes from what it follows
	imposedValue                      // it always has that of what it follows
	noValue                           // it has none, whatever it sets
)

// option is all that the engine does with an option, except what the option is
// for. Groups, whose options are defaults, need no column: they use merge alone.
type option struct {
	fields  string                     // of Options, separated by blanks
	merge   func(o, d *Options)        // takes over from d what o does not set
	clear   func(o *Options)           // sets nothing
	follows [followerCount]inheritance // in the order of the followers
}

// optionTable has every field of Options exactly once (option_test.go). The columns
// are the followers: step, DLQ retry, restart, callback, callback within a run.
// Sorted.
var optionTable []option

// init, since the options of a callback are merged by the table as well.
func init() {
	optionTable = []option{
		fieldOption("Callback", mergeCallback, func(o *Options) **Callback { return &o.Callback }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("DedupContent", takeDefault, func(o *Options) *bool { return &o.DedupContent }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("DedupID", takeDefault, func(o *Options) *string { return &o.DedupID }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		{ // one option: what sets neither takes both
			fields: "Delay NotBefore",
			merge: func(o, d *Options) {
				if o.Delay == 0 && o.NotBefore.IsZero() {
					o.Delay, o.NotBefore = d.Delay, d.NotBefore
				}
			},
			clear:   func(o *Options) { o.Delay, o.NotBefore = 0, time.Time{} },
			follows: [followerCount]inheritance{}, // the delay of what failed is long over
		},
		fieldOption("Dialect", takeDefault, func(o *Options) *string { return &o.Dialect }, imposedValue, inheritedValue, inheritedValue, imposedValue, imposedValue),
		fieldOption("FailureCallback", mergeCallback, func(o *Options) **Callback { return &o.FailureCallback }, inheritedValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("Flow", mergeFlow, func(o *Options) **FlowControl { return &o.Flow }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Forward", mergeForward, func(o *Options) *Header { return &o.Forward }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("HeaderForward", takeDefault, func(o *Options) *bool { return &o.HeaderForward }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Hops", takeLarger, func(o *Options) *int { return &o.Hops }, inheritedValue, inheritedValue, inheritedValue, imposedValue, inheritedValue),
		fieldOption("Labels", takeDefaultList, func(o *Options) *[]string { return &o.Labels }, inheritedValue, inheritedValue, inheritedValue, inheritedValue, inheritedValue),
		fieldOption("Method", takeDefault, func(o *Options) *string { return &o.Method }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("Queue", takeDefault, func(o *Options) *string { return &o.Queue }, ownValue, inheritedValue, inheritedValue, noValue, ownValue), // a callback shares the turn of its message
		fieldOption("Redact", takeDefault, func(o *Options) **Redaction { return &o.Redact }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Retries", takeDefault, func(o *Options) **int { return &o.Retries }, inheritedValue, inheritedValue, inheritedValue, inheritedValue, inheritedValue),
		fieldOption("RetryDelay", takeDefault, func(o *Options) **formula.Formula { return &o.RetryDelay }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Timeout", takeDefault, func(o *Options) *time.Duration { return &o.Timeout }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Workflow", takeDefault, func(o *Options) **Workflow { return &o.Workflow }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
	}
}

// fieldOption is the option that is one field.
func fieldOption[T any](field string, merge func(v *T, d T), at func(*Options) *T, follows ...inheritance) option {
	return option{
		fields:  field,
		merge:   func(o, d *Options) { merge(at(o), *at(d)) },
		clear:   func(o *Options) { *at(o) = *at(new(Options)) },
		follows: [followerCount]inheritance(follows),
	}
}

// Over lays o over the defaults d: what o sets stays (decided: 10).
func (o Options) Over(d Options) Options {
	for i := range optionTable {
		optionTable[i].merge(&o, &d)
	}
	return o
}

// Following are the options of a follower which sets o itself.
func (o Options) Following(f follower, source *Options) Options {
	for i := range optionTable {
		row := &optionTable[i]
		how := row.follows[f]
		if how == imposedValue || how == noValue {
			row.clear(&o)
		}
		if how == imposedValue || how == inheritedValue {
			row.merge(&o, source)
		}
	}
	return o
}

// takeDefault takes the default where nothing is set.
func takeDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// takeDefaultList takes the default where the list is empty.
func takeDefaultList(v *[]string, d []string) {
	if len(*v) == 0 {
		*v = d
	}
}

// takeLarger is for what adds up along the way of a message, such as its hops.
func takeLarger(v *int, d int) { *v = max(*v, d) }

// mergeForward merges by name: a header that is set keeps all of its values.
func mergeForward(h *Header, d Header) { *h = MergeHeader(*h, d) }

// mergeCallback lays one callback over another. Neither is changed.
func mergeCallback(c **Callback, d *Callback) {
	if *c == nil || d == nil {
		takeDefault(c, d)
		return
	}
	merged := Callback{URL: (*c).URL, Options: (*c).Options.Over(d.Options)}
	takeDefault(&merged.URL, d.URL)
	*c = &merged
}

// mergeFlow lays flow control over another part by part: key, and value.
// Neither is changed.
func mergeFlow(f **FlowControl, d *FlowControl) {
	if *f == nil || d == nil {
		takeDefault(f, d)
		return
	}
	merged := **f
	takeDefault(&merged.Key, d.Key)
	if merged.Parallelism == 0 && merged.Rate == 0 {
		merged.Parallelism, merged.Rate, merged.Period = d.Parallelism, d.Rate, d.Period
	}
	*f = &merged
}

// MergeHeader lays h over d. Neither is changed.
func MergeHeader(h, d Header) Header {
	if len(d) == 0 {
		return h
	}
	if len(h) == 0 {
		return d
	}
	m := make(Header, len(h)+len(d))
	maps.Copy(m, d)
	maps.Copy(m, h)
	return m
}

// Overriding lays o over the options of what failed.
func (o Options) Overriding(f follower, failed *Options) (*Options, error) {
	opts := o.Following(f, failed)
	return &opts, opts.Check()
}

// Check refuses what only the merged options show.
func (o *Options) Check() error {
	if f := o.Flow; f != nil && (f.Key == "" || f.Parallelism <= 0 && f.Rate <= 0) {
		return refusal.OfValue("flow control", "", "incomplete", "a key and at least one of parallelism and rate")
	}
	if o.RetryDelay != nil {
		return o.RetryDelay.Check(o.EffectiveRetries())
	}
	return nil
}

// EffectiveTimeout is how long an attempt may take.
func (o *Options) EffectiveTimeout() time.Duration {
	if o.Timeout == 0 {
		return DefaultTimeout
	}
	return o.Timeout
}

// EffectiveRetries is how many retries the options allow.
func (o *Options) EffectiveRetries() int {
	if o.Retries == nil {
		return DefaultRetries
	}
	return *o.Retries
}
