//go:build race

package main

// raced reports whether the race detector is on. It slows down tests that measure time.
const raced = true
