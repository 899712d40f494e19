package engine

import "time"

// maxInterned bounds what the interners remember; then they start afresh. A
// missed share costs memory, never truth; intern_test.go holds that for every
// field of Options.
const maxInterned = 4096

// maxInternedBytes bounds the headers that the interner alone may keep alive.
const maxInternedBytes = 4 << 20

// interner lets messages with equal headers share one map.
type interner struct {
	known map[string]Header
	bytes int64
}

// share puts an equal map in the place of h, and returns the bytes of h when it
// is the first of its kind, else 0.
func (in *interner) share(h *Header) int64 {
	if len(*h) == 0 {
		*h = nil
		return 0
	}
	key := headerKey(*h)
	if known, ok := in.known[key]; ok {
		*h = known
		return 0
	}
	bytes := headerBytes(*h)
	if in.known == nil || len(in.known) >= maxInterned || in.bytes > maxInternedBytes {
		in.known, in.bytes = map[string]Header{}, 0
	}
	in.known[key] = *h
	in.bytes += bytes
	return bytes
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
