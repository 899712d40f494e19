package engine

import "github.com/understudy-mock/understudy/engine/internal/view"

// view is the account as it is now. It holds while the lock is held.
func (a *Account) view() *view.Account {
	return &view.Account{State: &a.state, Wire: a.cfg.Wire, HeaderName: a.headerName, RetryWait: a.retryWait, Parallel: a.cfg.Parallel}
}
