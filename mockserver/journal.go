package mockserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
	"unicode/utf8"
)

// journalLimit is how many entries each journal of an account keeps.
const journalLimit = 10_000

// Message is one half of an exchange.
type Message struct {
	Status int // of a response; 0 when none came
	Header http.Header
	Body   []byte
}

// messageJSON writes bodies as text where they are, else as base64.
type messageJSON struct {
	Status     int         `json:"status,omitempty"`
	Headers    http.Header `json:"headers,omitempty"`
	Body       string      `json:"body,omitempty"`
	BodyBase64 string      `json:"bodyBase64,omitempty"`
}

// MarshalJSON writes the message.
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON{Status: m.Status, Headers: m.Header}
	if utf8.Valid(m.Body) {
		out.Body = string(m.Body)
	} else {
		out.BodyBase64 = base64.StdEncoding.EncodeToString(m.Body)
	}
	return json.Marshal(out)
}

// Exchange is one request to the interface and its answer.
type Exchange struct {
	At          int64    `json:"at"` // Unix ms, wall time
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
	At         int64   `json:"at"` // Unix ms, on the account's clock
	MessageID  string  `json:"messageId"`
	Role       string  `json:"role"`
	Attempt    int     `json:"attempt"` // 0 for the first
	URL        string  `json:"url"`
	Method     string  `json:"method"`
	Request    Message `json:"request"`
	Response   Message `json:"response"`
	Error      string  `json:"error,omitempty"` // why no response came
	Stubbed    bool    `json:"stubbed,omitempty"`
	DurationMs float64 `json:"durationMs"` // wall time
}

// journal keeps the latest entries, up to its limit.
type journal[T any] struct {
	mu      sync.Mutex
	limit   int
	entries []T
	dropped int // how many the limit has cost
}

func (j *journal[T]) add(e T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) >= 2*j.limit {
		n := copy(j.entries, j.entries[len(j.entries)-j.limit:])
		clear(j.entries[n:])
		j.dropped += len(j.entries) - n
		j.entries = j.entries[:n]
	}
	j.entries = append(j.entries, e)
}

// list gives the latest entries that match, oldest first, at most limit of
// them, and how many the journal has had to drop.
func (j *journal[T]) list(limit int, matches func(*T) bool) (entries []T, dropped int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if limit <= 0 {
		limit = j.limit
	}
	first := max(0, len(j.entries)-j.limit)
	found := []T{}
	for i := len(j.entries) - 1; i >= first && len(found) < limit; i-- {
		if matches(&j.entries[i]) {
			found = append(found, j.entries[i])
		}
	}
	for i, k := 0, len(found)-1; i < k; i, k = i+1, k-1 {
		found[i], found[k] = found[k], found[i]
	}
	return found, j.dropped + first
}

func (j *journal[T]) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries, j.dropped = nil, 0
}
