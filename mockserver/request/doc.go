// Package request reads what requests say, into the engine's values: options in
// headers and queries, destinations, which headers go on, and JSON bodies.
//
//	set := request.SettingsOf(r.Header).WithQuery(r.URL.Query())
//	options, unknown, problems := set.Parse()
//
//	header, query ──► Settings ──► engine.Options, and back by ShowOptions
//	path          ──► ParseDestination ──► a URL, a URL group or a model provider
//	body          ──► Unmarshal, with the place where it breaks
//
// Names are the neutral ones. What is refused comes back as problems or as errors
// of package response; what nobody knows is the caller's to refuse or to warn of.
// The package knows no server and no account.
package request
