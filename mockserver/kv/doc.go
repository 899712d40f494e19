// Package kv is the key-value REST interface that the rate-limit plugin and
// the public clients of such a service keep their counters in.
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
// Without Config.URL the data lives in an embedded miniredis that no socket
// leads to and whose time is Config.Now: a key expires when that clock says so.
// With a redis:// URL they live in a real server, which keeps its own time.
//
// Header names are the neutral ones (Svc-Encoding, Svc-Response-Format,
// Svc-Sync-Token); the dialect renames them at the edge of the stand-in.
//
// It serves one owner: an account is a KV of its own. It does not do what needs
// a connection (SELECT, SUBSCRIBE, BLPOP, WATCH), it keeps nothing on disk, and
// it does not stop a script that never ends.
package kv
