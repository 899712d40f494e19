package mockserver_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestAwait(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Clock: "real"})
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	answered := make(chan answer)
	go func() {
		answered <- c.do("POST", "/_understudy/await", `{"on":"deliveries","url":"https://app.test/a","count":2,"timeout":"20s"}`, "Content-Type: application/json")
	}()
	u.Publish("https://app.test/a", []byte("1"))
	u.Publish("https://app.test/b", []byte("2"))
	u.Publish("https://app.test/a", []byte("3"))
	if a := <-answered; a.status != http.StatusOK || a.number("count") != 2 {
		t.Errorf("await: %d %s", a.status, a.raw)
	}
	c.do("POST", "/_understudy/await", `{"on":"events","state":"DELIVERED","count":3}`, "Content-Type: application/json").ok()
	c.do("POST", "/_understudy/await", `{"on":"requests","operation":"publishMessage","status":200,"count":3}`, "Content-Type: application/json").ok()
	a := c.do("POST", "/_understudy/await", `{"on":"deliveries","url":"https://app.test/never","timeout":"50ms"}`, "Content-Type: application/json")
	if a.status != http.StatusGatewayTimeout || !strings.Contains(string(a.raw), "0 of 1 deliveries matched in time") {
		t.Errorf("what never comes: %d %s", a.status, a.raw)
	}
	c.do("POST", "/_understudy/await", `{"on":"stars"}`, "Content-Type: application/json").refused(http.StatusBadRequest, "on")
	c.do("POST", "/_understudy/await", `{"on":"events","advance":"soon"}`, "Content-Type: application/json").refused(http.StatusBadRequest, "advance")
}

func TestAwaitMayMoveTheClock(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://app.test/*", 503, 503, 200)
	u.Publish("https://app.test/a", []byte("1"))
	c.do("POST", "/_understudy/await", `{"on":"deliveries","status":200,"advance":"1d"}`, "Content-Type: application/json").ok()
}

// A journal can be followed: what comes later arrives at once.
func TestJournalsAreFollowed(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/before", nil)
	u.Settle()
	response, err := http.Get(u.URL() + "/_understudy/deliveries?follow=true&url=https://app.test/a")
	expect.NoError(t, err)
	defer response.Body.Close()
	u.Publish("https://app.test/b", nil)
	u.Publish("https://app.test/a", nil)
	line, err := bufio.NewReader(response.Body).ReadString('}')
	expect.Nil(t, "error", err)
	expect.Contains(t, "line", line, `"url":"https://app.test/a"`)
	expect.Lacks(t, "line", line, "before")
}

// Events of a run as a whole have no message; waiting must take them as well.
func TestAwaitWithRuns(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	run := c.do("POST", "/v2/trigger/https://app.test/flow", `{}`).ok().text("workflowRunId")
	u.Settle()
	for name, body := range map[string]string{
		"a run starts":                  `{"on":"events","state":"RUN_STARTED"}`,
		"by the URL of the workflow":    `{"on":"events","state":"RUN_STARTED","url":"https://app.test/flow"}`,
		"by the run":                    `{"on":"events","workflowRunId":"` + run + `"}`,
		"message conditions skip these": `{"on":"events","state":"CREATED","url":"https://app.test/"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c.do("POST", "/_understudy/await", body, "Content-Type: application/json").ok()
		})
	}
}

func TestAwaitNamesItsKeys(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	for name, row := range map[string]struct{ body, want string }{
		"unknown":                 {`{"on":"events","messageID":"m"}`, `body /messageID: unknown property: must be one of advance, count, messageId, on, operation, state, status, timeout, url, workflowRunId; did you mean "messageId"?`},
		"missing":                 {`{}`, "body /on: missing: must be one of "},
		"of another kind":         {`{"on":"requests","messageId":"m"}`, "/messageId: does not apply to requests; conditions of requests: operation, status"},
		"of another kind, status": {`{"on":"events","status":200}`, "/status: does not apply to events; conditions of events: messageId, state, url, workflowRunId"},
		"a state in other case":   {`{"on":"events","state":"delivered"}`, `body /state: invalid value "delivered": must be one of ACTIVE, CANCELED, `},
		"an unknown operation":    {`{"on":"requests","operation":"Publish"}`, `body /operation: invalid value "Publish": must be an operationId`},
		"no time to wait":         {`{"on":"events","timeout":"0s"}`, `body /timeout: invalid value "0s": must be a duration of more than 0, such as 5s`},
	} {
		t.Run(name, func(t *testing.T) {
			c.do("POST", "/_understudy/await", row.body, "Content-Type: application/json").refused(http.StatusBadRequest, row.want)
		})
	}
}
