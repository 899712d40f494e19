//go:build browser

package ui_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// journeys are what people do on the page, from a view on: a line for each click or text, see walk.
var journeys = []struct{ name, from, lines string }{
	{"publish a message that fails, and retry it", "", `
		click Messages 2
		click Publish message
		fill Destination: https://flaky.test/hook
		fill Headers: Svc-Retries: 1
		fill Body: {"order":7}
		click Publish message in view
		see Why is it waiting?
		see 503 response, attempt 1 of 2; next attempt not due yet
		see "order": 7
		click Signature
		see Svc-Signature
		see "alg": "HS256"
		hit .clock summary
		click +1 m
		state FAILED
		see Why did it fail?
		see in the DLQ as
		click Retry
		see was published again.
		click Messages 2
		row
		lands Messages · 
		state DELIVERED`},
	{"watch a run, and notify it", "ui/runs", `
		click wfr_asleep
		see check the order
		see What does it wait for?
		click +1 h
		see reserve
		click Notify paid-wfr_asleep…
		fill Data: {"paid":true}
		click Notify
		see received paid-wfr_asleep
		hit .clock summary
		click Run until idle
		state RUN_SUCCESS
		click Input and output
		see "shipped"`},
	{"find out why a run failed, and resume it", "ui/runs?state=RUN_FAILED", `
		row
		see Why did it fail?
		holds document.querySelector("#view .reasons li").textContent === "print the label failed: the printer is on fire (500), attempt 2 of 2"
		click Resume from print the label
		see continues at the step that failed
		see resumed as this run
		see 5 kept
		state RUN_SUCCESS
		click wfr_order-1043
		lands Runs · wfr_order-1043
		see resumed as`},
	{"find an order id, which leads to the run that failed with it", "", `
		click Jump to…: Ctrl K
		type order-1043
		holds document.querySelector("#choices").innerText.includes("body: {\"order\":\"order-1043\"}")
		holds /^Runs[^]*wfr_order-1043/.test(document.querySelector("#choices li").innerText)
		holds document.querySelectorAll("#choices li").length === new Set([...document.querySelectorAll("#choices li")].map((l) => l.does)).size
		type \r
		lands Runs · wfr_order-1043
		see print the label failed: the printer is on fire (500), attempt 2 of 2`},
	{"compare two runs, whose steps are aligned by name", "ui/runs/wfr_order-1043", `
		type c
		see Compare two runs
		type c
		holds document.activeElement.name === "with"
		type \t\r
		see wfr_asleep
		holds [...document.querySelectorAll("[aria-label=Steps] tbody tr")].filter((r) => r.cells[2].innerText === "not in this run").map((r) => r.cells[0].innerText).sort().join() === "charge,payment,print the label,reserve"
		holds /^(<1|[1-9]\d*) ms$/.test(document.querySelector("[aria-label=Steps] tbody td").innerText)`},
	{"run again from a step", "ui/runs/wfr_order-1043", `
		step cool down
		click Run again from here
		see New run from cool down
		fill Result of check the order: {"total":1
		see Invalid JSON
		fill Result of check the order: {"total":1}
		see − "total": 42
		click Start new run
		see A new run continues from there.
		state RUN_STARTED
		click Input and output
		see "order": 7`},
	{"run again from a step behind a parallel block, which says why it cannot be chosen", "ui/runs/wfr_order-1043", `
		step payment
		holds document.querySelector("#h-pane")?.innerText.startsWith("payment")
		holds document.querySelector("#pane button:disabled")?.title.startsWith("A step of a parallel block, or behind one, cannot be chosen")`},
	{"edit and resend a message, whose JSON is checked", "ui/messages?q=order-1043", `
		row
		click Edit and publish…
		holds document.activeElement.id === "pane"
		fill Body: {"order":"order-1043",
		see Invalid JSON: 
		click Publish message in pane
		see Press the button again to send it as it is.
		fill Body: {"order":"order-1044"}
		see Valid JSON
		see − "order": "order-1043"
		see + "order": "order-1044"
		click Publish message in pane
		see published again as this message
		see "order": "order-1044"
		hit .chain a
		see this message published again as`},
	{"pause a key, and see what waits", "ui/flow", `
		click Pause in key-customer-7
		see The key customer-7 was paused.
		publish https://app.test/held customer-7
		see 1 waiting
		click 1 waiting
		state CREATED
		row
		see flow-control key "customer-7" is paused since
		click Unpause customer-7
		see The key customer-7 was resumed.
		state DELIVERED`},
	{"see what a group did, and the rest of a publish to it", "ui/groups", `
		see Its messages: 2 delivered
		hit #group-team a.button
		row
		click All messages of this publish
		holds [...document.querySelectorAll("#view td[data-col=where]")].map((c) => c.innerText).sort().join() === "app.test/a,app.test/b"`},
	{"clean everything, and undo that", "", `
		click Reset account
		see It forgets 19 messages, 2 runs, 4 DLQ entries, 1 URL group, 1 flow-control key, 3 stubs, the log, 
		click Reset account
		see The account was reset.
		see Send your first message.
		click Undo reset
		see Undone: reset.
		click DLQ 4
		see /mail
		click More
		click Delete all (4)
		see Delete 4 entries?
		click Cancel
		see /mail
		click More
		click Delete all (4)
		click Delete 4 entries
		see The DLQ is empty
		holds [...document.querySelectorAll("#said button")].some((b) => b.textContent === "Undo delete DLQ entries")`},
	{"retry some entries with changes", "ui/dlq?source=message", `
		holds getComputedStyle(document.querySelector("th[data-col=what]")).display === "none"
		type jxjx
		see 2 selected
		click Retry with changes…
		fill Retries: 7
		fill Label: again
		hit #picked .fields button
		see Retry: 2.
		get messages?label=again "maxRetries":7`},
	{"copy the ids of some entries", "ui/dlq?source=message", `
		type jxjx
		see 2 selected
		holds (navigator.clipboard.writeText = async (text) => { window.copied = text; }) !== null
		click Copy IDs
		see Copied
		holds copied === [...document.querySelectorAll("[data-pick]:checked")].map((box) => box.dataset.pick).join("\n") && copied.split("\n").length === 2
		click Clear
		holds document.querySelector("#picked").hidden`},
	{"cancel some messages", "ui/messages?state=RETRY", `
		type jx
		see 1 selected
		click Cancel 1
		see Cancel: 1.
		see No messages match.`},
}

// TestJourneys walks each journey in an account of its own, which has a bit of everything.
func TestJourneys(t *testing.T) {
	t.Parallel()
	for _, j := range journeys {
		t.Run(j.name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
			w := runOrders(t, u)
			u.Stub("https://app.test/*", 200)
			u.Stub("https://down.test/*", 503)
			u.Stub("https://flaky.test/*", 503, 503, 200)
			failed(w, "wfr_order-1043")
			u.Publish("https://app.test/order", []byte(`{"order":"order-1043"}`), "Svc-Flow-Control-Key: customer-7", "Svc-Flow-Control-Value: parallelism=1")
			for range 3 {
				u.Publish("https://down.test/mail", nil, "Svc-Retries: 0")
			}
			u.Publish("https://down.test/later", nil)
			w.send(http.MethodPost, "/v2/topics/team/endpoints", map[string]any{"endpoints": []map[string]string{{"url": "https://app.test/a"}, {"url": "https://app.test/b"}}})
			request(t, u, http.MethodPost, "/v2/publish/team", "to all")
			u.Settle()
			w.trigger("wfr_asleep")
			walk(look(t, u, j.from), u, j.lines)
		})
	}
}

// walk does what each line says: click NAME or NAME in ID, hit SELECTOR, step NAME, row (opens the first), type KEYS, fill LABEL: VALUE,
// publish URL KEY; and waits for: see TEXT, lands TITLE, state STATE, holds EXPRESSION, get PATH TEXT (of the control API).
func walk(b *tab, u *mockserver.TestServer, lines string) {
	b.t.Helper()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		verb, rest, _ := strings.Cut(strings.TrimLeft(strings.TrimSuffix(line, "\n"), "\t"), " ")
		first, second, _ := strings.Cut(rest, map[string]string{"click": " in ", "fill": ": "}[verb]+map[bool]string{true: " "}[verb == "publish" || verb == "get"])
		switch verb {
		case "click":
			if second == "" {
				b.click(rest)
			} else {
				b.clickIn(second, first)
			}
		case "hit":
			b.settled()
			b.do(line, chromedp.Click(chromedp.CSS(rest), chromedp.NodeVisible))
		case "step":
			b.settled()
			b.do(line, chromedp.Click(`//a[@data-step and .//span[.=`+quote(rest)+`]]`, chromedp.NodeVisible))
		case "row":
			b.clickRow()
		case "type":
			b.settled()
			b.keys(strings.NewReplacer(`\r`, "\r", `\t`, "\t").Replace(rest))
		case "fill":
			b.fill(first, second)
		case "publish":
			u.Publish(first, nil, "Svc-Flow-Control-Key: "+second, "Svc-Flow-Control-Value: parallelism=1")
		case "see":
			b.see(rest)
		case "lands":
			b.lands(rest)
		case "state":
			b.state(rest)
		case "holds":
			b.holds(rest, rest)
		case "get":
			expect.Contains(b.t, "answer of "+first, request(b.t, u, http.MethodGet, "/_understudy/"+first, ""), second)
		default:
			b.t.Fatalf("%s: no such line", line)
		}
	}
}
