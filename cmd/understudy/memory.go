package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/understudy-mock/understudy/mockserver"
)

// A stand-in with a million messages must fit into 800 MiB, next to the application under
// development. A heap grows by at least heapRoom before a collection, because each collection
// has a fixed cost. It may grow to usualFactor times its live bytes, up to largeHeap. A
// larger heap grows by largeGrowth only, or by readGrowth until the server has started: reading
// a journal leaves much garbage.
const (
	heapRoom    = 128 << 20 // bytes
	largeHeap   = 640 << 20 // bytes
	usualFactor = 3
	largeGrowth = 12  // percent, as GOGC
	startGrowth = 400 // percent, until the first collection: a start leaves little garbage, and a collection takes a tenth of its time
	readGrowth  = 50  // percent
)

// heapGrowth is the value of GOGC, in percent, for a heap with this number of live bytes. A
// large heap grows by the given percentage.
func heapGrowth(live, large uint64) int {
	live = max(live, 1<<20)
	next := min(max(live+heapRoom, live*usualFactor), largeHeap)
	return int((max(next, live+live*large/100) - live) * 100 / live)
}

// otherGrowth reports whether two values of GOGC differ by more than a tenth. A smaller
// change is not worth stopping the world.
func otherGrowth(next, now int) bool { return max(next, now)-min(next, now) > now/10 }

// idleBytes is how much a server allocates between two collections, at most, when it does nothing.
const idleBytes = 1 << 20

// nextCollection returns GOGC, in percent, and the soft limit, in bytes, until the next collection.
// The runtime starts a collection every two minutes, also in a server that does nothing. There, only
// the limit starts the next one, when the process has grown by heapRoom. large is as of heapGrowth.
func nextCollection(live, large, allocated, process uint64, ceiling int64) (percent int, limit int64) {
	if allocated < idleBytes {
		return -1, min(int64(process)+heapRoom, ceiling)
	}
	return heapGrowth(live, large), ceiling
}

// restOfMemory is the memory of the process that the server does not count, in bytes.
const restOfMemory = 24 << 20

// memoryCeiling is the soft limit of the heap, in bytes: what the server may hold, and a
// sixteenth more as room between two collections. --memory limits only what is held: without
// a ceiling, the process could take twice that. The ceiling does not exceed containerLimit.
func memoryCeiling(held int64) int64 {
	if held > math.MaxInt64/2 {
		return containerLimit()
	}
	return min(restOfMemory+held+held/16, containerLimit())
}

// containerLimit is the part of a container's memory that the heap may use, in bytes: nine
// tenths of its limit. Without a limit it is math.MaxInt64.
var containerLimit = sync.OnceValue(func() int64 {
	limit, err := memlimit.ApplyRatio(memlimit.FromCgroupHybrid, 0.9)()
	if err != nil || limit == 0 || limit > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(limit)
})

// delayCollection lets the heap grow while a command starts a server. keepLean ends that
// after the first collection.
func delayCollection(args []string) {
	if starts := len(args) > 0 && (args[0] == "serve" || args[0] == "run"); starts && os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(startGrowth)
	}
}

// keepLean sets the growth and the ceiling of the heap after each collection, unless the
// environment sets GOGC or GOMEMLIMIT. server contains nil until the server has started.
func keepLean(server *atomic.Pointer[mockserver.Server]) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	percent, limit, before := startGrowth, int64(math.MaxInt64), uint64(0)
	var watch func(struct{})
	watch = func(struct{}) {
		metrics.Read(samples)
		live, allocs := samples[0].Value.Uint64(), samples[1].Value.Uint64()
		allocated, ceiling, large := allocs-before, int64(math.MaxInt64), uint64(readGrowth)
		before = allocs
		if s := server.Load(); s != nil {
			ceiling, large = memoryCeiling(s.MemoryBound()), largeGrowth
		}
		next, most := nextCollection(live, large, allocated, samples[2].Value.Uint64()-samples[3].Value.Uint64(), ceiling)
		if otherGrowth(next, percent) {
			percent = next
			debug.SetGCPercent(next)
		}
		if max(most, limit)-min(most, limit) > limit/50 { // each change stops the world for a moment, so small changes are skipped
			limit = most
			debug.SetMemoryLimit(most)
		}
		runtime.AddCleanup(new([64]byte), watch, struct{}{}) // the object is unreachable: watch runs after the next collection
	}
	runtime.AddCleanup(new([64]byte), watch, struct{}{})
}
