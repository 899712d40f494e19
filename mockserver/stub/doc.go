// Package stub provides scripted destinations: a stub answers deliveries to a
// matching URL instead of the network.
//
//	var list stub.List
//	list.Set([]stub.Stub{{URL: "https://app.test/*", Answers: []stub.Answer{{Status: "503"}, {Status: "200"}}}})
//	outcome, stubbed := list.Answer(&stub.Request{URL: "https://app.test/hook"}, time.Minute)
//
// It makes no requests and reads no clock: a delay is part of the outcome.
//
// Faults are failures by rules, in responses of the interface or in deliveries of an account. The
// first rule that matches and is due applies; rules with a probability draw from a seed.
//
//	var faults stub.Faults
//	rule, err := (&stub.Fault{On: "delivery", URL: "*", Drop: true, Times: 2}).Compile(known)
//	faults.Add(rule)
//	outcome := faults.Attempt(ctx, url, header, deliver) // the connection ends, twice
package stub
