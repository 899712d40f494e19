//go:build race

package effort

// Raced reports whether the race detector runs, which falsifies measurements.
const Raced = true
