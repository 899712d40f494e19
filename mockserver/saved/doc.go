// Package saved has whole states of a server, and parts of them, as documents: snapshots, undo
// points and fixtures.
//
//	err := states.WriteSnapshot(file)
//	restored, err := states.RestoreFrom(file)
//	err = states.Load(saved.Fixture{Name: "shop.yaml", Text: text})
//
// Snapshots and fixtures are files of users. Undo points are in memory, compressed and bounded: a
// restart of the server drops them.
package saved

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// States saves and restores the accounts of a server.
type States struct {
	Tenants *tenant.Registry
	Sinks   interface { // the attempts at the flaky sink, by message
		Save() map[string]int
		Load(map[string]int)
	}
	Configure  func(*request.Call, *engine.PublishRequest, request.Settings) error // reads options
	Neutralise func(*request.Call)                                                 // makes names of a dialect neutral
	Known      func(operation string) bool                                         // reports whether faults may name an operation
	Points     *Points
}

type table = request.Table[*States]

// Handlers has all handlers by operation.
var Handlers = table{}
