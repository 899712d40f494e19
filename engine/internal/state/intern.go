package state

import (
	"hash/maphash"
	"reflect"
	"slices"
)

// maxInterned is the largest number of values that an interner remembers; then it starts
// again empty. A value that is not shared only costs memory.
const maxInterned = 4096

// maxInternedBytes limits the headers that only the interner keeps in memory.
const maxInternedBytes = 4 << 20

// sumSeed is the hash seed of this process.
var sumSeed = maphash.MakeSeed()

// HeaderInterner lets equal headers share one map, and equal texts of headers one text.
type HeaderInterner struct {
	known map[uint64]Header // by hash
	bytes int64

	texts     map[string]string
	textBytes int64
}

// Pair is PairOf for a forwarded header that is made of several; the first one that has a name
// counts. It returns an equal pair if there is one.
func (in *HeaderInterner) Pair(published HeaderText, forward ...Header) HeaderPair {
	var few [2 * usualText]byte
	out := appendHeaders(appendText(few[:0], string(published)), forward...)
	if known, ok := in.texts[string(out)]; ok {
		return HeaderPair(known)
	}
	if len(out) == 1 { // only the length of no text
		return ""
	}
	return HeaderPair(out)
}

// ShareText replaces t by an equal text if there is one. It returns the bytes of t if t is the
// first of its kind, otherwise 0.
func ShareText[T HeaderText | HeaderPair](in *HeaderInterner, t *T) int64 {
	if *t == "" {
		return 0
	}
	if known, ok := in.texts[string(*t)]; ok {
		*t = T(known)
		return 0
	}
	if in.texts == nil {
		in.texts = map[string]string{}
	}
	if len(in.texts) >= maxInterned || in.textBytes > maxInternedBytes {
		clear(in.texts)
		in.textBytes = 0
	}
	in.texts[string(*t)] = string(*t)
	in.textBytes += int64(len(*t))
	return int64(len(*t))
}

// Intern replaces h by an equal map if there is one. It returns the bytes of h if h is the
// first of its kind, otherwise 0.
func (in *HeaderInterner) Intern(h *Header) int64 {
	if len(*h) == 0 {
		*h = nil
		return 0
	}
	sum := sumOfHeader(*h)
	if known := in.known[sum]; equalHeaders(known, *h) {
		*h = known
		return 0
	}
	bytes := HeaderBytes(*h)
	if in.known == nil {
		in.known = map[uint64]Header{}
	}
	if len(in.known) >= maxInterned || in.bytes > maxInternedBytes {
		clear(in.known)
		in.bytes = 0
	}
	in.known[sum] = *h
	in.bytes += bytes
	return bytes
}

// sumOfHeader returns a hash that does not depend on the order of the names.
func sumOfHeader(h Header) (sum uint64) {
	for name, values := range h {
		sum += thenSum(maphash.String(sumSeed, name), sumOfTexts(values))
	}
	return sum
}

func sumOfTexts(texts []string) (sum uint64) {
	for _, text := range texts {
		sum = thenSum(sum, maphash.String(sumSeed, text))
	}
	return sum
}

// thenSum returns the hash of two values in their order.
func thenSum(sum, next uint64) uint64 { return sum*1099511628211 + next }

// equalHeaders is fast for two headers that are one map, as those of the calls of a run are.
func equalHeaders(a, b Header) bool {
	if reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	for name, values := range a {
		if others, ok := b[name]; !ok || !slices.Equal(values, others) {
			return false
		}
	}
	return true
}

// maxSharedOptions is the largest length of options that are shared. Larger ones are rare.
const maxSharedOptions = 1 << 10

// length is approximately how many bytes of text options have.
func (o *Options) length() int64 {
	n := o.Size() + int64(len(o.DedupID))
	if o.Redact != nil {
		n += lengthOf(o.Redact.Names)
	}
	if o.Workflow != nil {
		n += int64(len(o.Workflow.URL)) + lengthOf(o.Workflow.Features)
	}
	return n
}

func lengthOf(texts []string) (n int64) {
	for _, text := range texts {
		n += int64(len(text))
	}
	return n
}

// OptionInterner lets messages with equal options share one value.
type OptionInterner struct {
	known map[uint64]*Options // by hash
	like  Options             // what Intern compares, here so that the options of its caller need not be on the heap
}

// Intern returns a copy of o on the heap, or an equal value that is already there.
func (in *OptionInterner) Intern(o *Options) *Options {
	in.like = *o
	sum := in.like.sum()
	if known := in.known[sum]; known != nil && known.equal(&in.like) {
		return known
	}
	kept := new(*o)
	if in.like.length() > maxSharedOptions {
		return kept
	}
	if in.known == nil {
		in.known = map[uint64]*Options{}
	}
	if len(in.known) >= maxInterned {
		clear(in.known)
	}
	in.known[sum] = kept
	return kept
}

// OriginInterner lets messages of equal origin share one value.
type OriginInterner struct{ known map[Origin]*Origin }

// Intern returns a copy of o on the heap, or an equal value that is already there. The
// origin of a callback or of a repetition is that of one message: it is not remembered.
func (in *OriginInterner) Intern(o Origin) *Origin {
	if known := in.known[o]; known != nil {
		return known
	}
	kept := new(o)
	if o.SourceID != "" || o.RetryOf != "" {
		return kept
	}
	if in.known == nil || len(in.known) >= maxInterned {
		in.known = map[Origin]*Origin{}
	}
	in.known[o] = kept
	return kept
}

// equal compares every option.
func (o *Options) equal(p *Options) bool {
	if o == p {
		return true
	}
	for i := range optionTable {
		if !optionTable[i].equal(o, p) {
			return false
		}
	}
	return true
}

// sum is a hash: equal options have equal sums.
func (o *Options) sum() (sum uint64) {
	for i := range optionTable {
		sum = thenSum(sum, optionTable[i].sum(o))
	}
	return sum
}

// plainWorkflow has the fields of Workflow that == can compare.
type plainWorkflow struct {
	init, hasInit, invoke, triggerBySDK bool
	runID, url, callType, sdkVersion    string
	createdAt                           int64
}

func (w *Workflow) plain() plainWorkflow {
	return plainWorkflow{
		w.Init != nil && *w.Init, w.Init != nil, w.Invoke, w.TriggerBySDK,
		w.RunID, w.URL, w.CallType, w.SDKVersion,
		w.CreatedAt.UnixNano(),
	}
}

func (w *Workflow) equal(v *Workflow) bool {
	return w.plain() == v.plain() && slices.Equal(w.Features, v.Features) && equalHeaders(w.Header, v.Header)
}

func (w *Workflow) sum() uint64 {
	return thenSum(thenSum(maphash.Comparable(sumSeed, w.plain()), sumOfTexts(w.Features)), sumOfHeader(w.Header))
}

func (r *Redaction) equal(s *Redaction) bool {
	return r.Body == s.Body && r.Headers == s.Headers && slices.Equal(r.Names, s.Names)
}

func (r *Redaction) sum() uint64 {
	return maphash.Comparable(sumSeed, [2]bool{r.Body, r.Headers}) + sumOfTexts(r.Names)
}

func (c *Callback) equal(d *Callback) bool { return c.URL == d.URL && c.Options.equal(&d.Options) }

func (c *Callback) sum() uint64 {
	return thenSum(maphash.String(sumSeed, c.URL), c.Options.sum())
}
