package mockserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
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
		expect.Equal(t, "status of the preset", a.status, http.StatusTooManyRequests)
		expect.Equal(t, "header Burst-Ratelimit-Remaining of the preset", a.header.Get("Burst-Ratelimit-Remaining"), "0")
	}
	c.do("POST", "/v2/publish/https://app.test/", "x").ok()
	a := c.do("GET", "/v2/keys", "")
	expect.Equal(t, "status of the rule", a.status, 503)
	expect.Contains(t, "answer of the rule", string(a.raw), "down")
	expect.Equal(t, "number of deliveries; a fault creates none", len(u.Deliveries()), 1)
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
			t.Errorf("end of the answer: got %v, want an unexpected EOF", err)
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
	if expect.Equal(t, "number of deliveries", len(list), 2) {
		expect.Contains(t, "error of the first delivery", list[0].Error, "fault")
		expect.Equal(t, "status of the second delivery", list[1].Response.Status, 200)
	}
	id := u.Publish("https://app.test/late", []byte("x"))
	expect.Equal(t, "state of a late delivery at once", u.Message(id).State, "ACTIVE")
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
	expect.Equal(t, "pattern of the same seed", a, b)
	expect.Contains(t, "pattern", a, "x")
	expect.Contains(t, "pattern", a, ".")
}

func TestFaultsThatCannotBe(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for rules, want := range map[string]string{
		`[{"on":"moon","status":500}]`:                                `body /0/on: invalid value "moon": must be one of api, delivery`,
		`[{"on":"api"}]`:                                              "body /0: must be an object with at least one of status, delay",
		`[{"on":"api","status":99}]`:                                  "body /0/status: invalid value",
		`[{"on":"api","status":700}]`:                                 "body /0/status: invalid value",
		`[{"on":"api","operation":"nothing","status":500}]`:           `body /0/operation: invalid value "nothing": must be an operationId`,
		`[{"on":"api","url":"x","status":500}]`:                       `body /0/on: invalid value "api": must be delivery with url, duplicate or reorder`,
		`[{"on":"delivery","status":500}]`:                            `body /0/on: invalid value "delivery": must be api with operation, status, headers, body or executed; a stub answers deliveries`,
		`[{"on":"api","drop":true},{"on":"delivery","delay":"soon"}]`: `body /1/delay: invalid value "soon": must be a duration such as 3s`,
		`[{"on":"api","status":500,"probability":2}]`:                 "body /0/probability: invalid value 2: must be",
		`[{"on":"api","status":500,"times":-1}]`:                      "body /0/times: invalid value -1: must be",
		`[{"on":"api","status":500,"sometimes":1}]`:                   "sometimes",
		`{"on":"api"}`: "array",
		`[{"on":"api","status":500,"headers":{"a:":"x"}}]`: `body /0/headers: invalid value "a:": must be names of headers`,
		`[{"on":"delivery","preset":"rate-limit-daily"}]`:  `body /0/preset: invalid value "rate-limit-daily": must be rate-limit-daily or rate-limit-burst, with on: api`,
	} {
		c.do("PUT", "/_understudy/faults", rules, "Content-Type: application/json").refused(http.StatusBadRequest, want)
	}
}

func TestOutboundPolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][2]string{
		"stub-only":     {"no stub matches it", "no stub matches it"},
		"loopback-only": {"192.0.2.1 is not a loopback address", ""},
	} {
		u := mockserver.RunT(t, mockserver.Config{Outbound: policy})
		u.Publish("http://192.0.2.1/", []byte("x"), "Svc-Retries: 0")
		u.Settle() // in this order
		u.Publish(u.URL()+"/_understudy/sink/status/200", []byte("x"), "Svc-Retries: 0")
		list := u.Deliveries()
		for i := range want {
			expect.Contains(t, policy+": error", list[i].Error, want[i])
			if want[i] == "" {
				expect.Equal(t, policy+": error", list[i].Error, "")
			}
		}
	}
	_, err := mockserver.New(mockserver.Config{Outbound: "nowhere"})
	if err == nil {
		t.Fatal("an unknown policy: got no error, want one")
	}
	expect.Contains(t, "error of an unknown policy", err.Error(), "must be one of allow")
}

func TestACallTakesEffectThoughItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{"another status": `"status":503`, "a connection that ends": `"drop":true`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			u.Stub("https://app.test/*", 200)
			c := newClient(t, u)
			c.faults(t, `[{"on":"api","operation":"publishMessage","executed":true,"times":1,`+rule+`}]`)
			request, _ := http.NewRequest(http.MethodPost, u.URL()+"/v2/publish/https://app.test/x", nil)
			request.Header.Set("Authorization", "Bearer "+u.Token())
			if r, err := http.DefaultClient.Do(request); err == nil {
				_, err := io.ReadAll(r.Body)
				r.Body.Close()
				expect.Equal(t, "the answer is 503 or breaks off", r.StatusCode == 503 || err != nil, true)
			}
			expect.Equal(t, "deliveries", len(u.Deliveries()), 1)
			all := u.Requests()
			expect.Equal(t, "recorded requests", len(all), 1)
		})
	}
	newClient(t, mockserver.RunT(t)).do("PUT", "/_understudy/faults", `[{"on":"api","executed":true,"delay":"1s"}]`, "Content-Type: application/json").
		refused(http.StatusBadRequest, "/0/executed")
}

func TestAReorderedDeliveryComesAfterTheNextAlsoWithASeed(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Seed: 1})
	u.Stub("https://app.test/*", 200)
	c := newClient(t, u)
	c.faults(t, `[{"on":"delivery","url":"https://app.test/a*","reorder":true}]`)
	for _, path := range []string{"a1", "a2", "b", "c"} {
		u.Publish("https://app.test/"+path, nil, "Svc-Delay: 1h")
	}
	u.Advance(time.Hour)
	var order string
	for _, d := range u.Deliveries() {
		order += strings.TrimPrefix(d.URL, "https://app.test/") + " "
	}
	expect.Equal(t, "order", order, "b c a1 a2 ")
}

func TestBothRequestsOfADuplicateAreRecorded(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Seed: 1})
	u.Script(mockserver.Stub{URL: "https://app.test/*", Answers: []mockserver.Answer{{Status: "201"}, {Status: "202"}}})
	newClient(t, u).faults(t, `[{"on":"delivery","duplicate":true,"times":1}]`)
	u.Publish("https://app.test/x", nil)
	list := u.Deliveries()
	expect.Equal(t, "recorded requests", len(list), 2)
	expect.Equal(t, "statuses", [2]int{list[0].Response.Status, list[1].Response.Status}, [2]int{201, 202})
	expect.Contains(t, "note", list[0].Note, "sent twice")
	expect.Contains(t, "note", list[1].Note, "second answer")
}

// TestASeededServerSignsForTheClockOfItsDestination verifies as an application does: by the time
// of the machine.
func TestASeededServerSignsForTheClockOfItsDestination(t *testing.T) {
	t.Parallel()
	signed := make(chan string, 1)
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		signed <- r.Header.Get(published.HeaderPrefix + "Signature")
	}))
	t.Cleanup(app.Close)
	u := mockserver.RunT(t, mockserver.Config{Seed: 1})
	u.Publish(app.URL, []byte("x"))
	u.Settle()
	claims := jwt.RegisteredClaims{}
	if _, err := jwt.ParseWithClaims(<-signed, &claims, func(*jwt.Token) (any, error) {
		return []byte(allEnv(u.Server)["UNDERSTUDY_CURRENT_SIGNING_KEY"]), nil
	}); err != nil {
		t.Errorf("signature: %v", err)
	}
	expect.Contains(t, "the delivery that is recorded", fmt.Sprint(u.Deliveries()[0].Request.Header), published.HeaderPrefix+"Signature")
}
