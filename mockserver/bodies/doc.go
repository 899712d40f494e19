// Package bodies converts values of the engine into response bodies, with the fields
// that the interface document defines.
//
//	page, err := account.DLQ(filter)
//	for i := range page.Items { list = append(list, bodies.DLQEntry(&page.Items[i])) }
//
// Empty fields are absent and times are Unix ms. Bodies are text, or base64 if they
// are not valid UTF-8. The table of package request writes the options. Names are the
// neutral ones, without the brand of a dialect. Callers mask the credentials.
package bodies
