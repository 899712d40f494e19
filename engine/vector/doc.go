// Package vector is a vector index as plain values: namespaces of vectors, exact
// nearest-neighbour queries, filters on metadata, and resumable queries.
//
//	x := vector.New(vector.Config{Name: "docs", Type: vector.Dense, Similarity: vector.Cosine})
//	x.Upsert("", []vector.Vector{{ID: "a", Values: []float32{1, 2}}}, now, lag)
//	nearest, err := x.Query("", vector.Query{Values: []float32{1, 2}, TopK: 3}, now)
//
//	Upsert ── ready after the lag ──► Query, Start ──► Next ... End
//	  │                                 │
//	Check                             Filter
//
// Time is an argument: the package reads no clock. It has no locks, so that its caller, an
// account of the engine, decides what is atomic. It does not depend on accounts, HTTP or
// embedding models.
package vector
