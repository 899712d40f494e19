// Package saved has states of a server, and parts of them, as documents: snapshots, undo points,
// fixtures and exported journals.
//
//	err := states.WriteSnapshot(file)
//	restored, err := states.Restore(file, "")
//	err = states.Load(saved.Fixture{Name: "shop.yaml", Text: text})
//	err = saved.Export(ctx, file, saved.ExportConfig{Bodies: true}, each) // the file of ctl journal export
//	from, err := saved.OpenFile(name)                                     // a read-only store.Store
//
// Snapshots, fixtures and exports are files of users. Undo points are in memory, compressed and
// bounded: a restart of the server drops them.
//
// A fixture is YAML or JSON, validated against spec/fixture.schema.json. An error names the file,
// line and key.
//
// An export has one JSON document per line: a header; for each account a line that describes it, its
// snapshot if it has one, and its records; and an end line with a checksum of all lines before it.
// docs/reference/versions.md describes the members.
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
	Points     *Points
}

type table = request.Table[*States]
