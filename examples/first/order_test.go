// Package first is the first test of the README, in Go.
package first

import (
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

func TestOrderSurvivesAnOutage(t *testing.T) {
	u := mockserver.RunT(t)
	u.Stub("https://payments.test/*", 503, 503, 200)
	u.Publish("https://payments.test/orders", []byte(`{"order":7}`)) // or your application, with u.URL() and u.Token()
	u.Advance(time.Hour)
	if deliveries := u.Deliveries(); len(deliveries) != 3 || deliveries[2].Response.Status != http.StatusOK {
		t.Errorf("got deliveries %+v, want 503, 503, 200", deliveries)
	}
}
