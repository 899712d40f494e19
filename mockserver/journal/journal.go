package journal

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/memory"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Limit is how many entries each journal of an account keeps; the oldest
// go first. Their bytes are bounded by the server, see Forget.
const Limit = 10_000

// Message is one half of an exchange.
type Message struct {
	Status int // of a response; 0 when none came
	Header http.Header
	Body   []byte

	whole   int  // bytes of a body that is cut or dropped
	dropped bool // header and body were dropped to make room
}

// Clip cuts the body for whoever does not want the whole of a large one, at the
// end of a character where it is text; 0 leaves it. The bytes are shared.
func (m *Message) Clip(most int) {
	if most <= 0 || len(m.Body) <= most {
		return
	}
	end := most
	for i := 1; i < utf8.UTFMax && i < end && !utf8.RuneStart(m.Body[end]); i++ {
		end--
	}
	m.whole, m.Body = len(m.Body), m.Body[:end]
}

// messageJSON writes bodies as text where they are, else as base64.
type messageJSON struct {
	Status     int         `json:"status,omitempty"`
	Headers    http.Header `json:"headers,omitempty"`
	Body       string      `json:"body,omitempty"`
	BodyBase64 string      `json:"bodyBase64,omitempty"`
	BodyBytes  int         `json:"bodyBytes,omitempty"`   // of the whole body, when this is its beginning, or it was dropped
	Dropped    bool        `json:"bodyDropped,omitempty"` // header and body were dropped to make room
}

// MarshalJSON writes the message.
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON{Status: m.Status, Headers: m.Header, BodyBytes: m.whole, Dropped: m.dropped}
	if utf8.Valid(m.Body) {
		out.Body = string(m.Body)
	} else {
		out.BodyBase64 = base64.StdEncoding.EncodeToString(m.Body)
	}
	return json.Marshal(out)
}

// Exchange is one request to the interface and its answer.
type Exchange struct {
	At          int64    `json:"at"` // Unix ms, when it was answered, see Server.stamp
	OperationID string   `json:"operationId,omitempty"`
	Account     string   `json:"account"`
	Method      string   `json:"method"`
	Path        string   `json:"path"` // with its query
	Request     Message  `json:"request"`
	Response    Message  `json:"response"`
	Problems    []string `json:"problems,omitempty"` // what was refused

	documents [2]bool // see MarkDocuments
}

// MarkDocuments says which of the bodies are documents of the interface, whose
// credentials are hidden, and not what a message carries.
func (x *Exchange) MarkDocuments(request, response bool) { x.documents = [2]bool{request, response} }

// Delivery is one attempt, as it went over the wire.
type Delivery struct {
	At         int64   `json:"at"`               // Unix ms, on the account's clock
	RealAt     int64   `json:"realAt,omitempty"` // Unix ms of the wall clock, when it was over; not in a server that repeats
	MessageID  string  `json:"messageId"`
	Role       string  `json:"role"`
	Attempt    int     `json:"attempt"` // 0 for the first
	URL        string  `json:"url"`
	Method     string  `json:"method"`
	Request    Message `json:"request"`
	Response   Message `json:"response"`
	Error      string  `json:"error,omitempty"` // why no response came
	Note       string  `json:"note,omitempty"`  // why the body of the response is not the whole answer
	Stubbed    bool    `json:"stubbed,omitempty"`
	NearMiss   string  `json:"nearMiss,omitempty"` // no stub matched: which came closest, and why it did not
	DurationMs float64 `json:"durationMs"`         // wall time; 0 in a server that repeats, unless a stub says
}

// Clip cuts the bodies of both halves.
func (x *Exchange) Clip(most int) { x.Request.Clip(most); x.Response.Clip(most) }

// Clip cuts the bodies of both halves.
func (d *Delivery) Clip(most int) { d.Request.Clip(most); d.Response.Clip(most) }

// hide takes the credentials out of an entry before it is shown. What a message
// carries stays whole. Journals hold headers and bodies as they were: most
// entries are never looked at.
func (x *Exchange) hide() {
	x.Request.hide(x.documents[0])
	x.Response.hide(x.documents[1])
}

func (d *Delivery) hide() {
	role := engine.Role(d.Role)
	d.Request.hide(role == engine.RoleCallback || role == engine.RoleFailureCallback) // headers and URLs of another message
	d.Response.hide(false)
}

func (m *Message) hide(document bool) {
	m.Header = mask.Header(m.Header)
	if document {
		m.Body = mask.JSON(m.Body)
	}
}

// halves are the messages of an entry, and the bytes of what else it holds.
func (x *Exchange) halves() (request, response *Message, rest int) {
	return &x.Request, &x.Response, len(x.Path)
}

func (d *Delivery) halves() (request, response *Message, rest int) {
	return &d.Request, &d.Response, len(d.URL) + len(d.Error) + len(d.NearMiss)
}

// Entry is what a journal keeps: an Exchange or a Delivery.
type Entry[T any] interface {
	*T
	halves() (request, response *Message, rest int)
	hide()
}

// entryCost is what an entry takes beside its texts, headers and bodies, in bytes.
const entryCost = 500

// entrySize is about what an entry takes, in bytes.
func entrySize[T any, E Entry[T]](e E) int64 {
	request, response, rest := e.halves()
	return int64(entryCost + rest + request.size() + response.size())
}

func (m *Message) size() int { return len(m.Body) + HeaderSize(m.Header) }

// drop lets go of header and body.
func (m *Message) drop() {
	if m.size() > 0 {
		m.whole, m.dropped = len(m.Body), true
		m.Header, m.Body = nil, nil
	}
}

// Exchanges and Deliveries are the two journals of an account.
type (
	Exchanges  = Journal[Exchange, *Exchange]
	Deliveries = Journal[Delivery, *Delivery]
)

// Journal keeps the latest entries, up to its bounds. Its lock is held for
// looking and copying only: credentials are hidden after it was given back, since
// that takes as long as the bodies are large.
type Journal[T any, E Entry[T]] struct {
	memory  *memory.Ledger // counts the bytes, those of other journals as well
	bytes   atomic.Int64
	mu      sync.Mutex
	entries []T // entries[first:] are kept
	first   int
	bare    int           // entries[first:bare] are without headers and bodies
	dropped int           // how many the bounds have cost since the journal was last emptied
	emptied int           // how many entries there were before that; positions go on behind them
	added   chan struct{} // closed by the next entry; nil while nobody waits
}

// CountIn lets a ledger count the bytes of the entries. It comes before the
// first entry.
func (j *Journal[T, E]) CountIn(ledger *memory.Ledger) { j.memory = ledger }

// Observed is the bytes of the entries. It takes no lock.
func (j *Journal[T, E]) Observed() int64 { return j.bytes.Load() }

func (j *Journal[T, E]) count(bytes int64) {
	j.bytes.Add(bytes)
	j.memory.AddObserved(bytes)
}

// Forget drops at least the given bytes: headers and bodies from the oldest
// entry on, then, once none are left, the older half of the entries.
func (j *Journal[T, E]) Forget(bytes int64) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	before := j.bytes.Load()
	for ; j.bare < len(j.entries) && before-j.bytes.Load() < bytes; j.bare++ {
		e := E(&j.entries[j.bare])
		was := entrySize(e)
		request, response, _ := e.halves()
		request.drop()
		response.drop()
		j.count(entrySize(e) - was)
	}
	if before-j.bytes.Load() < bytes {
		j.shed((len(j.entries) - j.first + 1) / 2)
	}
	return before - j.bytes.Load()
}

// shed lets go of the oldest n entries.
func (j *Journal[T, E]) shed(n int) {
	for range n {
		var none T
		j.count(-entrySize(E(&j.entries[j.first])))
		j.entries[j.first] = none // lets go of what it holds
		j.first++
		j.dropped++
	}
	j.bare = max(j.bare, j.first)
	if j.first > len(j.entries)/2 {
		n := copy(j.entries, j.entries[j.first:])
		clear(j.entries[n:])
		j.entries, j.bare, j.first = j.entries[:n], j.bare-j.first, 0
	}
}

// Next tells of the next entry.
func (j *Journal[T, E]) Next() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.added == nil {
		j.added = make(chan struct{})
	}
	return j.added
}

// Add appends an entry, wakes who waits for it, and drops the oldest beyond Limit.
func (j *Journal[T, E]) Add(e T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.added != nil {
		close(j.added)
		j.added = nil
	}
	j.entries = append(j.entries, e)
	j.count(entrySize(E(&e)))
	j.shed(max(0, len(j.entries)-j.first-Limit))
}

// List gives the latest entries that match, oldest first, at most limit of
// them, and how many the journal has had to drop.
func (j *Journal[T, E]) List(limit int, matches func(*T) bool) (entries []T, dropped int) {
	entries, dropped = j.find(limit, matches)
	return withoutCredentials[T, E](entries), dropped
}

func (j *Journal[T, E]) find(limit int, matches func(*T) bool) (entries []T, dropped int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if limit <= 0 {
		limit = Limit
	}
	found := []T{}
	for i := len(j.entries) - 1; i >= j.first && len(found) < limit; i-- {
		if matches(&j.entries[i]) {
			found = append(found, j.entries[i])
		}
	}
	slices.Reverse(found)
	return found, j.dropped
}

// withoutCredentials are entries, copied out of a journal, without credentials.
func withoutCredentials[T any, E Entry[T]](entries []T) []T {
	for i := range entries {
		E(&entries[i]).hide()
	}
	return entries
}

// Clear forgets all entries, and how many were dropped. Who waits for the next
// one goes on waiting.
func (j *Journal[T, E]) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.count(-j.bytes.Load())
	j.emptied += j.dropped + len(j.entries) - j.first
	j.entries, j.first, j.bare, j.dropped = nil, 0, 0, 0
}

// End is the position behind all entries. A position counts all entries that
// there ever were.
func (j *Journal[T, E]) End() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.emptied + j.dropped + len(j.entries) - j.first
}

// Since is what came after a position, a part of it at most, and the position
// behind that.
func (j *Journal[T, E]) Since(position int) (entries []T, end int, more <-chan struct{}) {
	more = j.Next()
	j.mu.Lock()
	kept := j.entries[j.first:]
	end = j.emptied + j.dropped + len(kept)
	kept = kept[len(kept)-min(max(end-position, 0), len(kept)):]
	if rest := len(kept) - MaxBatch; rest > 0 {
		kept, end, more = kept[:MaxBatch], end-rest, closedChannel
	}
	entries = slices.Clone(kept)
	j.mu.Unlock()
	return withoutCredentials[T, E](entries), end, more
}

// HeaderSize is about what a header takes on the wire, in bytes: HTTP/1.1 puts
// four more around each name and value.
func HeaderSize(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}

// closedChannel is a sign that has been given.
var closedChannel = func() <-chan struct{} {
	sign := make(chan struct{})
	close(sign)
	return sign
}()

// MaxBatch is how many entries a follower has in hand at once: one who reads
// slowly must not keep what the bound of memory has dropped.
const MaxBatch = 8
