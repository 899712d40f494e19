// Package ui is the web page of the stand-in. It shows what happened to each message
// and run and why something waits, and has buttons to move the clock, to restart and
// resume, and to inject faults.
//
//	page := ui.New(server) // any handler of the control API
//	http.Handle("/_understudy/", page)
//
// # A view
//
//	GET /_understudy/ui/messages ── view.go: the table of views ── message.go: asks the API ── templates/messages.html
//	POST /_understudy/ui/do/message.cancel ── action.go: the table of buttons ── asks the API ── back to the view
//
// The page is a client of the control API like any other: it imports neither the engine
// nor the server, and displays JSON. It calls operations of the interface through
// /_understudy/as/ACCOUNT, so that it needs no credentials.
//
// Views are plain HTML with links and forms, and work without scripts. With scripts,
// app.js follows the overview of the account (server-sent events), and htmx fetches
// the view again and updates the parts that differ. The content security policy
// forbids other hosts and inline scripts. html/template escapes all data.
//
// static/htmx.min.js is the unmodified htmx 4.0.1 (Zero-Clause BSD). To update it,
// replace the file. static/inter.woff2 is the Latin subset of Inter 4.1, with the weights
// 400 to 600. templates/icons.html has the icons of lucide that the page uses.
//
// The server keeps no state for the page.
package ui
