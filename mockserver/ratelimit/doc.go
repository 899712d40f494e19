// Package ratelimit is the rate-limit plugin: middleware that holds any
// net/http application to the limits of a configuration.
//
//	config, err := ratelimit.Parse(text)      // the JSON of the interface document
//	limit, err := ratelimit.New(config)
//	http.ListenAndServe(addr, limit(app))
//
// # A request
//
//	route.go: which strategies match ── identifier.go: who asks
//	        │
//	        └── engine/ratelimit.Decide ── store.go ── POST, one script ──► KV REST
//	        ▼
//	middleware.go: the application, or 429
//
// decided, where the interface document says nothing:
//
//   - Several strategies that match a request must all allow it. It is charged
//     to all of them or, if one refuses, to none.
//   - Over the limit: 429, {"error": ...}, Retry-After and RateLimit-Limit,
//     -Remaining and -Reset in seconds, of the strategy that refuses longest
//     (decided: 24). A request that passes carries RateLimit-* of the one with least
//     left.
//   - A missing identifier header: 400 that names it. A store that is down, slow
//     or answers garbage: the request passes, an error is logged and counted
//     (decided: 25).
//   - The method in a key is the request's; under ALL, which shares one counter, it
//     is ALL. GET limits HEAD too, else HEAD would be a way around it. The route in
//     a key is the pattern, so that one counter serves all URLs that it matches.
//   - Paths match whatever their case, and with or without a slash at the end.
//   - Strategies that share method and path but not identifierSource are told apart
//     in keys: there the identifier is header.NAME=VALUE or ip=ADDRESS.
//   - An identifier of more than 512 bytes stands in keys as its SHA-256.
//
// It reaches its store by the KV REST interface only, and keeps no counter of
// its own: any number of hosts with one store share the limits.
package ratelimit
