package engine

import "github.com/understudy-mock/understudy/engine/internal/state"

// maxPerHost is the largest number of concurrent attempts to one host. More
// connections to one host deliver no faster.
const maxPerHost = 64

// nextTurn returns the oldest turn whose destination may start an attempt, and the share of the
// destination, nil if the turn has no message.
func (a *Account) nextTurn() (state.ReadyTurn, *state.Share, bool) {
	free := a.cfg.Parallel - a.state.Running
	if most := a.settings.PerHost; most > 0 {
		free = min(free, most)
	}
	for {
		t, ok := a.state.Shares.Next(free)
		if !ok {
			if a.state.Ready.Len() == 0 {
				return state.ReadyTurn{}, nil, false
			}
			t = a.state.Ready.Pop()
		}
		if t.Under != "" && a.state.Shares.Of(t.Under).MayStart(free) {
			t.Under = "" // held when the snapshot was written
		}
		url := t.URL()
		if url == "" {
			return t, nil, true // a turn without a message: nothing will start
		}
		u := a.state.Shares.Of(url)
		if u.MayStart(free) {
			return t, u, true
		}
		a.state.Shares.Hold(u, t)
	}
}
