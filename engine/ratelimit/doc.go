// Package ratelimit decides whether a request is within a limit.
//
//	decisions, err := ratelimit.Decide(ctx, store, now, ratelimit.Request{Limit: limit, Key: key})
//
// Each of the three algorithms has two implementations, which a property test compares: a pure
// function of the state before the request (FixedWindow, SlidingWindow, TokenBucket), which
// computes the whole decision; and a Lua script (*.lua), which decides atomically in the store.
//
//	Decide ── one script: read all, charge all or none ──► Store
//	   ▲                                                     │
//	   └── pure function ◄── the state before, per request ──┘
//
// A request under several limits is charged to all of them or to none.
//
// Time is an argument: the package reads no clock. It does not depend on HTTP, routes or
// accounts.
package ratelimit
