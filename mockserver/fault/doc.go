// Package fault injects failures by rules: into the responses of the interface,
// or into the deliveries of an account.
//
//	var faults fault.List
//	rule, err := (&fault.Rule{On: "delivery", URL: "*", Drop: true, Times: 2}).Compile(known)
//	faults.Add(rule)
//	outcome := faults.Attempt(ctx, url, header, deliver) // the connection ends, twice
//
// The first rule that matches and is due applies. Rules with a probability draw
// from a seed, so that a test can repeat them. Without a matching rule, Respond
// returns no response, and Attempt makes the delivery.
package fault
