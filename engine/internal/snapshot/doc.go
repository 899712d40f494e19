// Package snapshot writes the state of an account as a document, and reads it again.
//
//	w := snapshot.NewWriter(lock, s)
//	w.Begin(snapshot.Instant{Epoch: epoch, Account: id, Clock: "manual"})
//	w.Members(c)
//
//	read, err := snapshot.Read(file)
//
// A snapshot is the state of one instant, and commands continue while it is written. At
// that instant, Begin notes what there is: lists of pointers, and whole what is small.
// Then the writer copies record after record, a few of them each time that it has the
// lock, and writes them without it. A command that changes an object calls Touch before:
// if the object belongs to the instant and is not copied yet, its record is made there
// and then, and kept until its turn. What is new since then is marked so that it is left
// out.
//
// Objects have their place in the mark that they carry, so that no map of a million
// messages is needed. What records point at is never changed: bodies, headers, options,
// outcomes. So an object is in one snapshot at a time, and each snapshot has an epoch of
// its own.
//
// Reading checks as much as writing promises: the first contradiction is the error, with
// the place of the entry. It makes a state that no account has yet; what follows from the
// rest, such as sizes and tallies, is not in the document and is found again.
//
// The names of members are written in member.go and record.go and nowhere else: no name
// of a Go field reaches the file. Version says which form a document has; this package
// reads all forms that it has ever written.
package snapshot
