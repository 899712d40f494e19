// Package ratelimit decides whether a request is within a limit.
//
//	decisions, err := ratelimit.Decide(ctx, store, now, ratelimit.Request{Limit: limit, Key: key})
//
// The three algorithms stand here twice, and a property test holds the two
// together: as pure functions of the state before the request (FixedWindow,
// SlidingWindow, TokenBucket), which say everything about a decision; and as one
// Lua script each (*.lua), which make it atomically where the state is kept.
//
//	Decide ── one script: read all, charge all or none ──► Store
//	   ▲                                                     │
//	   └── pure function ◄── the state before, per request ──┘
//
// A request under several limits is charged to all of them or to none.
//
// Time is an argument: the package reads no clock. It knows no HTTP, no routes
// and no accounts.
package ratelimit
