package mockserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"unicode/utf8"
)

// The bounds of each journal of an account: entries, and bytes of their
// bodies. Whichever is reached first, the oldest entries go.
const (
	journalLimit = 10_000
	journalBytes = 64 << 20
)

// Message is one half of an exchange.
type Message struct {
	Status int // of a response; 0 when none came
	Header http.Header
	Body   []byte

	whole int // bytes of a body that is cut, see clip
}

// clip cuts the body for whoever does not want the whole of a large one, at the
// end of a character where it is text; 0 leaves it. The bytes are shared.
func (m *Message) clip(most int) {
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
	BodyBytes  int         `json:"bodyBytes,omitempty"` // of the whole body, when this is its beginning
}

// MarshalJSON writes the message.
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON{Status: m.Status, Headers: m.Header, BodyBytes: m.whole}
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
}

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
	Stubbed    bool    `json:"stubbed,omitempty"`
	NearMiss   string  `json:"nearMiss,omitempty"` // no stub matched: which came closest, and why it did not
	DurationMs float64 `json:"durationMs"`         // wall time; 0 in a server that repeats, unless a stub says
}

func (x *Exchange) clip(most int) { x.Request.clip(most); x.Response.clip(most) }

func (d *Delivery) clip(most int) { d.Request.clip(most); d.Response.clip(most) }

func (x Exchange) size() int { return len(x.Request.Body) + len(x.Response.Body) }

func (d Delivery) size() int { return len(d.Request.Body) + len(d.Response.Body) }

// journal keeps the latest entries, up to its bounds.
type journal[T interface{ size() int }] struct {
	mu      sync.Mutex
	limit   int
	entries []T // entries[first:] are kept
	first   int
	bytes   int
	dropped int           // how many the bounds have cost
	added   chan struct{} // closed by the next entry; nil while nobody waits
}

// next tells of the next entry.
func (j *journal[T]) next() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.added == nil {
		j.added = make(chan struct{})
	}
	return j.added
}

func (j *journal[T]) add(e T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.added != nil {
		close(j.added)
		j.added = nil
	}
	j.entries = append(j.entries, e)
	j.bytes += e.size()
	for kept := len(j.entries) - j.first; kept > j.limit || kept > 1 && j.bytes > journalBytes; kept-- {
		var none T
		j.bytes -= j.entries[j.first].size()
		j.entries[j.first] = none // lets go of its bodies
		j.first++
		j.dropped++
	}
	if j.first > len(j.entries)/2 {
		n := copy(j.entries, j.entries[j.first:])
		clear(j.entries[n:])
		j.entries, j.first = j.entries[:n], 0
	}
}

// list gives the latest entries that match, oldest first, at most limit of
// them, and how many the journal has had to drop.
func (j *journal[T]) list(limit int, matches func(*T) bool) (entries []T, dropped int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if limit <= 0 {
		limit = j.limit
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

func (j *journal[T]) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries, j.first, j.bytes, j.dropped = nil, 0, 0, 0
}

// since is what came after a position, and the position behind it. A position
// counts all entries that there ever were.
func (j *journal[T]) since(position int) (entries []T, now int, more <-chan struct{}) {
	more = j.next()
	j.mu.Lock()
	defer j.mu.Unlock()
	kept := j.entries[j.first:]
	now = j.dropped + len(kept)
	return slices.Clone(kept[len(kept)-min(max(now-position, 0), len(kept)):]), now, more
}

// follow streams the entries of a journal as they come. shown is nil for those
// that nobody asked for.
func follow[T interface{ size() int }](s *Server, j *journal[T], shown func(T) any) reply {
	_, position, _ := j.since(0)
	return s.stream("entry", 0, func() (events []sent, more <-chan struct{}) {
		entries, now, more := j.since(position)
		position = now
		for _, e := range entries {
			if v := shown(e); v != nil {
				events = append(events, sent{0, v})
			}
		}
		return events, more
	})
}
