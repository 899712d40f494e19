// Package call is one request to an operation, as its handler sees it: with
// neutral names, checked against the document, and with the account that its
// credentials open.
//
//	func pauseQueue(c *call.Call) (response.Response, error) {
//		return response.Empty, c.Account.SetQueuePaused(c.Vars["queueName"], true)
//	}
//
// The pipeline of the server fills a Call station by station; a handler reads it,
// calls the engine once, and returns. It may add to Warnings and to nothing else.
package call
