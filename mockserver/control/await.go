package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/journal"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

var _ = registerHandlers(map[string]Handler{"controlAwait": (*Service).await})

// Condition is what a caller waits for: Count entries that match. The other
// fields belong to some kinds of entries only, see awaitKeys.
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
	Advance   string `json:"advance,omitempty"` // how far a manual clock may be moved for it
}

// awaitKeys are the conditions that each kind of entry has. Any other would be
// ignored, so it is refused.
var awaitKeys = map[string][]string{
	"deliveries": {"messageId", "status", "url"},
	"events":     {"messageId", "state", "url", "workflowRunId"},
	"requests":   {"operation", "status"},
}

// check refuses conditions that entries of this kind do not have.
func (w *Condition) check() error {
	for key, given := range map[string]bool{
		"messageId": w.MessageID != "", "operation": w.Operation != "", "state": w.State != "",
		"status": w.Status != 0, "url": w.URL != "", "workflowRunId": w.RunID != "",
	} {
		if given && !slices.Contains(awaitKeys[w.On], key) {
			return response.Invalid(fmt.Sprintf("body /%s: does not apply to %s; conditions of %s: %s", key, w.On, w.On, strings.Join(awaitKeys[w.On], ", ")))
		}
	}
	return nil
}

// await answers as soon as the condition holds, and says what is missing
// when it does not in time. Nothing polls: each new entry wakes it.
func (s *Service) await(c *call.Call) (response.Response, error) {
	var want Condition
	if err := json.Unmarshal(c.Body, &want); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	if err := want.check(); err != nil {
		return response.Response{}, err
	}
	want.Count = max(want.Count, 1)
	ctx, cancel, err := withTimeLimit(c.Request.Context(), want.Timeout, 5*time.Second)
	if err != nil {
		return response.Response{}, err
	}
	defer cancel()
	left := time.Duration(0)
	if want.Advance != "" {
		if left, err = response.Duration(want.Advance); err != nil || left < 0 {
			return response.Response{}, response.Invalid(fmt.Sprintf("body /advance: invalid value %q: must be a duration such as 24h", want.Advance))
		}
	}
	for stride := time.Second; ; stride *= 4 {
		entries, more := s.matching(c.Tenant, &want)
		if len(entries) >= want.Count {
			return response.Response{Body: map[string]any{"count": len(entries), "entries": entries, "now": c.Account.Now().UnixMilli()}}, nil
		}
		if left > 0 {
			if err := s.stride(ctx, c.Account, &left, stride); err != nil {
				return response.Response{}, err
			}
			continue
		}
		select {
		case <-more:
		case <-s.Done:
			return response.Response{}, refusal.Of(refusal.Closed, "await", "", "the server stops")
		case <-ctx.Done():
			return response.Response{}, refusal.Of(context.DeadlineExceeded, "await", "", fmt.Sprintf("%d of %d %s matched in time", len(entries), want.Count, want.On))
		}
	}
}

// stride moves a manual clock a part of what it may be moved.
func (s *Service) stride(ctx context.Context, a *engine.Account, left *time.Duration, by time.Duration) error {
	by = min(by, *left)
	*left -= by
	_, err := a.Advance(ctx, a.Now().Add(by))
	return err
}

// matching is what matches now, and what tells of the next entry.
func (s *Service) matching(w *tenant.Tenant, c *Condition) (entries []any, more <-chan struct{}) {
	switch c.On {
	case "requests":
		more = w.Requests.Next()
		list, _ := w.Requests.List(0, func(x *journal.Exchange) bool {
			return (c.Operation == "" || x.OperationID == c.Operation) && (c.Status == 0 || x.Response.Status == c.Status)
		})
		for _, x := range list {
			entries = append(entries, x)
		}
	case "events":
		events, wake := w.Account.Follow(0, 0)
		more = wake
		for i := range events {
			e := &events[i]
			if c.event(e) {
				entries = append(entries, s.streamed(w, e))
			}
		}
	default:
		more = w.Deliveries.Next()
		list, _ := w.Deliveries.List(0, func(d *journal.Delivery) bool {
			return (c.MessageID == "" || d.MessageID == c.MessageID) && strings.HasPrefix(d.URL, c.URL) && (c.Status == 0 || d.Response.Status == c.Status)
		})
		for _, d := range list {
			entries = append(entries, d)
		}
	}
	return entries, more
}

// event matches a log event. Those of a run as a whole have no message; their
// URL is that of the workflow.
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
