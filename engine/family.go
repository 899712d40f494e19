package engine

import (
	"fmt"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// A family is a message and its descendants: the messages that were created by the deliveries of
// this server to itself, and by those of its descendants. The messages of one publish to a URL
// group are one family (decided: 60).

// DefaultMaxDescendants is the default of Config.MaxDescendants: the largest number of
// descendants of a message.
const DefaultMaxDescendants = 10_000

// joinFamily counts a new message of a family. The messages of one publish to a group keep the
// family, but are not descendants.
func (a *Account) joinFamily(m *Message) {
	if m.Options.Family == "" {
		return
	}
	f := a.state.Families[m.Options.Family]
	if f == nil {
		f = &state.Family{ID: m.Options.Family}
		a.state.Families[f.ID] = f
	}
	f.Live++
	if m.Options.Hops > 0 {
		f.Created++
	}
}

// leaveFamily forgets a family with its last message.
func (a *Account) leaveFamily(m *Message) {
	f := a.state.Families[m.Options.Family]
	if f == nil {
		return
	}
	if f.Live--; f.Live <= 0 {
		delete(a.state.Families, f.ID)
	}
}

// mayDescend refuses requests of a family that has no descendants left, or was cancelled. A
// replay may have another limit.
func (a *Account) mayDescend(rs ...PublishRequest) error {
	n, most := 0, a.cfg.MaxDescendants
	for i := range rs {
		f := a.state.Families[rs[i].Options.Family]
		if f == nil && rs[i].Options.Hops > 0 {
			f = &state.Family{ID: rs[i].Options.Family}
		}
		if f == nil || a.replaying {
			continue
		}
		if n++; rs[i].Group != "" {
			n += len(a.state.Groups[rs[i].Group].Endpoints) - 1
		}
		switch {
		case f.Cut:
			return refusal.Of(ErrLoop, "loop", "", fmt.Sprintf("the family of message %s was cancelled, and its deliveries create no more messages", f.ID))
		case f.Created+n > most:
			return refusal.Of(ErrLoop, "loop", "", fmt.Sprintf("the deliveries that follow from message %s to this server have created %d messages; the limit is %d (--max-descendants)", f.ID, f.Created, most))
		}
	}
	return nil
}

// CancelFamily cancels the messages of a family that have not ended, and returns their number.
// id is that of any of its messages that the log still has.
func (a *Account) CancelFamily(id string) (int, error) { return runCommand(a, cancelFamily{id}) }

type cancelFamily struct{ ID string }

// apply cancels in order of creation. While attempts of the family are in flight, it creates no
// more messages.
func (c cancelFamily) apply(a *Account) (int, error) {
	m := a.anyMessage(c.ID)
	if m == nil {
		return 0, refusal.Of(ErrNotFound, "message", c.ID, "not found")
	}
	family, n := m.Family(), 0
	if f := a.state.Families[family]; f != nil {
		f.Cut = true
	}
	for _, m := range sortedMessages(a.state.Messages) {
		if m.State != CancelRequested && m.Family() == family {
			a.cancel(m)
			n++
		}
	}
	return n, nil
}
