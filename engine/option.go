package engine

import (
	"maps"
	"strings"
	"time"
)

// Limits of the options (decided: open point 8 and 31).
const (
	DefaultRetries = 3 // so four attempts
	MaxDelay       = 365 * 24 * time.Hour
	DefaultTimeout = 15 * time.Minute
)

// Options configure one message. The zero value of a field means "not set", so
// that a group's defaults can stand in.
type Options struct {
	Method          string
	Delay           time.Duration
	NotBefore       time.Time // wins over Delay
	Retries         *int
	RetryDelay      *Formula
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
// (wire facts on workflows, section 1.2).
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

// Over lays o over the defaults d: what o sets stays (decided: open point 10).
func (o Options) Over(d Options) Options {
	pick(&o.Method, d.Method)
	if o.NotBefore.IsZero() && o.Delay == 0 {
		o.NotBefore, o.Delay = d.NotBefore, d.Delay
	}
	if o.Retries == nil {
		o.Retries = d.Retries
	}
	if o.RetryDelay == nil {
		o.RetryDelay = d.RetryDelay
	}
	pick(&o.Timeout, d.Timeout)
	o.Callback = over(o.Callback, d.Callback)
	o.FailureCallback = over(o.FailureCallback, d.FailureCallback)
	o.HeaderForward = o.HeaderForward || d.HeaderForward
	if len(o.Labels) == 0 {
		o.Labels = d.Labels
	}
	if o.Flow == nil {
		o.Flow = d.Flow
	}
	pick(&o.DedupID, d.DedupID)
	o.DedupContent = o.DedupContent || d.DedupContent
	if o.Redact == nil {
		o.Redact = d.Redact
	}
	pick(&o.Queue, d.Queue)
	o.Forward = mergeHeader(o.Forward, d.Forward)
	if o.Workflow == nil {
		o.Workflow = d.Workflow
	}
	o.Hops = max(o.Hops, d.Hops)
	pick(&o.Dialect, d.Dialect)
	return o
}

// pick takes the default where nothing is set.
func pick[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func over(c, d *Callback) *Callback {
	switch {
	case c == nil:
		return d
	case d == nil:
		return c
	}
	merged := Callback{URL: c.URL, Options: c.Options.Over(d.Options)}
	pick(&merged.URL, d.URL)
	return &merged
}

// mergeHeader lays h over d. Neither is changed.
func mergeHeader(h, d Header) Header {
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

// timeout is how long an attempt may take.
func (o *Options) timeout() time.Duration {
	if o.Timeout == 0 {
		return DefaultTimeout
	}
	return o.Timeout
}

// retries is how many retries the options allow.
func (o *Options) retries() int {
	if o.Retries == nil {
		return DefaultRetries
	}
	return *o.Retries
}
