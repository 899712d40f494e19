package control

import (
	"strings"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]Handler{
	"controlClearDeliveries": (*Service).clearDeliveries,
	"controlClearRequests":   (*Service).clearRequests,
	"controlDeliveries":      (*Service).deliveries,
	"controlRequests":        (*Service).requests,
})

type journalBody[T any] struct {
	Limit   int `json:"limit"`   // most entries that are kept
	Dropped int `json:"dropped"` // older ones that the limit has cost
	Entries []T `json:"entries"`
}

// requests shows the latest that match, oldest first. Bodies are cut on copies,
// after the journal has been read: the lock of the journal is not held for it.
func (s *Service) requests(c *call.Call) (response.Response, error) {
	id, path, status, most := c.Query.Get("operationId"), c.Query.Get("path"), c.Number("status"), c.Number("maxBody")
	refused, asked := c.Flag("refused", false), c.Query.Has("refused")
	fits := func(x *journal.Exchange) bool {
		return (!asked || refused == (len(x.Problems) > 0)) && (id == "" || x.OperationID == id) && strings.HasPrefix(x.Path, path) && (status == 0 || x.Response.Status == status)
	}
	if c.Flag("follow", false) {
		return followJournal(s, &c.Tenant.Requests, func(x journal.Exchange) any {
			if !fits(&x) {
				return nil
			}
			x.Clip(most)
			return x
		}), nil
	}
	entries, dropped := c.Tenant.Requests.List(c.Number("limit"), fits)
	for i := range entries {
		entries[i].Clip(most)
	}
	return response.Response{Body: journalBody[journal.Exchange]{journal.Limit, dropped, entries}}, nil
}

// deliveries is requests for what was delivered.
func (s *Service) deliveries(c *call.Call) (response.Response, error) {
	id, url, status, most := c.Query.Get("messageId"), c.Query.Get("url"), c.Number("status"), c.Number("maxBody")
	fits := func(d *journal.Delivery) bool {
		return (id == "" || d.MessageID == id) && strings.HasPrefix(d.URL, url) && (status == 0 || d.Response.Status == status)
	}
	if c.Flag("follow", false) {
		return followJournal(s, &c.Tenant.Deliveries, func(d journal.Delivery) any {
			if !fits(&d) {
				return nil
			}
			d.Clip(most)
			return d
		}), nil
	}
	entries, dropped := c.Tenant.Deliveries.List(c.Number("limit"), fits)
	for i := range entries {
		entries[i].Clip(most)
	}
	return response.Response{Body: journalBody[journal.Delivery]{journal.Limit, dropped, entries}}, nil
}

// clearRequests leaves followers where they are: they go on with the next entry.
func (s *Service) clearRequests(c *call.Call) (response.Response, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Requests.Clear()
	}
	return response.Empty, nil
}

func (s *Service) clearDeliveries(c *call.Call) (response.Response, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Deliveries.Clear()
	}
	return response.Empty, nil
}

// followJournal streams the entries of a journal as they come. shown is nil for those
// that nobody asked for.
func followJournal[T any, E journal.Entry[T]](s *Service, j *journal.Journal[T, E], shown func(T) any) response.Response {
	position := j.End()
	return s.stream("entry", 0, func() (events []sent, more <-chan struct{}) {
		entries, now, more := j.Since(position)
		position = now
		for _, e := range entries {
			events = append(events, sent{0, func() any { return shown(e) }})
		}
		return events, more
	})
}
