// Package state is everything that an account knows, as plain values: messages, runs
// and their steps, options, groups, queues, flow-control keys, schedules, the DLQ, the
// log, and the containers that keep them in order.
//
//	s := state.New(seed, "", "")
//	s.Messages[m.ID] = m
//	s.Timers.Add(at, state.WakeMessage, m)
//
// It knows what its values mean (how options are laid over each other, what a role is
// for, how many bytes something takes) and keeps each container consistent in itself.
// What happens to them is for package engine: it has the lock, the clock and the
// commands, and is the only one that changes a state. Packages snapshot and view read
// it.
//
// Most fields are exported for these packages alone; callers of the engine see some of
// the types under the names in engine/values.go. A field with the tag saved is one that
// the engine keeps for itself: "apart" if a snapshot has it in another form, such as the
// place of what it points at, and "no" if a snapshot leaves it out because loading finds
// it again. All other fields of those types are in a snapshot as they are.
//
// What several values point at is never changed, only replaced: headers, bodies, options
// and outcomes are shared by messages, the log, and readers without the lock.
package state
