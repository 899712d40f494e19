package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	store "github.com/understudy-mock/understudy/mockserver/fleet/jetstream"
)

// The kinds of jobs.
const (
	claiming = "claiming"
	opening  = "opening"
	moving   = "moving"
	dropping = "dropping"
)

// serve takes and gives accounts until the membership ends.
func (f *Fleet) serve() {
	for {
		changed := f.next()
		for _, j := range f.jobs() {
			f.begin(j)
		}
		if clock.Pause(f.ctx, calm) != nil { // several changes often come together
			return
		}
		wait, cancel := context.WithTimeout(f.ctx, renewEvery)
		select {
		case <-changed:
		case <-wait.Done():
		}
		cancel()
		if f.ctx.Err() != nil {
			return
		}
	}
}

// job is work on one account.
type job struct {
	account, what string
	do            func(ctx context.Context)
}

// begin starts a job in the background, unless the account already has one.
func (f *Fleet) begin(j job) {
	f.mu.Lock()
	was := f.busy[j.account]
	f.busy[j.account] = cmp.Or(was, j.what)
	f.mu.Unlock()
	if was != "" {
		return
	}
	f.work.Go(func() {
		if f.turns.Acquire(f.ctx, 1) == nil {
			j.do(f.ctx)
			f.turns.Release(1)
		}
		f.mu.Lock()
		delete(f.busy, j.account)
		f.mu.Unlock()
		f.note()
	})
}

// jobs returns the jobs that are due now.
func (f *Fleet) jobs() []job {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.spread()
	var list []job
	for _, id := range slices.Sorted(maps.Keys(s.owner)) {
		has, own := f.host.Accounts.Has(id), s.owner[id] == f.id
		switch why, failed := f.refused[id]; {
		case f.busy[id] != "":
		case has && (!own || f.outdated(id) || f.host.Accounts.Lost(id)):
			list = append(list, job{id, dropping, func(context.Context) { f.drop(id) }})
		case own && !has && !f.self.Leaving && (!failed || f.wall.Now().Sub(why.at) > retryAfter):
			list = append(list, job{id, opening, func(ctx context.Context) { f.take(ctx, id) }})
		}
	}
	if f.self.Leaving {
		for id, to := range s.farewell() {
			list = append(list, job{id, moving, func(ctx context.Context) { f.give(ctx, id, to) }})
		}
		return list
	}
	for _, id := range s.claims() {
		list = append(list, job{id, claiming, func(ctx context.Context) { f.claimOrphan(ctx, id) }})
	}
	if id, to := s.gift(); id != "" && !slices.Contains(slices.Collect(maps.Values(f.busy)), moving) {
		list = append(list, job{id, moving, func(ctx context.Context) { f.give(ctx, id, to) }})
	}
	return list
}

// spread returns the current distribution of accounts. The caller has the lock.
func (f *Fleet) spread() *spread {
	s := &spread{self: f.id, members: f.staying(), owner: map[string]string{}}
	for _, id := range f.host.Accounts.IDs() {
		s.owner[id] = f.owner[id].member
	}
	now := f.wall.Now()
	s.orphan = func(owner string) bool {
		_, there := f.alive[owner]
		return !there && now.Sub(f.gone[owner]) > grace
	}
	return s
}

// claimOrphan makes this server the owner of an account whose owner has left.
func (f *Fleet) claimOrphan(ctx context.Context, id string) {
	f.mu.Lock()
	was := f.owner[id]
	f.mu.Unlock()
	if f.write(ctx, id, f.id, was.revision) == nil {
		f.cfg.Log.Info("account has no server: taking it", "account", id, "before", was.member)
	}
}

// write sets the owner of an account; it fails if the entry is newer than revision.
func (f *Fleet) write(ctx context.Context, account, owner string, revision uint64) error {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	revision, err := f.owners.kv.Update(ctx, store.Key(account), []byte(owner), revision)
	if err == nil {
		f.setOwner(account, claim{owner, revision})
	}
	return err
}

// take starts to serve an account, or records why that failed.
func (f *Fleet) take(ctx context.Context, id string) {
	f.mu.Lock()
	revision := f.owner[id].revision
	f.mu.Unlock()
	err := f.host.Accounts.Take(ctx, id)
	f.mu.Lock()
	if err != nil {
		f.refused[id] = failure{err, f.wall.Now()}
	} else {
		delete(f.refused, id)
		f.taken[id] = revision
	}
	f.mu.Unlock()
	switch {
	case err == nil:
		f.cfg.Log.Info("account is here", "account", id)
	case ctx.Err() == nil:
		f.cfg.Log.Error("account cannot be served", "account", id, "error", err)
	}
}

// outdated reports whether the owner of an account that is here has changed since this
// server took it. Then another server had it while this one was suspended, and may have
// given it back: the data here are old. The caller has the lock.
func (f *Fleet) outdated(id string) bool {
	revision, known := f.taken[id]
	return known && revision != f.owner[id].revision && f.host.Accounts.Has(id)
}

// drop stops serving an account that another server has taken.
func (f *Fleet) drop(id string) {
	f.cfg.Log.Warn("another server has taken the account", "account", id)
	f.host.Accounts.Drop(id)
	f.mu.Lock()
	delete(f.taken, id)
	f.mu.Unlock()
	_ = f.owners.sync(f.ctx) // otherwise an old entry could make this server take it back
}

// give stops serving an account and makes another server its owner.
func (f *Fleet) give(ctx context.Context, id, to string) {
	f.mu.Lock()
	was := f.owner[id]
	f.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, giveWithin)
	defer cancel()
	if err := f.host.Accounts.Give(within, id); err != nil {
		f.cfg.Log.Warn("account did not leave cleanly", "account", id, "error", err)
	}
	if err := f.write(ctx, id, to, was.revision); err != nil {
		f.cfg.Log.Warn("account has no new server yet", "account", id, "error", err)
		return
	}
	f.cfg.Log.Info("account moves to another server", "account", id, "server", to)
}

// Claim makes this server the owner of a new account. It returns false if another server
// is creating the account, once it is recorded here.
func (f *Fleet) Claim(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	for {
		if err := errors.Join(f.owners.sync(ctx), f.directory.sync(ctx)); err != nil {
			return false, fmt.Errorf("the cluster does not answer: %w", err)
		}
		f.mu.Lock()
		was, change := f.owner[id], f.changed
		_, there := f.alive[was.member]
		f.mu.Unlock()
		switch {
		case f.host.Accounts.Known(id):
			return false, nil
		case was.member == f.id:
			f.hold(id)
			return true, nil
		case !there:
			err := f.write(ctx, id, f.id, was.revision)
			if err == nil {
				f.hold(id)
				return true, nil
			}
			if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
				return false, err
			}
			continue
		}
		select {
		case <-change:
		case <-ctx.Done():
			return false, errors.New("another server is creating it, and has not finished")
		}
	}
}

// hold records that this server has taken an account by the last entry of its owner.
func (f *Fleet) hold(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken[id] = f.owner[id].revision
}
