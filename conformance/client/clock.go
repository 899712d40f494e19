package client

import "time"

// now is the real time: requests arrive in real time.
func now() time.Time { return time.Now() }
