package main

import "testing"

func TestALargeHeapGrowsByLess(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 100, 100 << 20: 100, 512<<20 + 1: 30, 4 << 30: 30} {
		if got := growth(live); got != want {
			t.Errorf("a heap of %d MiB may grow by %d percent, want %d", live>>20, got, want)
		}
	}
}
