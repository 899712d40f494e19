// Package ui is the web page of the stand-in: what happened to each message and
// run, why something waits, and buttons that move time, restart, resume and break
// things.
//
//	page, err := ui.New(server) // any handler of the control API
//	http.Handle("/_understudy/", page)
//
// # A view
//
//	GET /_understudy/ui/messages ── view.go: the table of views ── message.go: asks the API ── templates/messages.html
//	POST /_understudy/ui/do/message.cancel ── action.go: the table of buttons ── asks the API ── back to the view
//
// It is a client of the control API like any other: it knows neither the engine
// nor the server, and shows JSON. Operations of the interface itself it reaches
// through /_understudy/as/ACCOUNT, so that it needs no credentials.
//
// Views are plain HTML with links and forms, and work without scripts. With them,
// app.js follows the overview of the account (server-sent events), and htmx
// fetches the view anew and changes what has changed. Nothing of it comes from
// another host, and nothing inline is run: the content security policy forbids
// both. Whatever is shown goes through html/template.
//
// static/htmx.min.js is htmx 4.0.1 as it is published (Zero-Clause BSD); a newer one
// takes its place as a file.
//
// It keeps nothing: what a reload loses, the API does not know.
package ui
