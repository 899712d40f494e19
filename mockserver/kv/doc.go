// Package kv implements the key-value REST interface, where the rate-limit plugin
// and the public clients of the service keep their counters.
//
//	store, err := kv.New(kv.Config{Token: "secret"})
//	http.Handle("/kv/", http.StripPrefix("/kv", store))
//
//	ServeHTTP ── token ── command.go: JSON, path or list
//	                                │
//	   reply.go: JSON, base64 or RESP2 ◄── store.go: miniredis ◄── script.go
//
// The data are in a miniredis without a socket, whose time is Config.Now. It replies as that
// library does, which differs from a real server in places. Commands that need a connection of
// the client (SELECT, SUBSCRIBE, BLPOP, WATCH) are not available, and nothing is stored on disk.
//
// No request crashes the process or blocks it: a key has at most 32 KB, a value with all its
// elements 100 MB, a request 10 MB (the limits that the service publishes), all data together
// 256 MB, the replies to one request 32 MB. A request runs for at most 5 s, and ends when its
// client leaves; its scripts have at most 50 million instructions, and the heap may grow by
// 128 MB meanwhile. Scripts have no files, coroutines or protected calls.
package kv
