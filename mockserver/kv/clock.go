package kv

import "time"

// wallTime is the default of Config.Now. It is the only place in this package that
// reads the wall clock.
func wallTime() time.Time { return time.Now() }
