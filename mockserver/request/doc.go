// Package request defines Call, one request to an operation as its handler sees it, with the
// account of its credentials, and converts the parts of requests to values of the engine:
// options in headers and queries, destinations, the headers to forward, and JSON bodies.
//
//	func (a *API) pauseQueue(c *request.Call) (any, error) {
//		return response.Empty, c.Account.SetQueuePaused(c.Vars["queueName"], true)
//	}
//
// The pipeline of the server fills a Call step by step, and checks it against the OpenAPI
// document. A handler reads it, calls the engine once, and returns. The only field that it may
// change is Warnings.
//
//	set := request.SettingsOf(r.Header).WithQuery(r.URL.Query())
//	options, unknown, problems := set.Parse()
//
//	header, query ──► Settings ──► engine.Options, and back by ShowOptions
//	path          ──► ParseDestination ──► a URL, a URL group or a model provider
//	body          ──► Unmarshal, with the place of an error
//
// Names are the neutral ones. Invalid values are returned as problems or as errors
// of package response; callers refuse unknown names or warn about them.
package request
