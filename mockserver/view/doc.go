// Package view shows values of the engine as the interface writes them: bodies of
// responses, with each field where the document has it.
//
//	page, err := account.DLQ(filter)
//	for i := range page.Items { list = append(list, view.DLQEntry(&page.Items[i])) }
//
// Fields are absent rather than empty, times are Unix ms, and bodies are text, or
// base64 where they are none. Options are shown by the table of package request.
// Names are the neutral ones; credentials are the caller's to hide.
package view
