// Package request converts requests to values of the engine: options in headers and
// queries, destinations, the headers to forward, and JSON bodies.
//
//	set := request.SettingsOf(r.Header).WithQuery(r.URL.Query())
//	options, unknown, problems := set.Parse()
//
//	header, query ──► Settings ──► engine.Options, and back by ShowOptions
//	path          ──► ParseDestination ──► a URL, a URL group or a model provider
//	body          ──► Unmarshal, with the place of an error
//
// Names are the neutral ones. Invalid values are returned as problems or as errors
// of package response; callers refuse unknown names or warn about them. The package
// depends on neither server nor account.
package request
