// Package wire is the names and bytes by which the service talks with
// destinations: bodies of callbacks, steps and invocations, and the headers of
// workflow runs, as pure functions between them and the engine's plain values.
//
//	account := engine.New(engine.Config{Wire: wire.Format{}, ...})
//
//	engine (values) ── Format ──► bytes and headers ──► destination
//	       ▲                                                │
//	       └────────────────── Format ◄─────────────────────┘
//
// Names are the neutral ones; the server puts those of a dialect in their place.
// The package makes no request, keeps nothing and reads no clock.
package wire
