package engine

import "runtime"

// growStack lets the stack of a new goroutine grow once, while it is empty. An attempt over HTTP
// needs about as much, and would copy its stack three times, which costs 1 to 2 µs.
//
//go:noinline
func growStack() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}
