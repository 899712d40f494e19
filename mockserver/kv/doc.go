// Package kv implements the key-value REST interface, where the rate-limit plugin
// and the public clients of the service keep their counters.
//
//	store, err := kv.New(kv.Config{Token: "secret"})
//	http.Handle("/kv/", http.StripPrefix("/kv", store))
//
// # A request
//
//	ServeHTTP ── token ── command.go: JSON, path or list ── permission.go
//	                                                            │
//	   reply.go: JSON, base64 or RESP2 ◄── embedded.go or remote.go
//
// Without Config.URL, the data are in an embedded miniredis without a socket. Its
// time is Config.Now, which also determines when keys expire. With a redis:// URL,
// the data are in a real server, which has its own time.
//
// Header names are the neutral ones (Svc-Encoding, Svc-Response-Format,
// Svc-Sync-Token); the server converts those of a dialect.
//
// A KV serves one account. Commands that need a connection of the client (SELECT,
// SUBSCRIBE, BLPOP, WATCH) are not available, and nothing is stored on disk.
//
// # Commands of the embedded store
//
// Commands of published clients that miniredis lacks are composed of others
// (composed.go, geo.go, stream.go, bitfield.go). A JSON document is stored as a
// string; paths are JSONPath (document.go). Arrays (AR*), search, vectors in keys
// and functions are not available.
//
// # Bounds of the embedded store
//
// No command crashes the process or blocks it forever. A key has at most 32 KB,
// a value with all its elements 100 MB, a request 10 MB (the limits that the
// service publishes), all data together 256 MB, the replies to one request
// 32 MB. A script runs at most 5 s and 50 million instructions; the heap may
// grow by 256 MB meanwhile, and a string that it creates has at most 16 MB. A
// pattern that may backtrack too often is refused. Scripts cannot access files. A
// document has at most 1 MB and 128 levels; a path matches at most 100,000 values.
package kv
