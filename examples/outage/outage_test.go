package outage_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// The payment provider is down for two hours, recovers, and the retries arrive in the
// right order: seven hours on the manual clock, a few milliseconds in real time.
func TestOutageOfThePaymentProvider(t *testing.T) {
	u := mockserver.RunT(t) // own port, manual clock, closed by t.Cleanup
	u.Stub("https://payments.test/*", http.StatusServiceUnavailable)
	orders := []string{"one", "two", "three"}
	for _, order := range orders {
		u.Publish("https://payments.test/charge", []byte(order), "Upstash-Retries: 5") // what the application under test does
		u.Advance(time.Second)
	}

	u.Advance(2 * time.Hour)
	failed := len(u.Deliveries())
	u.Stub("https://payments.test/*", http.StatusOK) // it recovers
	u.Advance(5 * time.Hour)

	var arrived []string
	for _, d := range u.Deliveries()[failed:] {
		if d.Response.Status == http.StatusOK {
			arrived = append(arrived, string(d.Request.Body))
		}
	}
	if got := strings.Join(arrived, " "); got != "one two three" || failed != 4*len(orders) {
		t.Errorf("arrived: %q after %d failed attempts", got, failed)
	}
}
