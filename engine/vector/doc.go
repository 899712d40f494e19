// Package vector is a vector index as plain values: namespaces of vectors, exact
// queries for the nearest ones, filters on metadata, and queries that resume.
//
//	x := vector.New(vector.Config{Name: "docs", Type: vector.Dense, Similarity: vector.Cosine})
//	x.Upsert("", []vector.Vector{{ID: "a", Values: []float32{1, 2}}}, now, lag)
//	nearest, err := x.Query("", vector.Query{Values: []float32{1, 2}, TopK: 3}, now)
//
//	Upsert ── ready after the lag ──► Query, Start ──► Next ... End
//	  │                                 │
//	Check                             Filter
//
// Time is an argument: the package reads no clock. It has no locks, so that its
// caller, an account of the engine, decides what is one step; it knows no
// accounts, no HTTP and no embedding models.
package vector
