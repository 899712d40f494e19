package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

// Condition is what a caller waits for: Count entries that match. Most other
// fields apply to some kinds of entries only, see awaitKeys.
type Condition struct {
	On        string `json:"on"`                  // deliveries, requests or events
	MessageID string `json:"messageId,omitempty"` // of a delivery or an event
	URL       string `json:"url,omitempty"`       // prefix; of a delivery or an event
	Status    int    `json:"status,omitempty"`    // of a delivery or a request
	Operation string `json:"operation,omitempty"` // operationId of a request
	State     string `json:"state,omitempty"`     // of an event
	RunID     string `json:"workflowRunId,omitempty"`
	Count     int    `json:"count"`             // at least; 0: 1
	Timeout   string `json:"timeout,omitempty"` // real time; 5s by default
	Advance   string `json:"advance,omitempty"` // duration by which a manual clock may be moved
}

// awaitKeys are the conditions for each kind of entry. Others are refused, because
// they would have no effect.
var awaitKeys = map[string][]string{
	"deliveries": {"messageId", "status", "url"},
	"events":     {"messageId", "state", "url", "workflowRunId"},
	"requests":   {"operation", "status"},
}

// check refuses conditions that do not apply to the kind of entry, and states and
// operations that no entry has.
func (w *Condition) check(operation func(id string) bool) error {
	for key, given := range map[string]bool{
		"messageId": w.MessageID != "", "operation": w.Operation != "", "state": w.State != "",
		"status": w.Status != 0, "url": w.URL != "", "workflowRunId": w.RunID != "",
	} {
		if given && !slices.Contains(awaitKeys[w.On], key) {
			return response.Invalid(fmt.Sprintf("body /%s: does not apply to %s; conditions of %s: %s", key, w.On, w.On, strings.Join(awaitKeys[w.On], ", ")))
		}
	}
	if states := slices.Concat(request.MessageStates, request.RunStates); w.State != "" && !slices.Contains(states, w.State) {
		return response.RefusedValue("body", "/state", w.State, response.Unfit("", "one of "+strings.Join(states, ", ")))
	}
	if w.Operation != "" && !operation(w.Operation) {
		return response.RefusedValue("body", "/operation", w.Operation, response.Unfit("", "an operationId; `understudy spec` lists them"))
	}
	return nil
}

// await answers as soon as the condition holds. After the timeout the error says how
// many entries matched. It does not poll: each new entry wakes it.
func (s *Service) await(c *request.Call) (any, error) {
	var want Condition
	if err := c.Read(&want); err != nil {
		return nil, err
	}
	if err := want.check(s.Known); err != nil {
		return nil, err
	}
	want.Count = max(want.Count, 1)
	limit, errorOf := withTimeLimit, movedError
	if want.Advance != "" {
		limit, errorOf = moveLimit, func(ctx context.Context, err error) error { return interruptedError(ctx, c.Tenant.ID, err) }
	}
	ctx, cancel, err := limit(c, want.Timeout, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer cancel()
	left := time.Duration(0)
	if want.Advance != "" {
		if left, err = response.Duration(want.Advance); err != nil || left < 0 {
			return nil, response.Invalid(fmt.Sprintf("body /advance: invalid value %q: must be a duration such as 24h", want.Advance))
		}
	}
	late := func(n int) error {
		return refusal.Of(context.DeadlineExceeded, "await", "", fmt.Sprintf("%d of %d %s matched in time", n, want.Count, want.On))
	}
	for stride := time.Second; ; stride *= 4 {
		n, entries, more := s.matching(c.Tenant, &want)
		var list []any
		if n >= want.Count {
			list = entries() // fewer if the journal was cleared meanwhile
			n = len(list)
		}
		if n >= want.Count {
			return map[string]any{"count": n, "entries": list, "now": c.Account.Now().UnixMilli()}, nil
		}
		if left > 0 {
			err := s.stride(ctx, c.Account, &left, stride)
			if errors.Is(err, context.DeadlineExceeded) {
				err = late(n)
			}
			if err != nil {
				return nil, errorOf(ctx, err)
			}
			continue
		}
		select {
		case <-more:
		case <-s.Done:
			return nil, refusal.Of(refusal.Closed, "await", "", "the server stops")
		case <-ctx.Done():
			return nil, errorOf(ctx, late(n))
		}
	}
}

// stride moves a manual clock by at most left, and subtracts the move from left.
func (s *Service) stride(ctx context.Context, a *engine.Account, left *time.Duration, by time.Duration) error {
	by = min(by, *left)
	*left -= by
	_, err := a.Advance(ctx, a.Now().Add(by))
	return err
}

// matching returns how many entries match now, a function that returns them, and a
// channel that signals the next entry. It gets the channel first, so that no entry is
// missed.
func (s *Service) matching(w *tenant.Tenant, c *Condition) (n int, entries func() []any, more <-chan struct{}) {
	switch c.On {
	case "requests":
		return matchingEntries(&w.Requests.Journal, traffic.Filter{ID: c.Operation, Status: c.Status})
	case "events":
		events, more := w.Account.Follow(0, 0)
		events = slices.DeleteFunc(events, func(e engine.Event) bool { return !c.event(&e) })
		return len(events), func() (entries []any) {
			for i := range events {
				entries = append(entries, s.streamed(w, &events[i]))
			}
			return entries
		}, more
	}
	return matchingEntries(&w.Deliveries.Journal, traffic.Filter{ID: c.MessageID, URL: c.URL, Status: c.Status})
}

// matchingEntries is matching for a journal. Between the count and the list, the journal
// may drop entries.
func matchingEntries[T any, E traffic.Entry[T]](j *traffic.Journal[T, E], f traffic.Filter) (n int, entries func() []any, more <-chan struct{}) {
	more = j.Next()
	return j.Count(f), func() (entries []any) {
		list, _ := j.List(0, f)
		for i := range list {
			entries = append(entries, list[i])
		}
		return entries
	}, more
}

// event reports whether a log event matches. Events of a whole run have no message,
// and the URL of the workflow.
func (w *Condition) event(e *engine.Event) bool {
	id, url := "", ""
	switch {
	case e.Message != nil:
		id, url = e.Message.ID, e.Message.URL
	case e.Run != nil:
		url = e.Run.URL
	}
	return (w.State == "" || e.State == w.State) && (w.MessageID == "" || id == w.MessageID) && strings.HasPrefix(url, w.URL) &&
		(w.RunID == "" || e.Run != nil && e.Run.ID == w.RunID)
}
