package explore

import "time"

// now is real time: a scenario and its application run in it, while the clock of the account jumps.
func now() time.Time { return time.Now() }

// DefaultQuiet is how long an application must not call before a case ends.
const DefaultQuiet = 20 * time.Millisecond

// newTicker ticks in real time; the caller stops it.
func newTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }
