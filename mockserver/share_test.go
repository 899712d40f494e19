package mockserver_test

import (
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

func TestASlowPathDoesNotHoldAnotherPathOfItsHost(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Clock: "real"})
	c := newClient(t, u)
	for range 300 {
		u.Publish(u.URL()+"/_understudy/sink/slow/10m", nil)
	}
	quick := u.URL() + "/_understudy/sink/status/200"
	u.Publish(quick, nil)
	c.do("POST", "/_understudy/await", `{"on":"deliveries","url":"`+quick+`","timeout":"50s"}`).ok()
}
