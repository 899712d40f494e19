// Package state has the data of an account as plain values: messages, runs and their steps,
// options, groups, queues, flow-control keys, schedules, the DLQ, the log, and the
// containers that keep them in order.
//
//	s := state.New(seed, "", "")
//	s.Messages[m.ID] = m
//	s.Timers.Add(at, state.WakeMessage, m)
//
// The package has the rules that concern values alone (how options are merged, what a role
// is for, how many bytes something takes) and keeps each container consistent in itself.
// Package engine has the lock, the clock and the commands, and only engine changes a state.
//
// A snapshot is the state at one instant, but commands continue while it is written
// (snapshot_writer.go). At that instant, Begin notes the objects of the state: it keeps lists of
// pointers to large ones and copies small ones. The writer then takes the lock several times, copies
// a few records each time, and writes them without the lock. A command calls Touch before it changes
// an object: if the object is part of the snapshot and not copied yet, Touch makes its record at
// once. MarkNew marks objects created later, which the snapshot leaves out. Each object has its place
// in the document in its SnapshotMark, so that no map of a million messages is needed.
//
// Reading checks all that writing guarantees. The first contradiction is the error, with the place of
// the entry. Values that follow from others, such as sizes and tallies, are not in the document;
// reading computes them.
//
// Most fields are exported for these packages only; callers of the engine see some of the
// types under the names in engine/values.go. The tag saved marks fields that are internal
// to the engine: "apart" if a snapshot has the field in another form, such as the place of
// the object that it points to, and "no" if a snapshot leaves it out because loading
// computes it. All other fields of those types are in a snapshot unchanged.
//
// Values with several pointers to them are never changed, only replaced: headers, bodies,
// options and outcomes are shared by messages, the log, and readers without the lock.
package state
