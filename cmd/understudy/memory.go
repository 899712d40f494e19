package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/understudy-mock/understudy/mockserver"
)

// A stand-in that holds a million messages must fit beside the application that
// is developed: 1 GiB. By default the heap may double between two collections,
// which is the cheapest while it is small; a large one may grow by less.
const (
	largeHeap   = 512 << 20 // bytes that live
	usualGrowth = 100       // percent, as GOGC
	largeGrowth = 30
	startGrowth = 400 // until the first collection: a start leaves little behind, and a collection is a tenth of it
)

// heapGrowth is by how much a heap may grow, in percent.
func heapGrowth(live uint64) int {
	if live > largeHeap {
		return largeGrowth
	}
	return usualGrowth
}

// restOfMemory is what the process takes beside what the server counts, in bytes.
const restOfMemory = 24 << 20

// memoryCeiling is the soft limit of the heap, in bytes: what the server may hold, and
// a part more as room between two collections. --memory bounds what is held;
// without a ceiling the process could take twice that.
func memoryCeiling(held int64) int64 {
	if held > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return restOfMemory + held + held/16
}

// delayCollection lets the heap grow while a command starts a server; keepLean ends
// that after the first collection.
func delayCollection(args []string) {
	if starts := len(args) > 0 && (args[0] == "serve" || args[0] == "run"); starts && os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(startGrowth)
	}
}

// keepLean sets the growth and the ceiling of the heap after each collection,
// unless the environment sets them. The server is nil until it has started.
func keepLean(server *atomic.Pointer[mockserver.Server]) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent, limit := startGrowth, int64(math.MaxInt64)
	var watch func(struct{})
	watch = func(struct{}) {
		metrics.Read(live)
		if next := heapGrowth(live[0].Value.Uint64()); next != percent {
			percent = next
			debug.SetGCPercent(next)
		}
		if s := server.Load(); s != nil {
			// Each change stops the world for a moment: small ones wait.
			if next := memoryCeiling(s.MemoryBound()); max(next, limit)-min(next, limit) > limit/50 {
				limit = next
				debug.SetMemoryLimit(next)
			}
		}
		runtime.AddCleanup(new([64]byte), watch, struct{}{}) // is called after the next collection
	}
	runtime.AddCleanup(new([64]byte), watch, struct{}{})
}
