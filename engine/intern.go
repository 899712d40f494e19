package engine

import "time"

// maxInterned bounds what the interners remember; then they start afresh. A
// missed share costs memory, never truth.
const maxInterned = 4096

// interner lets messages with equal headers share one map.
type interner struct {
	known map[string]Header
}

func (in *interner) share(h Header) Header {
	if len(h) == 0 {
		return nil
	}
	key := headerKey(h)
	if known, ok := in.known[key]; ok {
		return known
	}
	if in.known == nil || len(in.known) >= maxInterned {
		in.known = map[string]Header{}
	}
	in.known[key] = h
	return h
}

// optionInterner lets messages with the same plain options share one value.
type optionInterner struct {
	known map[plainOptions]*Options
}

// plainOptions are those that most messages have, and that compare.
type plainOptions struct {
	method    string
	delay     time.Duration
	notBefore int64
	retries   int // -1 when not set
	timeout   time.Duration
	forward   bool
	queue     string
	hops      int
	dialect   string
}

// share is o on the heap, or an equal one that is there already.
func (in *optionInterner) share(o Options) *Options {
	if o.RetryDelay != nil || o.Callback != nil || o.FailureCallback != nil || o.Labels != nil || o.Flow != nil || o.DedupID != "" ||
		o.DedupContent || o.Redact != nil || o.Forward != nil || o.Workflow != nil {
		return &o
	}
	key := plainOptions{o.Method, o.Delay, o.NotBefore.UnixNano(), -1, o.Timeout, o.HeaderForward, o.Queue, o.Hops, o.Dialect}
	if o.Retries != nil {
		key.retries = *o.Retries
	}
	if known := in.known[key]; known != nil {
		return known
	}
	if in.known == nil || len(in.known) >= maxInterned {
		in.known = map[plainOptions]*Options{}
	}
	in.known[key] = &o
	return &o
}
