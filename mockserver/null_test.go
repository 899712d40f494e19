package mockserver_test

import (
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// Clients send null for what they leave out: each body with nulls does what the
// same body without them does.
func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, method, path, body string }{
		{"batch without a queue", "POST", "/v2/batch", `[{"destination":"https://e.test/","queue":null}]`},
		{"batch without a body", "POST", "/v2/batch", `[{"destination":"https://e.test/","body":null}]`},
		{"batch without headers", "POST", "/v2/batch", `[{"destination":"https://e.test/","headers":null}]`},
		{"batch with a header that is null", "POST", "/v2/batch", `[{"destination":"https://e.test/","headers":{"Svc-Delay":null,"Svc-Label":["a"]}}]`},
		{"batch of triggers", "POST", "/v2/batch/trigger", `[{"destination":"https://e.test/","headers":null,"body":null,"queue":null}]`},
		{"queue", "POST", "/v2/queues", `{"queueName":"q","parallelism":null,"paused":null}`},
		{"endpoints of a group", "POST", "/v2/topics/g/endpoints", `{"endpoints":[{"name":null,"url":"https://e.test/"}]}`},
		{"control API", "PUT", "/_understudy/stubs", `[{"url":"https://e.test/*","method":null,"header":{"X":null},"answers":null}]`},
	}
	for _, row := range cases {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			u.Stub("*")
			newClient(t, u).do(row.method, row.path, row.body).ok()
		})
	}
}

func TestANullHeaderIsNotSent(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	newClient(t, u).do("POST", "/v2/batch", `[{"destination":"https://e.test/","headers":{"X-Null":null,"Svc-Forward-X-Null":null,"X-Value":"v"}}]`).ok()
	u.Advance(time.Second)
	header := u.Deliveries()[0].Request.Header
	if _, there := header["X-Null"]; there {
		t.Errorf("header %v", header)
	}
}

// A null inside the content of a message is content.
func TestNullInTheBodyOfAMessageIsDelivered(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*")
	newClient(t, u).do("POST", "/v2/batch", `[{"destination":"https://e.test/","queue":null,"body":{"b" : null, "a":"<"}}]`).ok()
	u.Advance(time.Second)
	if got, want := string(u.Deliveries()[0].Request.Body), `{"b" : null, "a":"<"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
