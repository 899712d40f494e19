// Package vectors implements the operations of vector indexes: handlers read the
// request body, and call the engine once to store, find or delete vectors.
//
//	api := &vectors.API{Embeds: true}
//	for id, handle := range vectors.Handlers() { ... handle(api, c) ... } // c: *call.Call
//
// The caller sets the account of the call and the index of its token. For tests, an
// embedding without a model turns texts into vectors: the same text gives the same
// vector. Some error texts are those of the service.
package vectors
