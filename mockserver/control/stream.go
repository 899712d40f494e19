package control

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// sent is one server-sent event; an id of 0 is omitted. show is called just before
// the event is sent, so that only one value is in memory for a slow client. If it
// returns nil, the event is skipped.
type sent struct {
	id   uint64
	show func() any
}

// stream sends the events of next, and calls next again when more is closed, until
// the client disconnects, the server stops or the account leaves it. apart is the minimum
// interval between two calls. The comment "now" separates what had happened before.
func (s *Service) stream(c *request.Call, name string, apart time.Duration, next func() (events []sent, more <-chan struct{})) response.Response {
	return response.Response{Stream: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		out := http.NewResponseController(w)
		here, leave := c.Tenant.WhileHere(r.Context())
		defer leave()
		for now := false; ; {
			events, more := next()
			if !write(w, name, events) {
				return
			}
			select {
			case <-more:
			default:
				if !now {
					_, _ = fmt.Fprint(w, ": now\n\n") // Flush reports the error
				}
				now = true
			}
			if out.Flush() != nil {
				return
			}
			if apart > 0 {
				_ = clock.PauseUntil(here, s.Done, apart)
			}
			select {
			case <-more:
			case <-here.Done():
				return
			case <-s.Done:
				return
			}
		}
	}}
}

// write sends events, and reports whether it could.
func write(w io.Writer, name string, events []sent) bool {
	for _, e := range events {
		v := e.show()
		if v == nil {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return false
		}
		id := ""
		if e.id > 0 {
			id = fmt.Sprintf("id: %d\n", e.id)
		}
		if _, err := fmt.Fprintf(w, "%sevent: %s\ndata: %s\n\n", id, name, b); err != nil {
			return false
		}
	}
	return true
}
