package step

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

var extensionSteps = []step{
	{"Given", `the message has a (failure )?callback`, (*Scenario).withCallback},
	{"Given", `a schedule for every minute( that is paused)?`, (*Scenario).aSchedule},
	{"When", `the message is published (twice|in a batch|and cancelled|and its entry is retried)`, (*Scenario).publishAnd},
	{"When", `a batch with a message for each of them( and a bad one)? is published`, (*Scenario).publishBatch},
	{"When", `(\d+) messages are enqueued`, (*Scenario).enqueue},
	{"When", `(\d+) minutes pass`, (*Scenario).minutesPass},
	{"Then", `they arrive in the order of their publication(, the first one twice)?`, (*Scenario).inOrder},
	{"Then", `between (\d+) and (\d+) deliveries have been made`, (*Scenario).deliveriesBetween},
	{"Then", `the message is recorded as "([A-Z ]+)"`, (*Scenario).messageStates},
	{"Then", `the delivery is signed with the current key for its body and its destination`, (*Scenario).signed},
}

// withCallback prefers the header that the target file binds: the document does not have
// the extensions, so that targets may use their own headers.
func (s *Scenario) withCallback(failure string) {
	binding, name := "callback", header.Callback
	if failure != "" {
		binding, name = "failure_callback", header.FailureCallback
	}
	s.carry(cmp.Or(s.Bound("headers", binding), name), s.Endpoint("callback").URL)
}

// publishAnd publishes the message, and does something with it. Both answers are kept: the second one
// may have to name the first message. The clock moves beyond the delay, where it can, so that a message
// that was not cancelled would arrive. The id of an entry is in the queue, not in the answer.
func (s *Scenario) publishAnd(what string) error {
	if what == "in a batch" {
		return s.postBatch([]map[string]any{{"destination": s.Endpoint(theDestination).URL, "headers": s.prepared.header, "body": string(s.prepared.body)}})
	}
	if err := s.publishIt(); err != nil {
		return err
	}
	switch what {
	case "twice":
		first := s.Asked
		err := s.publishIt()
		s.answers = append(s.answers, first, s.Asked)
		return err
	case "and cancelled":
		_, err := s.Demand(harness.Request{Operation: "cancelMessage", Vars: map[string]string{"messageId": s.message()}})
		if err == nil && s.Clock.Virtual() {
			err = s.Clock.Pass(s.Context, 2*s.prepared.delay)
		}
		return err
	}
	entry, err := s.deadMessage()
	if err == nil {
		_, err = s.Demand(harness.Request{Operation: "retryDLQMessage", Vars: map[string]string{"dlqId": entryID(entry)}})
	}
	return err
}

// publishBatch adds an item with an unsupported scheme if bad is set.
func (s *Scenario) publishBatch(bad string) error {
	var items []map[string]any
	for _, e := range s.Endpoints {
		items = append(items, map[string]any{"destination": e.URL, "body": "message for " + e.Name})
	}
	if bad != "" {
		items = append(items, map[string]any{"destination": "ftp://nobody.test/", "body": "bad"})
	}
	err := s.postBatch(items)
	if bad != "" && s.Asked != nil {
		err = nil // steps judge the answer
	}
	return err
}

func (s *Scenario) postBatch(items []map[string]any) error {
	body, err := json.Marshal(items)
	if err != nil {
		return harness.Fault("", "%v", err)
	}
	return s.Ask(harness.Request{Operation: "publishBatch", Body: body})
}

// enqueue sends each message after the answer to the previous one: otherwise their order in
// the queue is not defined.
func (s *Scenario) enqueue(n int) error {
	for i := range n {
		if err := s.Ask(harness.Request{
			Operation: "enqueueMessage", Vars: map[string]string{"queue": s.Name("queue"), "destination": s.Endpoint(theDestination).URL},
			Header: s.prepared.header, Body: fmt.Appendf(nil, "message %d", i),
		}); err != nil {
			return err
		}
		s.answers = append(s.answers, s.Asked)
	}
	return nil
}

// inOrder compares all attempts, so that it finds a message that overtakes the retry of the
// previous one.
func (s *Scenario) inOrder(twice string) error {
	var want []string
	for i := range s.answers {
		want = append(want, fmt.Sprintf("message %d", i))
	}
	if twice != "" {
		want = append([]string{want[0]}, want...)
	}
	e := s.Endpoint(theDestination)
	return s.AfterRetries(func() error {
		var got []string
		for _, d := range e.Look() {
			got = append(got, string(d.Body))
		}
		if !slices.Equal(got, want) {
			return s.Failure("the deliveries of the queue", strings.Join(want, ", "), strings.Join(got, ", "))
		}
		return nil
	})
}

// callback waits for the first callback and returns its body.
func (s *Scenario) callback() (any, error) {
	var body any
	err := s.AfterRetries(func() error {
		got := s.Endpoint("callback").Look()
		if len(got) == 0 {
			return s.Failure("no callback was sent", "one", "none")
		}
		if body = check.Decode(got[0].Body); body == nil {
			return s.Failure("the body of the callback", "JSON", string(got[0].Body))
		}
		return nil
	})
	return body, err
}

// aSchedule needs a clock driver: the shortest schedule runs once a minute, and steps need
// several runs.
func (s *Scenario) aSchedule(paused string) error {
	if !s.Clock.Virtual() {
		return harness.Inconclusive(report.DriverMissing, "a schedule takes minutes; a clock driver moves them")
	}
	a, err := s.Demand(harness.Request{Operation: "createSchedule", Vars: map[string]string{"destinationOrId": s.Endpoint(theDestination).URL}, Header: http.Header{header.Cron: {"* * * * *"}}, Body: []byte("tick")})
	if err == nil && paused != "" {
		id, _ := check.Text(a.JSON, "/scheduleId")
		_, err = s.Demand(harness.Request{Operation: "pauseSchedule", Vars: map[string]string{"scheduleId": id}})
	}
	return err
}

func (s *Scenario) minutesPass(n int) error {
	return s.Clock.Pass(s.Context, time.Duration(n)*time.Minute)
}

func (s *Scenario) deliveriesBetween(low, high int) error {
	if n := len(s.Endpoint(theDestination).Look()); n < low || n > high {
		return s.Failure("deliveries of the schedule", fmt.Sprintf("%d to %d", low, high), strconv.Itoa(n))
	}
	return nil
}

// message returns the message id of the last answer, "" without one.
func (s *Scenario) message() string {
	id, _ := check.Text(s.Asked.JSON, "/messageId")
	return id
}

// entriesOfMessage asks for the entries of the last message, since the queue of a shared account has others.
func (s *Scenario) entriesOfMessage() (a *harness.Response, entries []any, err error) {
	a, err = s.Demand(harness.Request{Operation: "listDLQ", Query: url.Values{"messageId": {s.message()}}})
	if err == nil {
		entries, err = a.List("messages")
	}
	return a, entries, err
}

// deadMessage waits for the entry of the last message in the dead letter queue.
func (s *Scenario) deadMessage() (entry any, err error) {
	err = s.AfterRetries(func() error {
		a, entries, err := s.entriesOfMessage()
		if err == nil && len(entries) == 0 {
			return a.Fails("/messages", "the dead letter queue", "an entry of "+s.message(), harness.Shown(a.JSON))
		}
		entry, _ = check.At(entries, "/0")
		return err
	})
	return entry, err
}

// messageStates reads the log until it has the expected states: the log may be behind the delivery.
func (s *Scenario) messageStates(want string) error {
	id := s.message()
	return s.AfterRetries(func() error {
		a, err := s.Do(harness.Request{Operation: "listLogs", Query: url.Values{"messageId": {id}}})
		if err != nil {
			return err
		}
		events, _ := check.List(a.JSON, "/logs")
		s.Endpoint(theDestination).Look()
		if got := eventStates(events); got != want {
			return a.Fails("/logs", "the states of the message", want, got)
		}
		return nil
	})
}

// signed verifies the signature with the key of the target file or, without one, of the
// target. It hides the keys in the report.
func (s *Scenario) signed() error {
	got, err := s.FirstDelivery(theDestination)
	if err != nil {
		return err
	}
	key := string(s.Auth.SigningKey)
	if key == "" {
		a, err := s.Do(harness.Request{Operation: "getSigningKeys"})
		if err != nil {
			return err
		}
		if !a.OK() {
			s.Looked(a.Exchange)
			return harness.Inconclusive(report.FixtureUnsatisfied, "target.auth.signing_key: the target does not say with which key it signs (status %d)", a.Status)
		}
		key, _ = check.Text(a.JSON, "/current")
		next, _ := check.Text(a.JSON, "/next")
		s.Hidden = append(s.Hidden, next)
	}
	s.Hidden = append(s.Hidden, key)
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(got.Header.Get(header.Signature), claims, func(*jwt.Token) (any, error) { return []byte(key), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(s.Suite.Dialect.Issuer), jwt.WithSubject(s.Endpoint(theDestination).URL), jwt.WithLeeway(s.Skew()))
	if err != nil {
		return s.Failure("the signature of the delivery", "a JWT that the current key verifies", err.Error())
	}
	sum := sha256.Sum256(got.Body)
	if want := base64.URLEncoding.EncodeToString(sum[:]); fmt.Sprint(claims["body"]) != want {
		return s.Failure("the claim body of the signature", want, fmt.Sprint(claims["body"]))
	}
	return nil
}
