//go:build browser

package ui_test

import (
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// TestUndoOnThePage resets an account with a click, and undoes that with another.
func TestUndoOnThePage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	u.Publish("https://down.test/a", []byte("order-7"), "Svc-Retries: 0")
	u.Settle()
	b := look(t, u, "")
	b.click("Reset account")
	b.see("It forgets 1 message, 1 DLQ entry, 1 stub, the log, ")
	b.click("Reset account")
	b.see("The account was reset.")
	b.see("Send your first message.")
	b.click("Undo reset")
	b.see("Undone: reset.")
	b.visit("ui/dlq")
	b.see("down.test/a")
	b.click("Delete")
	b.see("The DLQ is empty")
	b.holds("the button undoes this deletion", `[...document.querySelectorAll("#said button")].some((b) => b.textContent.startsWith("Undo delete DLQ entr"))`)
	b.visit("")
	b.click("Undo going back")
	b.see("Send your first message.")
}
