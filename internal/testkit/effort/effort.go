// Package effort decides how much a test does and how long it waits.
//
// `make test` runs with -short: it leaves out long tests, and does less in others. Each of
// them says so in one line, from which `make verify` knows what it must still run:
//
//	func TestFleet(t *testing.T) {
//		effort.Long(t, "starts a cluster")
//	}
//
//	kills := effort.Amount(t, "KILLS", 2, 20) // -short, full; the variable KILLS overrides both
//
// Waits of tests have deadlines of [Wait], which grow on a slow or busy machine.
package effort

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Later begins the line that a test logs for what `make verify` runs in full.
const Later = "make verify: "

// TB is the part of testing.TB that is needed here.
type TB interface {
	Fatalf(format string, args ...any)
	Helper()
	Logf(format string, args ...any)
	Skip(args ...any)
}

// Long skips a test in its short form. The reason is what it needs or does.
func Long(t TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Skip(Later + reason)
	}
}

// Unraced skips a test under the race detector.
func Unraced(t TB, reason string) {
	t.Helper()
	if Raced {
		t.Skip(Later + reason)
	}
}

// Amount is how often, or how much of something, a test does: less in its short form. The
// environment variable name sets another amount.
func Amount(t TB, name string, short, full int) int {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%s: must be a positive integer", name, text)
		}
		return n
	}
	if !testing.Short() || short == full {
		return full
	}
	t.Logf("%s%s=%d, not %d", Later, name, full, short)
	return short
}

// Wait is how long a test waits for what takes at most d on a quiet machine: longer in
// proportion to how busy this machine is, at most thirty times.
func Wait(d time.Duration) time.Duration {
	return time.Duration(float64(d) * slowness())
}

// slowness compares a fixed computation with the time that it takes on a quiet machine. It
// computes once for each process, for about 50 ms.
var slowness = sync.OnceValue(func() float64 {
	const quiet = 50 * time.Millisecond
	began := time.Now()
	x := uint64(len(os.Args))
	for range 50_000_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	took := time.Since(began)
	if x == 0 { // never, but the loop must not be removed
		return 1
	}
	return min(max(1, float64(took)/float64(quiet)), 30)
})
