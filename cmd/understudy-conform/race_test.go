//go:build race

package main

// raced tells tests that measure time that the race detector slows them down.
const raced = true
