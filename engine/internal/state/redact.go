package state

import (
	"crypto/sha256"
	"encoding/hex"
)

// RedactedValue returns a hash of a value, so that values can be compared without being shown.
func RedactedValue(v []byte) []byte {
	sum := sha256.Sum256(v)
	return []byte("REDACTED:" + hex.EncodeToString(sum[:]))
}
