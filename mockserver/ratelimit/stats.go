package ratelimit

import "sync/atomic"

// Stats counts requests by their result since the start of the host.
type Stats struct {
	Allowed      atomic.Int64 // within all limits
	Limited      atomic.Int64 // answered 429
	Unidentified atomic.Int64 // answered 400: the identifier header was missing
	FailedOpen   atomic.Int64 // admitted because the store failed
}
