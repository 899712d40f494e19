// Package vectors answers the operations of vector indexes: what to store, to
// find and to delete is read from bodies, and done by the account in one step.
//
//	api := &vectors.API{Embed: vectors.EmbedHash}
//	for id, handle := range vectors.Handlers() { ... handle(api, c) ... } // c: *call.Call
//
// The account of the call and the index that its token opens are settled before. An
// embedding turns texts into vectors for tests: the same text gives the same vector,
// and no model is behind it. The words of some refusals are the service's own.
package vectors
