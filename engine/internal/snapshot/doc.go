// Package snapshot writes the state of an account as a document, and reads it.
//
//	w := snapshot.NewWriter(lock, s)
//	w.Begin(snapshot.Instant{Epoch: epoch, Account: id, Clock: "manual"})
//	w.Members(c)
//
//	read, err := snapshot.Read(file)
//
// A snapshot is the state at one instant, but commands continue while it is written. At
// that instant, Begin notes the objects of the state: it keeps lists of pointers to large
// ones and copies small ones. The writer then takes the lock several times, copies a few
// records each time, and writes them without the lock. A command calls Touch before it
// changes an object. If the object is part of the snapshot and not copied yet, Touch makes
// its record at once, and the writer keeps it until its turn. MarkNew marks objects created
// later, which the snapshot leaves out.
//
// Each object has its place in the document in its SnapshotMark, so that no map of a million
// messages is needed. An object is therefore in one snapshot at a time, and each snapshot has its
// own epoch. Values that records point to never change: bodies, headers, options, outcomes.
//
// Reading checks all that writing guarantees. The first contradiction is the error, with the
// place of the entry. The result is a state that belongs to no account yet. Values that follow
// from others, such as sizes and tallies, are not in the document; reading computes them.
//
// An entry has the fields of its type in package state, or those of its record in record.go, as
// package codec writes them. Version is the format of a document; this package reads all formats
// that it has ever written.
package snapshot
