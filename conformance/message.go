package conformance

import (
	"bytes"
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
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec/header"
)

// extending is what scenarios of the extensions know.
type extending struct {
	answers  []*answer
	schedule string
}

var extensionSteps = []step{
	{"Given", `a destination that answers with a body of its own`, (*scenario).speakingDestination},
	{"Given", `the message has a deduplication id`, (*scenario).withDeduplicationID},
	{"Given", `the message is deduplicated by its content`, (*scenario).byContent},
	{"Given", `the message has a (failure )?callback`, (*scenario).withCallback},
	{"Given", `a schedule for every minute( that is paused)?`, (*scenario).aSchedule},
	{"When", `the message is published twice`, (*scenario).publishItTwice},
	{"When", `the same message is published to each of them`, (*scenario).publishSame},
	{"When", `a batch with a message for each of them( and a bad one)? is published`, (*scenario).publishBatch},
	{"When", `(\d+) messages are enqueued`, (*scenario).enqueue},
	{"When", `(\d+) minutes pass`, (*scenario).minutesPass},
	{"When", `the message is published and cancelled`, (*scenario).publishAndCancel},
	{"When", `the message is published and its entry is retried`, (*scenario).publishAndRetry},
	{"Then", `the second answer names the first message as deduplicated`, (*scenario).namesFirst},
	{"Then", `nothing arrives at "([^"]+)" or "([^"]+)"`, (*scenario).nothingAtEither},
	{"Then", `they arrive in the order of their publication(, the first one twice)?`, (*scenario).inOrder},
	{"Then", `the callback carries the status and the body of the destination`, (*scenario).callbackCarries},
	{"Then", `the failure callback is sent once and names an entry of the dead letter queue`, (*scenario).failureCallbackOnce},
	{"Then", `no failure callback is sent`, (*scenario).noFailureCallback},
	{"Then", `between (\d+) and (\d+) deliveries have been made`, (*scenario).deliveriesBetween},
	{"Then", `the message can be read with its destination and its body`, (*scenario).messageReadable},
	{"Then", `the message is in the dead letter queue with the status (\d+)`, (*scenario).messageDead},
	{"Then", `the message is no longer in the dead letter queue`, (*scenario).messageNotDead},
	{"Then", `the message is recorded as "([A-Z ]+)"`, (*scenario).messageStates},
	{"Then", `the delivery is signed with the current key for its body and its destination`, (*scenario).signed},
}

func (s *scenario) speakingDestination() error {
	s.endpoint(to).Answer(&receiver.Reply{Status: http.StatusCreated, Body: "made", Header: http.Header{"X-Made": {"yes"}}})
	return nil
}

func (s *scenario) withDeduplicationID() error {
	return s.carry("", header.DeduplicationID, s.name("dedup"))
}

func (s *scenario) byContent() error {
	return s.carry("", header.ContentBasedDeduplication, "true")
}

func (s *scenario) withCallback(failure string) error {
	binding, name := "callback", header.Callback
	if failure != "" {
		binding, name = "failure_callback", header.FailureCallback
	}
	if bound := s.bound("headers", binding); bound != "" {
		name = bound
	}
	return s.carry("", name, s.endpoint("callback").URL)
}

func (s *scenario) publishItTwice() error {
	for range 2 {
		if err := s.publishIt(); err != nil {
			return err
		}
		s.extra.answers = append(s.extra.answers, s.asked)
	}
	return nil
}

func (s *scenario) publishSame() error {
	s.publish.body = []byte("the same for all of " + s.key)
	for _, e := range s.endpoints {
		if err := s.published(e.URL, ""); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) publishBatch(bad string) error {
	var items []map[string]any
	for _, e := range s.endpoints {
		items = append(items, map[string]any{"destination": e.URL, "body": "message for " + e.Name})
	}
	if bad != "" {
		items = append(items, map[string]any{"destination": "ftp://nobody.test/", "body": "bad"})
	}
	body, err := json.Marshal(items)
	if err != nil {
		return harness("", "%v", err)
	}
	s.asked, err = s.do(ask{op: "publishBatch", body: body})
	if err != nil || bad != "" {
		return err
	}
	return s.asked.accepted()
}

func (s *scenario) nothingAtEither(a, b string) error {
	return s.absent(func() error {
		for _, name := range []string{a, b} {
			if n := len(s.endpoint(name).Look()); n > 0 {
				return s.failure("something arrived at "+name, "nothing", fmt.Sprintf("%d deliveries", n))
			}
		}
		return nil
	})
}

func (s *scenario) namesFirst() error {
	first, _ := check.Text(s.extra.answers[0].json, "/messageId")
	second, _ := check.Text(s.extra.answers[1].json, "/messageId")
	if again, _ := check.At(s.extra.answers[1].json, "/deduplicated"); first == "" || first != second || again != true {
		return s.asked.fails("/messageId", "the second answer", first+", deduplicated", shown(s.asked.json))
	}
	return nil
}

func (s *scenario) enqueue(n int) error {
	for i := range n {
		a, err := s.do(ask{
			op: "enqueueMessage", vars: map[string]string{"queue": s.name("queue"), "destination": s.endpoint(to).URL},
			header: s.publish.header, body: fmt.Appendf(nil, "message %d", i),
		})
		if err != nil {
			return err
		}
		s.asked = a
		if err := a.accepted(); err != nil {
			return err
		}
		s.extra.answers = append(s.extra.answers, a)
	}
	return nil
}

func (s *scenario) inOrder(twice string) error {
	var want []string
	for i := range s.extra.answers {
		want = append(want, fmt.Sprintf("message %d", i))
	}
	if twice != "" {
		want = append([]string{want[0]}, want...)
	}
	e := s.endpoint(to)
	return s.afterRetries(func() error {
		var got []string
		for _, d := range e.Look() {
			got = append(got, string(d.Body))
		}
		if !slices.Equal(got, want) {
			return s.failure("the deliveries of the queue", strings.Join(want, ", "), strings.Join(got, ", "))
		}
		return nil
	})
}

// callback waits for the first one.
func (s *scenario) callback() (any, error) {
	var body any
	err := s.afterRetries(func() error {
		got := s.endpoint("callback").Look()
		if len(got) == 0 {
			return s.failure("no callback was sent", "one", "none")
		}
		decoder := json.NewDecoder(bytes.NewReader(got[0].Body))
		decoder.UseNumber()
		return decoder.Decode(&body)
	})
	return body, err
}

func (s *scenario) callbackCarries() error {
	body, err := s.callback()
	if err != nil {
		return err
	}
	s.endpoint(to).Look()
	status, _ := check.Integer(body, "/status")
	text, _ := check.Text(body, "/body")
	if status != http.StatusCreated || text != base64.StdEncoding.EncodeToString([]byte("made")) {
		return s.failure("the callback", `status 201 and "made" in base64`, shown(body))
	}
	return nil
}

func (s *scenario) failureCallbackOnce() error {
	body, err := s.callback()
	if err != nil {
		return err
	}
	s.endpoint(to).Look()
	if err := s.quiet(nil); err != nil {
		return err
	}
	if n := len(s.endpoint("callback").Look()); n != 1 {
		return s.failure("failure callbacks", "1", strconv.Itoa(n))
	}
	id, _ := check.Text(body, "/dlqId")
	entry, err := s.deadMessage()
	if err == nil && entryID(entry) != id {
		err = s.failure("the entry that the failure callback names", entryID(entry), id)
	}
	return err
}

func (s *scenario) noFailureCallback() error {
	return s.absent(func() error {
		if n := len(s.endpoint("callback").Look()); n > 0 {
			return s.failure("failure callbacks", "none", strconv.Itoa(n))
		}
		return nil
	})
}

func (s *scenario) aSchedule(paused string) error {
	if !s.clock.virtual() {
		return skip(report.DriverMissing, "a schedule takes minutes; a clock driver moves them")
	}
	a, err := s.do(ask{op: "createSchedule", vars: map[string]string{"destinationOrId": s.endpoint(to).URL}, header: http.Header{header.Cron: {"* * * * *"}}, body: []byte("tick")})
	if err != nil {
		return err
	}
	if err := a.accepted(); err != nil {
		return err
	}
	s.extra.schedule, _ = check.Text(a.json, "/scheduleId")
	if paused == "" {
		return nil
	}
	if a, err = s.do(ask{op: "pauseSchedule", vars: map[string]string{"scheduleId": s.extra.schedule}}); err != nil {
		return err
	}
	return a.accepted()
}

func (s *scenario) minutesPass(n int) error {
	return s.clock.pass(s.ctx, time.Duration(n)*time.Minute)
}

func (s *scenario) deliveriesBetween(low, high int) error {
	if n := len(s.endpoint(to).Look()); n < low || n > high {
		return s.failure("deliveries of the schedule", fmt.Sprintf("%d to %d", low, high), strconv.Itoa(n))
	}
	return nil
}

// message is the id that the last publish answered.
func (s *scenario) message() string {
	id, _ := check.Text(s.asked.json, "/messageId")
	return id
}

func (s *scenario) messageReadable() error {
	a, err := s.do(ask{op: "getMessage", vars: map[string]string{"messageId": s.message()}})
	if err != nil {
		return err
	}
	if err := a.accepted(); err != nil {
		return err
	}
	address, _ := check.Text(a.json, "/url")
	body, _ := check.Text(a.json, "/body")
	if address != s.endpoint(to).URL || body != string(s.publish.body) {
		return a.fails("/url", "the message", s.endpoint(to).URL+" and its body", shown(a.json))
	}
	return nil
}

func (s *scenario) publishAndCancel() error {
	if err := s.publishIt(); err != nil {
		return err
	}
	a, err := s.do(ask{op: "cancelMessage", vars: map[string]string{"messageId": s.message()}})
	if err != nil {
		return err
	}
	if err := a.accepted(); err != nil {
		return err
	}
	if s.clock.virtual() {
		return s.clock.pass(s.ctx, 2*s.publish.delay)
	}
	return nil
}

// deadMessage is the entry of the message that was published.
func (s *scenario) deadMessage() (entry any, err error) {
	id := s.message()
	err = s.afterRetries(func() error {
		a, err := s.do(ask{op: "listDLQ", query: url.Values{"messageId": {id}}})
		if err != nil {
			return err
		}
		if err := a.accepted(); err != nil {
			return err
		}
		var ok bool
		if entry, ok = check.At(a.json, "/messages/0"); !ok {
			return a.fails("/messages", "the dead letter queue", "an entry of "+id, shown(a.json))
		}
		return nil
	})
	return entry, err
}

func (s *scenario) messageDead(status int) error {
	s.endpoint(to).Look()
	entry, err := s.deadMessage()
	if err != nil {
		return err
	}
	s.endpoint(to).Look()
	if got, _ := check.Integer(entry, "/responseStatus"); got != int64(status) {
		return s.failure("the status of the entry", strconv.Itoa(status), strconv.FormatInt(got, 10))
	}
	return nil
}

func (s *scenario) publishAndRetry() error {
	if err := s.publishIt(); err != nil {
		return err
	}
	entry, err := s.deadMessage()
	if err != nil {
		return err
	}
	a, err := s.do(ask{op: "retryDLQMessage", vars: map[string]string{"dlqId": entryID(entry)}})
	if err != nil {
		return err
	}
	return a.accepted()
}

func (s *scenario) messageNotDead() error {
	a, err := s.do(ask{op: "listDLQ", query: url.Values{"messageId": {s.message()}}})
	if err != nil {
		return err
	}
	if _, has := check.At(a.json, "/messages/0"); has {
		return a.fails("/messages", "the dead letter queue", "no entry", shown(a.json))
	}
	return nil
}

func (s *scenario) messageStates(want string) error {
	id := s.message()
	return s.afterRetries(func() error {
		a, err := s.do(ask{op: "listLogs", query: url.Values{"messageId": {id}}})
		if err != nil {
			return err
		}
		list, _ := check.At(a.json, "/logs")
		events, _ := list.([]any)
		s.endpoint(to).Look()
		if got := states(events); got != want {
			return a.fails("/logs", "the states of the message", want, got)
		}
		return nil
	})
}

func (s *scenario) signed() error {
	got, err := s.one(to)
	if err != nil {
		return err
	}
	key := string(s.auth.SigningKey)
	if key == "" {
		a, err := s.do(ask{op: "getSigningKeys"})
		if err != nil {
			return err
		}
		if !a.ok() {
			s.looked(a.exchange)
			return skip(report.FixtureUnsatisfied, "target.auth.signing_key: the target does not say with which key it signs (status %d)", a.status)
		}
		key, _ = check.Text(a.json, "/current")
		next, _ := check.Text(a.json, "/next")
		s.hidden = append(s.hidden, next)
	}
	s.hidden = append(s.hidden, key)
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(got.Header.Get(header.Signature), claims, func(*jwt.Token) (any, error) { return []byte(key), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(s.suite.dialect.Issuer), jwt.WithSubject(s.endpoint(to).URL), jwt.WithLeeway(s.skew()))
	if err != nil {
		return s.failure("the signature of the delivery", "a JWT that the current key verifies", err.Error())
	}
	sum := sha256.Sum256(got.Body)
	if want := base64.URLEncoding.EncodeToString(sum[:]); fmt.Sprint(claims["body"]) != want {
		return s.failure("the claim body of the signature", want, fmt.Sprint(claims["body"]))
	}
	return nil
}
