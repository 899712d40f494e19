// Package stub provides scripted destinations: a stub answers deliveries to a
// matching URL instead of the network.
//
//	var list stub.List
//	list.Set([]stub.Stub{{URL: "https://app.test/*", Answers: []stub.Answer{{Status: "503"}, {Status: "200"}}}})
//	outcome, stubbed := list.Answer(&stub.Request{URL: "https://app.test/hook"}, time.Minute)
//
// It makes no requests and reads no clock: a delay is part of the outcome.
package stub
