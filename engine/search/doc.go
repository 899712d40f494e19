// Package search is the list of search indexes of the management API, as plain values.
//
//	indexes := search.Indexes{}
//	made, err := indexes.Create(search.Index{Name: "docs"}, newID, now)
//
// An index is a description with tokens; it has no documents and answers no queries. Time
// and ids are arguments: the package reads no clock and generates no random numbers. It has
// no locks, because its caller, an account of the engine, has one.
package search
