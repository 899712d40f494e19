package state

import (
	"maps"
	"slices"
)

// HeaderKey returns a string that is equal for equal headers.
func HeaderKey(h Header) string {
	var key []byte
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key = append(key, name...)
		for _, v := range h[name] {
			key = append(append(key, 0), v...)
		}
		key = append(key, '\n')
	}
	return string(key)
}
