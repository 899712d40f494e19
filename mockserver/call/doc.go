// Package call defines Call, one request to an operation as its handler sees it:
// with neutral names, checked against the OpenAPI document, and with the account
// of its credentials.
//
//	func pauseQueue(c *call.Call) (response.Response, error) {
//		return response.Empty, c.Account.SetQueuePaused(c.Vars["queueName"], true)
//	}
//
// The pipeline of the server fills a Call step by step. A handler reads it, calls
// the engine once, and returns. The only field that it may change is Warnings.
package call
