package mockserver_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func (c *client) faults(t *testing.T, rules string) {
	t.Helper()
	c.do("PUT", "/_understudy/faults", rules, "Content-Type: application/json").ok()
}

func TestFaultsOfTheAPI(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.faults(t, `[{"on":"api","operation":"publishMessage","preset":"rate-limit-burst","times":2},{"on":"api","operation":"getSigningKeys","status":503,"body":"{\"error\":\"down\"}"}]`)
	for range 2 {
		a := c.do("POST", "/v2/publish/https://app.test/", "x")
		if a.status != http.StatusTooManyRequests || a.header.Get("Burst-Ratelimit-Remaining") != "0" {
			t.Errorf("the preset answers %d %v", a.status, a.header)
		}
	}
	c.do("POST", "/v2/publish/https://app.test/", "x").ok()
	if a := c.do("GET", "/v2/keys", ""); a.status != 503 || !strings.Contains(string(a.raw), "down") {
		t.Errorf("the rule answers %d %s", a.status, a.raw)
	}
	if n := len(u.Deliveries()); n != 1 {
		t.Errorf("%d messages were published; a fault creates nothing", n)
	}
	c.do("DELETE", "/_understudy/faults", "").ok()
	c.do("GET", "/v2/keys", "").ok()
	// The answer breaks off in the middle.
	c.faults(t, `[{"on":"api","operation":"publishMessage","drop":true,"times":1}]`)
	if response, err := http.Post(u.URL()+"/v2/publish/https://app.test/?svc_token="+u.Token(), "text/plain", strings.NewReader("x")); err == nil {
		_, err = response.Body.Read(make([]byte, 4096))
		for err == nil {
			_, err = response.Body.Read(make([]byte, 4096))
		}
		response.Body.Close()
		if !strings.Contains(err.Error(), "unexpected EOF") {
			t.Errorf("the answer ended with %v", err)
		}
	}
}

func TestFaultsOfDeliveries(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	c.faults(t, `[{"on":"delivery","url":"https://app.test/drop","drop":true,"times":1},{"on":"delivery","url":"https://app.test/late","delay":"10s"}]`)
	u.Publish("https://app.test/drop", []byte("x"))
	u.Advance(time.Minute)
	list := u.Deliveries()
	if expect.Equal(t, "number of list", len(list), 2) {
		expect.Contains(t, "list[0].Error", list[0].Error, "fault")
		expect.Equal(t, "list[1].Response.Status", list[1].Response.Status, 200)
	}
	id := u.Publish("https://app.test/late", []byte("x"))
	if state := u.Message(id).State; state != "ACTIVE" {
		t.Errorf("a late delivery is %s at once; want ACTIVE", state)
	}
	u.Advance(10 * time.Second)
	c.do("GET", "/v2/messages/"+id, "").refused(http.StatusNotFound, "")
}

func TestFaultsAreDrawnFromTheSeed(t *testing.T) {
	t.Parallel()
	draw := func() (pattern string) {
		u := mockserver.RunT(t, mockserver.Config{Seed: 9})
		c := newClient(t, u)
		c.faults(t, `[{"on":"api","operation":"getSigningKeys","status":500,"probability":0.5}]`)
		for range 40 {
			if c.do("GET", "/v2/keys", "").status == 500 {
				pattern += "x"
			} else {
				pattern += "."
			}
		}
		return pattern
	}
	a, b := draw(), draw()
	expect.Equal(t, "a", a, b)
	expect.Contains(t, "a", a, "x")
	expect.Contains(t, "a", a, ".")
}

func TestFaultsThatCannotBe(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for rules, want := range map[string]string{
		`[{"on":"moon","status":500}]`:                      "on",
		`[{"on":"api"}]`:                                    "at least one of",
		`[{"on":"api","status":99}]`:                        "status",
		`[{"on":"api","operation":"nothing","status":500}]`: "an operationId",
		`[{"on":"api","url":"x","status":500}]`:             "they are for deliveries",
		`[{"on":"delivery","status":500}]`:                  "a stub answers deliveries",
		`[{"on":"delivery","delay":"soon"}]`:                "a duration",
		`[{"on":"api","status":500,"probability":2}]`:       "probability",
		`[{"on":"api","status":500,"sometimes":1}]`:         "sometimes",
		`{"on":"api"}`:                                      "array",
		`[{"on":"delivery","preset":"rate-limit-daily"}]`:   "on api",
	} {
		c.do("PUT", "/_understudy/faults", rules, "Content-Type: application/json").refused(http.StatusBadRequest, want)
	}
}

func TestOutboundPolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][2]string{
		"stub-only":     {"no stub stands for it", "no stub stands for it"},
		"loopback-only": {"no address of this machine", ""},
	} {
		u := mockserver.RunT(t, mockserver.Config{Outbound: policy})
		u.Publish("http://app.invalid/", []byte("x"), "Svc-Retries: 0")
		u.Settle() // in this order
		u.Publish(u.URL()+"/_understudy/sink/status/200", []byte("x"), "Svc-Retries: 0")
		list := u.Deliveries()
		for i := range want {
			if got := list[i].Error; !strings.Contains(got, want[i]) || want[i] == "" && got != "" {
				t.Errorf("%s: %q; want %q", policy, got, want[i])
			}
		}
	}
	if _, err := mockserver.New(mockserver.Config{Outbound: "nowhere"}); err == nil || !strings.Contains(err.Error(), "must be allow") {
		t.Errorf("an unknown policy: %v", err)
	}
}
