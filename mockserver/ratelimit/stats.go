package ratelimit

import "sync/atomic"

// Stats counts what came of requests, from the start of the host on.
type Stats struct {
	Allowed      atomic.Int64 // within all limits
	Limited      atomic.Int64 // answered 429
	Unidentified atomic.Int64 // answered 400: the identifier header was missing
	FailedOpen   atomic.Int64 // passed since the store could not decide
}
