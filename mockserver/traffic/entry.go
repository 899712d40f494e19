package traffic

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Message is a request or a response.
type Message struct {
	Status int // of a response; 0: no response
	Header http.Header
	Body   []byte

	whole   int  // bytes of the whole body if it is cut or dropped; else 0
	dropped bool // header and body were dropped to make room
}

// Clip shortens the body to at most the given bytes, at a character boundary if it
// is text; 0 means no limit. The bytes are not copied.
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

// drop removes the header and the body.
func (m *Message) drop() {
	if len(m.Header)+len(m.Body) > 0 {
		m.whole, m.dropped = len(m.Body), true
		m.Header, m.Body = nil, nil
	}
}

// MarshalJSON writes the body as text if it is valid UTF-8, else as base64.
func (m Message) MarshalJSON() ([]byte, error) {
	out := api.Content{Status: m.Status, Headers: m.Header, BodyBytes: m.whole, BodyDropped: m.dropped}
	if utf8.Valid(m.Body) {
		out.Body = string(m.Body)
	} else {
		out.BodyBase64 = base64.StdEncoding.EncodeToString(m.Body)
	}
	return json.Marshal(out)
}

// Exchange is one request to the interface and its answer.
type Exchange struct {
	Position    int      `json:"position"` // number of earlier entries, see End
	At          int64    `json:"at"`       // Unix ms, when it was answered, see tenant.Registry.Stamp
	OperationID string   `json:"operationId,omitempty"`
	Account     string   `json:"account"`
	Method      string   `json:"method"`
	Path        string   `json:"path"` // with its query
	Request     Message  `json:"request"`
	Response    Message  `json:"response"`
	Problems    []string `json:"problems,omitempty"` // why the request was refused

	documents [2]bool // see MarkDocuments
}

// MarkDocuments sets which of the bodies are documents of the interface. Their
// credentials are masked; bodies of messages are not.
func (x *Exchange) MarkDocuments(request, response bool) { x.documents = [2]bool{request, response} }

// Delivery is one attempt: the request as it was sent, and the answer.
type Delivery struct {
	At         int64   `json:"at"`               // Unix ms, on the account's clock
	RealAt     int64   `json:"realAt,omitempty"` // Unix ms of the wall clock, at its end; 0 in a server that repeats
	MessageID  string  `json:"messageId"`
	Role       string  `json:"role"`
	Attempt    int     `json:"attempt"` // 0 for the first
	URL        string  `json:"url"`
	Method     string  `json:"method"`
	Request    Message `json:"request"`
	Response   Message `json:"response"`
	Error      string  `json:"error,omitempty"` // why there is no response
	Note       string  `json:"note,omitempty"`  // why the body of the response is not the whole answer
	Stubbed    bool    `json:"stubbed,omitempty"`
	NearMiss   string  `json:"nearMiss,omitempty"` // if no stub matched: the closest one, and why it did not match
	DurationMs float64 `json:"durationMs"`         // wall time; 0 in a server that repeats, unless a stub sets it
}

// Entry is the constraint for the entries of a journal: Exchange or Delivery.
type Entry[T any] interface {
	*T
	Clip(most int)
	setPosition(n int)
	halves() (request, response *Message)
	fields(c *codec)
	hide()
}

// Clip cuts the bodies of both halves.
func (x *Exchange) Clip(most int) { x.Request.Clip(most); x.Response.Clip(most) }

// Clip cuts the bodies of both halves.
func (d *Delivery) Clip(most int) { d.Request.Clip(most); d.Response.Clip(most) }

// hide masks the credentials of an entry that is read. Bodies that clients published
// stay unchanged.
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

func (x *Exchange) halves() (request, response *Message) { return &x.Request, &x.Response }

func (d *Delivery) halves() (request, response *Message) { return &d.Request, &d.Response }

func (x *Exchange) setPosition(n int) { x.Position = n }

// Deliveries have no positions: a message id and an attempt identify them.
func (*Delivery) setPosition(int) {}

// HeaderSize is the approximate size of a header on the wire in bytes. HTTP/1.1 adds
// four to each name and value: a colon, a space and the line break.
func HeaderSize(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}
