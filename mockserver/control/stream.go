package control

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/understudy-mock/understudy/mockserver/pause"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// sent is one server-sent event; id 0 is not sent. What it shows is made when
// its turn comes, so that a client who does not read keeps one; nil: nothing.
type sent struct {
	id   uint64
	show func() any
}

// stream sends what next gives, and asks again whenever there is more, until the
// client or the server goes. Nothing polls. Two answers are so far apart at least.
func (s *Service) stream(name string, apart time.Duration, next func() (events []sent, more <-chan struct{})) response.Response {
	return response.Response{Stream: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		out := http.NewResponseController(w)
		for {
			events, more := next()
			for _, e := range events {
				v := e.show()
				if v == nil {
					continue
				}
				b, err := json.Marshal(v)
				if err != nil {
					return
				}
				id := ""
				if e.id > 0 {
					id = fmt.Sprintf("id: %d\n", e.id)
				}
				if _, err := fmt.Fprintf(w, "%sevent: %s\ndata: %s\n\n", id, name, b); err != nil {
					return
				}
			}
			if out.Flush() != nil {
				return
			}
			if apart > 0 {
				pause.Until(r.Context(), s.Done, apart)
			}
			select {
			case <-more:
			case <-r.Context().Done():
				return
			case <-s.Done:
				return
			}
		}
	}}
}
