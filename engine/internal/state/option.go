package state

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Defaults of the options (decided: 8, 31).
const (
	DefaultRetries    = 3 // four attempts in all
	DefaultTimeout    = 15 * time.Minute
	DefaultRetryDelay = "min(86400, exp(2.5 * (retried + 1))) * 1000"
)

// Options configure one message. The zero value of a field means "not set", so that a
// default of a group can replace it.
type Options struct {
	Method          string
	Delay           time.Duration
	NotBefore       time.Time // takes precedence over Delay
	Retries         *int
	RetryDelay      *Formula
	Timeout         time.Duration
	TraceContext    string // of the publisher, as in its header traceparent, then that of tracestate after a space; "": none
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
	Hops            int       // how many deliveries of this server to itself led to the message
	Family          string    // the message from which it descends, "" for none
	Dialect         string    // of the publisher, used for what is sent; "": that of the account
}

// Callback is where and how the outcome of a message is reported. URL may be empty in
// options that only change a callback set elsewhere.
type Callback struct {
	URL     string
	Options Options
}

// FlowControl puts a message under a flow-control key. Zero Parallelism or
// Rate means no limit; Period is 1 s when not given.
type FlowControl struct {
	Key         string
	Parallelism int
	Rate        int
	Period      time.Duration
}

// Redaction lists what logs and the DLQ show as REDACTED:<sha256>.
type Redaction struct {
	Body    bool
	Headers bool     // all headers
	Names   []string // names of headers in canonical form
}

// Workflow holds the protocol fields of a message that belongs to a run
// (wire.md, "Headers of a trigger").
type Workflow struct {
	Init         *bool
	RunID        string
	Header       Header // of a restart: configuration headers that replace the original ones
	URL          string
	CallType     string // step, toCallback, fromCallback, failureCall
	Invoke       bool
	Features     []string
	SDKVersion   string
	TriggerBySDK bool
	CreatedAt    time.Time // creation time of the run that is meant; zero for any
}

// Has reports whether the client supports a feature; case does not matter.
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

// follower is a kind of message or run that inherits options from another one, its source.
type follower int

const (
	stepFollower        follower = iota // later call of a run; source: the trigger
	RetryFollower                       // message of a DLQ retry; source: the failed message
	RestartFollower                     // run of a restart or resume; source: the failed run
	CallbackFollower                    // callback; source: the message that it reports on
	RunCallbackFollower                 // callback within a run; source: also the trigger
	followerCount
)

// inheritance says where a follower gets an option from.
type inheritance int

const (
	ownValue       inheritance = iota // its own value
	inheritedValue                    // its own value, otherwise that of the source
	imposedValue                      // always that of the source
	noValue                           // always not set
)

// option says how one option is merged, inherited, shared and counted. Groups, whose options are
// defaults, need no column: they use merge only.
type option struct {
	fields  string                     // fields of Options, separated by spaces
	merge   func(o, d *Options)        // sets from d what o does not set
	clear   func(o *Options)           // removes the option
	equal   func(o, p *Options) bool   // whether two messages may share the option
	sum     func(o *Options) uint64    // a hash: equal options have equal ones
	size    func(o *Options) int64     // bytes besides the field
	follows [followerCount]inheritance // by follower
}

// optionTable has every field of Options exactly once (option_test.go), sorted by name. The
// columns are the followers: step, DLQ retry, restart, callback, callback within a run.
var optionTable []option

// init sets optionTable, because an initializer would be a cycle: mergeCallback refers to it.
func init() {
	texts := kind[[]string]{takeDefaultList, slices.Equal[[]string], sumOfTexts, lengthOf}
	headers := kind[Header]{mergeForward, equalHeaders, sumOfHeader, HeaderBytes}
	numbers := pointerKind(takeDefault, func(v, w *int) bool { return *v == *w }, func(v *int) uint64 { return uint64(*v) }, nil)
	flows := pointerKind(mergeFlow, func(v, w *FlowControl) bool { return *v == *w }, func(v *FlowControl) uint64 { return maphash.Comparable(sumSeed, *v) }, nil)
	callbacks := pointerKind(mergeCallback, (*Callback).equal, (*Callback).sum, func(c *Callback) int64 { return int64(len(c.URL)) + c.Options.Size() })
	redactions := pointerKind(mergeRedact, (*Redaction).equal, (*Redaction).sum, nil)
	workflows := pointerKind(takeDefault, (*Workflow).equal, (*Workflow).sum, func(w *Workflow) int64 { return HeaderBytes(w.Header) })
	formulas := pointerKind(takeDefault, func(f, g *Formula) bool { return f.String() == g.String() },
		func(f *Formula) uint64 { return maphash.String(sumSeed, f.String()) }, nil)
	optionTable = []option{
		fieldOption("Callback", callbacks, func(o *Options) **Callback { return &o.Callback }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("DedupContent", plainKind(takeDefault[bool]), func(o *Options) *bool { return &o.DedupContent }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("DedupID", plainKind(takeDefault[string]), func(o *Options) *string { return &o.DedupID }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		{ // one option of two fields: the default replaces both or neither
			fields: "Delay NotBefore",
			merge: func(o, d *Options) {
				if o.Delay == 0 && o.NotBefore.IsZero() {
					o.Delay, o.NotBefore = d.Delay, d.NotBefore
				}
			},
			clear:   func(o *Options) { o.Delay, o.NotBefore = 0, time.Time{} },
			equal:   func(o, p *Options) bool { return o.Delay == p.Delay && o.NotBefore.Equal(p.NotBefore) },
			sum:     func(o *Options) uint64 { return thenSum(uint64(o.Delay), uint64(o.NotBefore.UnixNano())) },
			size:    func(*Options) int64 { return 0 },
			follows: [followerCount]inheritance{}, // the delay of the failed message has passed
		},
		fieldOption("Dialect", plainKind(takeDefault[string]), func(o *Options) *string { return &o.Dialect }, imposedValue, inheritedValue, inheritedValue, imposedValue, imposedValue),
		fieldOption("FailureCallback", callbacks, func(o *Options) **Callback { return &o.FailureCallback }, inheritedValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("Family", plainKind(takeDefault[string]), func(o *Options) *string { return &o.Family }, inheritedValue, inheritedValue, inheritedValue, imposedValue, inheritedValue),
		fieldOption("Flow", flows, func(o *Options) **FlowControl { return &o.Flow }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Forward", headers, func(o *Options) *Header { return &o.Forward }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("HeaderForward", plainKind(takeDefault[bool]), func(o *Options) *bool { return &o.HeaderForward }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Hops", plainKind(takeLarger), func(o *Options) *int { return &o.Hops }, inheritedValue, inheritedValue, inheritedValue, imposedValue, inheritedValue),
		fieldOption("Labels", texts, func(o *Options) *[]string { return &o.Labels }, inheritedValue, inheritedValue, inheritedValue, inheritedValue, inheritedValue),
		fieldOption("Method", plainKind(takeDefault[string]), func(o *Options) *string { return &o.Method }, ownValue, inheritedValue, inheritedValue, ownValue, ownValue),
		fieldOption("Queue", plainKind(takeDefault[string]), func(o *Options) *string { return &o.Queue }, ownValue, inheritedValue, inheritedValue, noValue, ownValue), // a callback shares the turn of its message
		fieldOption("Redact", redactions, func(o *Options) **Redaction { return &o.Redact }, inheritedValue, inheritedValue, inheritedValue, inheritedValue, inheritedValue),
		fieldOption("Retries", numbers, func(o *Options) **int { return &o.Retries }, inheritedValue, inheritedValue, inheritedValue, inheritedValue, inheritedValue),
		fieldOption("RetryDelay", formulas, func(o *Options) **Formula { return &o.RetryDelay }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("Timeout", plainKind(takeDefault[time.Duration]), func(o *Options) *time.Duration { return &o.Timeout }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
		fieldOption("TraceContext", plainKind(takeDefault[string]), func(o *Options) *string { return &o.TraceContext }, inheritedValue, ownValue, ownValue, ownValue, inheritedValue), // others have a trace of their own
		fieldOption("Workflow", workflows, func(o *Options) **Workflow { return &o.Workflow }, inheritedValue, inheritedValue, inheritedValue, ownValue, inheritedValue),
	}
}

// kind is what options of one type have in common.
type kind[T any] struct {
	merge func(v *T, d T)
	equal func(v, w T) bool
	sum   func(v T) uint64
	size  func(v T) int64
}

// plainKind is for values without pointers.
func plainKind[T comparable](merge func(v *T, d T)) kind[T] {
	var zero T
	return kind[T]{merge, func(v, w T) bool { return v == w }, func(v T) uint64 {
		if v == zero {
			return 0
		}
		return maphash.Comparable(sumSeed, v)
	}, func(T) int64 { return 0 }}
}

// pointerKind is for options that are nil when they are not set.
func pointerKind[T any](merge func(v **T, d *T), equal func(v, w *T) bool, sum func(v *T) uint64, size func(v *T) int64) kind[*T] {
	return kind[*T]{merge, func(v, w *T) bool { return v == w || v != nil && w != nil && equal(v, w) }, func(v *T) uint64 {
		if v == nil {
			return 0
		}
		return 1 + sum(v)
	}, func(v *T) int64 {
		if v == nil || size == nil {
			return 0
		}
		return size(v)
	}}
}

// fieldOption returns an option that is one field.
func fieldOption[T any](field string, of kind[T], at func(*Options) *T, follows ...inheritance) option {
	return option{
		fields:  field,
		merge:   func(o, d *Options) { of.merge(at(o), *at(d)) },
		clear:   func(o *Options) { *at(o) = *at(new(Options)) },
		equal:   func(o, p *Options) bool { return of.equal(*at(o), *at(p)) },
		sum:     func(o *Options) uint64 { return of.sum(*at(o)) },
		size:    func(o *Options) int64 { return of.size(*at(o)) },
		follows: [followerCount]inheritance(follows),
	}
}

// Over merges o with the defaults d; values of o take precedence (decided: 10).
func (o Options) Over(d Options) Options {
	for i := range optionTable {
		optionTable[i].merge(&o, &d)
	}
	return o
}

// Following returns the options of a follower that sets o itself.
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

// takeDefault sets the default if nothing is set.
func takeDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// mergeRedact also hides what the default hides: a callback contains its source.
func mergeRedact(v **Redaction, d *Redaction) { *v = (*v).And(d) }

// takeDefaultList sets the default if the list is empty.
func takeDefaultList(v *[]string, d []string) {
	if len(*v) == 0 {
		*v = d
	}
}

// takeLarger keeps the larger value, for counts that grow along a chain of messages, such
// as hops.
func takeLarger(v *int, d int) { *v = max(*v, d) }

// mergeForward merges by name: a header that is set keeps all its values.
func mergeForward(h *Header, d Header) { *h = MergeHeader(*h, d) }

// mergeCallback merges two callbacks. Neither is changed.
func mergeCallback(c **Callback, d *Callback) {
	if *c == nil || d == nil {
		takeDefault(c, d)
		return
	}
	merged := Callback{URL: (*c).URL, Options: (*c).Options.Over(d.Options)}
	takeDefault(&merged.URL, d.URL)
	*c = &merged
}

// mergeFlow merges the key and the limits of flow control independently. Neither argument
// is changed.
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

// MergeHeader merges headers by name; those of h take precedence. Neither is changed.
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

// Overriding returns the options of a retry or restart that sets o itself, and checks them.
func (o Options) Overriding(f follower, failed *Options) (*Options, error) {
	opts := o.Following(f, failed)
	return &opts, opts.Check()
}

// Check finds errors that only the merged options show.
func (o *Options) Check() error {
	if f := o.Flow; f != nil && (f.Key == "" || f.Parallelism <= 0 && f.Rate <= 0) {
		return refusal.OfValue("flow control", "", "incomplete", "a key and at least one of parallelism and rate")
	}
	if o.RetryDelay != nil {
		return o.RetryDelay.Check(o.EffectiveRetries())
	}
	return nil
}

// EffectiveTimeout is the time limit of an attempt.
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
