package state

import (
	"crypto/sha256"
	"encoding/hex"
)

// RedactedValue stands for a value that must not be shown, yet can be compared.
func RedactedValue(v []byte) []byte {
	sum := sha256.Sum256(v)
	return []byte("REDACTED:" + hex.EncodeToString(sum[:]))
}
