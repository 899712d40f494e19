//go:build browser

package ui_test

import (
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// An order id leads to what failed with it, not to what was delivered.
func TestThePaletteLeadsToWhatFailed(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	u.Stub("https://app.test/charge", 500)
	u.Publish("https://app.test/order", []byte("order-1043"))
	failed := u.Publish("https://app.test/charge", []byte("order-1043"), "Svc-Retries: 0")
	u.Publish("https://app.test/mail", []byte("order-1043"))
	u.Settle()
	b := look(t, u, "")
	b.do("Ctrl-K", evaluate(`document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true, cancelable: true }))`))
	b.holds("the palette is open", `document.activeElement.matches("#palette input")`)
	b.keys("order-1043")
	b.holds("the place is shown", `document.querySelector("#choices").innerText.includes("body: order-1043")`)
	b.holds("the failure is first", `document.querySelector("#choices li").innerText.includes("`+failed+`") || document.querySelector("#choices li").innerText.includes("DLQ")`)
}
