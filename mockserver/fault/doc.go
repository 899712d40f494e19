// Package fault makes something go wrong on purpose: with answers of the
// interface, or with the deliveries of an account.
//
//	var faults fault.List
//	rule, err := (&fault.Rule{On: "delivery", URL: "*", Drop: true, Times: 2}).Compile(known)
//	faults.Add(rule)
//	outcome := faults.Attempt(ctx, url, header, deliver) // the connection ends, twice
//
// The first rule that fits and is due decides; the same seed draws the same. Where
// a rule says nothing, all goes as it would without: Respond has no response, and
// Attempt makes the delivery.
package fault
