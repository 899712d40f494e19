package control

import (
	"cmp"

	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

type journalBody[T any] struct {
	Limit   int `json:"limit"`   // most entries that are kept
	Dropped int `json:"dropped"` // older entries dropped by the limits
	Older   int `json:"older"`   // entries that match, before those in the answer
	Entries []T `json:"entries"`
}

// pageEntries is how many entries of a journal an answer has without a limit.
const pageEntries = 1000

// requests returns the latest requests that match, oldest first, or follows the journal.
func (s *Service) requests(c *request.Call) (any, error) {
	f := traffic.Filter{ID: c.Query.Get("operationId"), URL: c.Query.Get("path"), Status: c.Number("status")}
	if c.Query.Has("refused") {
		f.Refused = new(c.Flag("refused", false))
	}
	if c.Query.Has("position") {
		f.Position = new(c.Number("position"))
	}
	return listEntries(s, c, &c.Tenant.Requests.Journal, f), nil
}

// deliveries is the same as requests for deliveries.
func (s *Service) deliveries(c *request.Call) (any, error) {
	f := traffic.Filter{ID: c.Query.Get("messageId"), URL: c.Query.Get("url"), Status: c.Number("status")}
	return listEntries(s, c, &c.Tenant.Deliveries.Journal, f), nil
}

// listEntries returns entries of a journal with clipped bodies, or a stream of the new ones.
func listEntries[T any, E traffic.Entry[T]](s *Service, c *request.Call, j *traffic.Journal[T, E], f traffic.Filter) response.Response {
	most := c.Number("maxBody")
	if c.Flag("follow", false) {
		return followJournal(s, c, j, f, most)
	}
	limit := cmp.Or(c.Number("limit"), pageEntries)
	list, dropped := j.List(limit, f)
	older := 0
	if len(list) == limit {
		older = max(0, j.Count(f)-limit)
	}
	for i := range list {
		E(&list[i]).Clip(most)
	}
	return response.Response{Body: journalBody[T]{traffic.Limit, dropped, older, list}}
}

// clearRequests clears the journal; followers continue with the next entry.
func (s *Service) clearRequests(c *request.Call) (any, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Requests.Clear()
	}
	return response.Empty, nil
}

func (s *Service) clearDeliveries(c *request.Call) (any, error) {
	for _, w := range c.Chosen(s.Tenants) {
		w.Deliveries.Clear()
	}
	return response.Empty, nil
}

// followJournal streams the new entries of a journal that match.
func followJournal[T any, E traffic.Entry[T]](s *Service, c *request.Call, j *traffic.Journal[T, E], f traffic.Filter, most int) response.Response {
	position := j.End()
	return s.stream(c, "entry", 0, func() (events []sent, more <-chan struct{}) {
		list, now, more := j.Since(position, f)
		position = now
		for i := range list {
			E(&list[i]).Clip(most)
			events = append(events, sent{0, func() any { return list[i] }})
		}
		return events, more
	})
}
