// Package wire defines the format of the data that the service exchanges with
// destinations: bodies of callbacks, steps and invocations, and headers of workflow
// runs. Its pure functions convert between this format and values of the engine.
//
//	account := engine.New(engine.Config{Wire: wire.Format{}, ...})
//
//	engine (values) ── Format ──► bytes and headers ──► destination
//	       ▲                                                │
//	       └────────────────── Format ◄─────────────────────┘
//
// Names are the neutral ones; the server replaces them by those of a dialect. The
// package makes no requests, keeps no state and reads no clock.
package wire
