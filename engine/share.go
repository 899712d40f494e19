package engine

import "github.com/understudy-mock/understudy/engine/internal/state"

// nextTurn is the oldest turn whose destination may start an attempt.
func (a *Account) nextTurn() (state.ReadyTurn, bool) {
	free := a.cfg.Parallel - a.state.Running
	for {
		t, ok := a.state.Shares.Next(free)
		if !ok {
			if a.state.Ready.Len() == 0 {
				return state.ReadyTurn{}, false
			}
			t = a.state.Ready.Pop()
		}
		m := t.Front()
		if m == nil {
			return t, true // nothing will start
		}
		h := a.state.Shares.Of(m)
		if h.Running < free {
			return t, true
		}
		a.state.Shares.Hold(h, t)
	}
}
