//go:build race

package main

// raced reports whether the race detector is on, which slows down tests that measure time.
const raced = true
