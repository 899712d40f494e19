// Package ratelimit is the rate-limit plugin: middleware that limits the requests
// to any net/http application.
//
//	config, err := ratelimit.Parse(text)      // the JSON of the interface document
//	limit, err := ratelimit.New(config)
//	http.ListenAndServe(addr, limit(app))
//
// # A request
//
//	route.go: which strategies match ── identifier.go: which client
//	        │
//	        └── engine/ratelimit.Decide ── store.go ── POST, one script ──► KV REST
//	        ▼
//	middleware.go: the application, or 429
//
// Decisions where the interface document is silent:
//
//   - If several strategies match a request, all of them must allow it. The request
//     counts in all of them or, if one refuses, in none.
//   - Over the limit: 429, {"error": ...}, Retry-After and RateLimit-Limit,
//     -Remaining and -Reset in seconds, of the strategy that refuses longest
//     (decided: 24). An admitted request gets the RateLimit-* headers of the strategy
//     with the least remaining.
//   - A missing identifier header: 400 that names it. If the store is down, slow or
//     gives an invalid answer, the request is admitted, and an error is logged and
//     counted (decided: 25).
//   - The method in a key is that of the request, or ALL for a strategy with ALL, whose
//     methods share one counter. GET also limits HEAD, which would bypass the limit
//     otherwise. The route in a key is the pattern: all its URLs share one counter.
//   - Paths match regardless of case and of a trailing slash.
//   - If strategies share method and path but not identifierSource, the identifier in
//     their keys is header.NAME=VALUE or ip=ADDRESS.
//   - Keys contain the SHA-256 of an identifier of more than 512 bytes.
//
// The package uses the store only through the KV REST interface and keeps no counters:
// any number of hosts with one store share the limits.
package ratelimit
