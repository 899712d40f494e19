// Package kv implements the key-value REST interface, where the rate-limit plugin
// and the public clients of the service keep their counters.
//
//	store, err := kv.New(kv.Config{Token: "secret"})
//	http.Handle("/kv/", http.StripPrefix("/kv", store))
//
//	ServeHTTP ── token ── command.go: JSON, path or list ── permission.go
//	                                                            │
//	   reply.go: JSON, base64 or RESP2 ◄── embedded.go or remote.go
//
// Without Config.URL, the data are in an embedded miniredis without a socket, whose
// time is Config.Now. It has the commands that reply as a real server does (adapt.go);
// others are refused. With a redis:// URL, the data are in a real server, which has
// its own time. Commands that need a connection of the client (SELECT, SUBSCRIBE,
// BLPOP, WATCH) are not available, and nothing is stored on disk.
//
// No command of the embedded store crashes the process or blocks it forever. A key has
// at most 32 KB, a value with all its elements 100 MB, a request 10 MB (the limits that
// the service publishes), all data together 256 MB, the replies to one request 32 MB. A
// script runs at most 5 s and 50 million instructions; the heap may grow by 256 MB
// meanwhile, and a string that it creates has at most 16 MB. Scripts have no files,
// coroutines, protected calls, or patterns that may backtrack too often.
package kv
