package state

import (
	"time"
)

// The states of a failure callback. CALLBACK_SUCCESS is documented; for the others, decided: 16.
const (
	CallbackInProgress = "CALLBACK_INPROGRESS"
	CallbackSuccess    = "CALLBACK_SUCCESS"
	CallbackFail       = "CALLBACK_FAIL"
	CallbackCanceled   = "CALLBACK_CANCELED"
)

// CallbackInfo is the state of a failure callback ("DLQ entry", failureCallbackInfo).
type CallbackInfo struct {
	MessageID     string
	State         string
	Status        int
	Body          []byte
	Header        Header
	RequestHeader Header
	EndedAt       time.Time
}
