package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A stand-in that holds a million messages must fit beside the application that
// is developed: 1 GiB. By default the heap may double between two collections,
// which is the cheapest while it is small; a large one may grow by less.
const (
	largeHeap   = 512 << 20 // bytes that live
	usualGrowth = 100       // percent, as GOGC
	largeGrowth = 30
)

// growth is by how much a heap may grow, in percent.
func growth(live uint64) int {
	if live > largeHeap {
		return largeGrowth
	}
	return usualGrowth
}

// keepLean sets the growth of the heap after each collection, unless the
// environment says how it is to be.
func keepLean() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	current := usualGrowth
	var watch func(struct{})
	watch = func(struct{}) {
		metrics.Read(live)
		if next := growth(live[0].Value.Uint64()); next != current {
			current = next
			debug.SetGCPercent(next)
		}
		runtime.AddCleanup(new([64]byte), watch, struct{}{}) // is called after the next collection
	}
	watch(struct{}{})
}
