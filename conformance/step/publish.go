package step

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/fixtures"
	"github.com/understudy-mock/understudy/spec/header"
)

// publishing is the message that a scenario prepares.
type publishing struct {
	header  http.Header
	query   url.Values
	body    []byte
	delay   time.Duration
	started time.Time
	call    fixtures.Webhook // request of a webhook sender, if any
}

var publishSteps = []step{
	{"Given", `(?:a destination|the destinations (".+"))`, (*Scenario).destinations},
	{"Given", `(?:a destination that|the endpoint "([^"]+)") (always )?answers (\d+(?: with a body)?|after \d+ seconds?|a broken connection)(?: (once|twice) and then 200)?`, (*Scenario).answersWith},
	{"Given", `a message with:`, (*Scenario).messageWith},
	{"When", `(?:a|the) message is published(?: to (the path "[^"]*" of the destination|the other destination|the group|the other group))?(?: (with the token in the (?:header|query) only|without credentials|with a wrong token in the query))?`, (*Scenario).publish},
	{"When", `(a|the same) message is published to each of them`, (*Scenario).publishToEach},
	{"When", `(an? (?:code host|payment provider|shop|form service|mail service|telephony provider)) calls the publish address`, (*Scenario).senderCalls},
	{"Then", `(?:the message|a call) arrives(?: at "([^"]+)")?`, (*Scenario).arrives},
	{"Then", `each destination receives its own message once`, (*Scenario).eachReceivesItsOwn},
	{"Then", `the headers of the sender arrive`, (*Scenario).senderHeadersArrive},
	{"Then", `the message is not delivered(?: to (".+"))? before its delay has passed`, (*Scenario).delayedAt},
	{"Then", `nothing arrives at (.+)`, (*Scenario).nothingArrives},
}

// fixtureSeed is the seed of generated data. It is constant, so that runs are comparable.
const fixtureSeed = 8675309

// theDestination is the name of the endpoint in scenarios with one destination.
const theDestination = "the destination"

func (s *Scenario) destinations(names string) {
	for _, name := range harness.QuotedNames(cmp.Or(names, strconv.Quote(theDestination))) {
		s.Endpoint(name)
	}
}

// answersWith sets what an endpoint answers, always or to its first attempts.
func (s *Scenario) answersWith(name, always, what, times string) {
	reply, seconds := receiver.Reply{Reset: what == "a broken connection"}, 0
	if n, _ := fmt.Sscanf(what, "after %d second", &seconds); n > 0 {
		reply.Hold = s.After(time.Duration(seconds) * time.Second)
	}
	status, body, _ := strings.Cut(what, " with ")
	reply.Status, _ = strconv.Atoi(status)
	if body != "" {
		reply.Body, reply.Header = "made", http.Header{"X-Made": {"yes"}}
	}
	e := s.Endpoint(cmp.Or(name, theDestination))
	if always != "" {
		e.Answer(reply)
		return
	}
	e.Answer(receiver.Reply{}, slices.Repeat([]receiver.Reply{reply}, map[string]int{"once": 1, "twice": 2}[times])...)
}

// messageWith configures the message by a table: the place and the name of an option, and its value.
func (s *Scenario) messageWith(t *godog.Table) error {
	for _, row := range rowsOf(t) {
		configure := func(value string) error { return s.option(s.carry, row.Place, value) }
		if row.Place == "body" {
			configure = s.theBodyIs
		}
		if err := configure(row.Want); err != nil {
			return err
		}
	}
	return nil
}

// option sets the header, or the query parameter of the message, that a row of a table names after its
// place. The target file binds a name in braces; a question mark says that the target may not have it.
func (s *Scenario) option(set func(name, value string), place, value string) error {
	name := place[strings.LastIndex(place, " ")+1:]
	value, err := s.optionValue(value)
	if err != nil {
		return err
	}
	bound, isBound := strings.CutPrefix(strings.TrimSuffix(name, "}"), "{")
	switch bound, may := strings.CutSuffix(bound, "?"); {
	case may:
		name, err = s.optional(bound)
	case isBound:
		name, err = s.Binding("headers", bound)
	}
	if err != nil {
		return err
	}
	if strings.HasPrefix(place, "query parameter ") {
		s.prepared.query.Set(strings.ToLower(name), value)
	} else {
		set(name, value)
	}
	if delay := s.Bound("headers", "retry_delay"); strings.HasSuffix(place, header.Retries) && delay != "" { // an illegal retry then comes soon
		set(delay, harness.RetryDelay)
	}
	return nil
}

// optionValue is the value of an option in a table. Seconds are written as the target writes delays.
func (s *Scenario) optionValue(value string) (string, error) {
	seconds := 0
	if n, _ := fmt.Sscanf(value, "%d second", &seconds); n > 0 && strings.Contains(value, " second") {
		return s.delayed(seconds)
	}
	switch {
	case value == "{an id}":
		return s.Name("id"), nil
	case value == "{key}":
		return s.flow.key, nil
	case value == "{other key}":
		return s.Name("other"), nil
	case value == "{chosen run}":
		s.runs.restarted.chosen = "wfr_" + s.Key + "chosen"
		return s.runs.restarted.chosen, nil
	case strings.HasSuffix(value, " callback}"):
		e := s.Endpoint(strings.Trim(value, "{}"))
		e.Aside = true
		return e.URL, nil
	}
	return s.FlowValue(value), nil
}

// carry adds a header value to the message; a repeated name adds a second value.
func (s *Scenario) carry(name, value string) { s.prepared.header.Add(name, value) }

// theBodyIs sets a body that changes when a target decodes and re-encodes it: spacing and
// repeated names in JSON, line ends, bytes that are not text, the order of a form.
func (s *Scenario) theBodyIs(name string) error {
	kind := "application/octet-stream"
	switch name {
	case "JSON with odd spacing":
		kind = "application/json"
		s.prepared.body = []byte("{ \"z\" : 1,\n\t\"a\":[1.0,  2e3 ],\"a\" : \"\\u00e9\\/\" }\n")
	case "nothing":
		s.prepared.body = []byte{}
		return nil
	case "text in several scripts":
		kind = "text/plain; charset=utf-8"
		s.prepared.body = []byte("naïve · Ελληνικά · 日本語 · עברית · 🙂\r\n")
	case "every byte value":
		for i := range 256 {
			s.prepared.body = append(s.prepared.body, byte(i))
		}
	case "200 KiB of pseudo-random bytes":
		r := rand.New(rand.NewPCG(1, 2))
		for range 25 << 10 {
			s.prepared.body = binary.LittleEndian.AppendUint64(s.prepared.body, r.Uint64())
		}
	case "a form":
		kind = "application/x-www-form-urlencoded"
		s.prepared.body = []byte("b=2&a=1&b=%20+x")
	default:
		return harness.Fault("", "no body is called %q", name)
	}
	s.carry("Content-Type", kind)
	return nil
}

// delayed returns a delay in the target's format and stores it for later steps.
func (s *Scenario) delayed(seconds int) (string, error) {
	format := s.Bound("delay", "format")
	if format == "" {
		return "", harness.Inconclusive(report.BindingMissing, "delay.format: how the target writes a delay, such as {n}s")
	}
	s.prepared.delay = time.Duration(seconds) * time.Second
	return strings.ReplaceAll(format, "{n}", fmt.Sprint(seconds)), nil
}

// optional returns the header that a target file may bind for an option that the document does
// not name.
func (s *Scenario) optional(binding string) (string, error) {
	name := s.Bound("headers", binding)
	if name == "" {
		return "", &harness.NoVerdict{Verdict: report.NotApplicable, Detail: "headers." + binding + " is not bound: the target may not have this option"}
	}
	return name, nil
}

// publishTo publishes the prepared message.
func (s *Scenario) publishTo(destination, auth, token string) error {
	if s.prepared.body == nil {
		s.prepared.body = []byte("message of " + s.Key)
	}
	s.prepared.started = harness.Now()
	raw := ""
	if path, query, ok := strings.Cut(destination, "?"); ok {
		destination, raw = path, "?"+query
	}
	a, err := s.Do(harness.Request{
		Operation: "publishMessage", Vars: map[string]string{"destination": destination}, Raw: raw, Query: s.prepared.query,
		Header: s.prepared.header, Body: s.prepared.body, Method: s.PublishMethod(), Auth: auth, Token: token,
	})
	s.Asked = a
	return err
}

// published publishes the prepared message and requires that the target accepts it.
func (s *Scenario) published(destination, auth string) error {
	if err := s.publishTo(destination, auth, ""); err != nil {
		return err
	}
	s.Observe("publish.status", fmt.Sprint(s.Asked.Status))
	return s.Asked.Accepted()
}

func (s *Scenario) publishIt() error { return s.publish("", "") }

// publish publishes the message where a sentence says, with the token at some place, or with credentials
// whose refusal later steps judge.
func (s *Scenario) publish(to, how string) error {
	var destination string
	switch to {
	case "the group":
		destination = s.group.name
		s.prepared.body = []byte(messageOf(destination, s.group.times))
		s.group.times++
	case "the other destination":
		destination = s.Endpoint(to).URL
	case "the other group":
		destination = s.group.other
		s.prepared.body = []byte(messageOf(destination, 0))
	default:
		destination = s.Endpoint(theDestination).URL + strings.Join(harness.QuotedNames(to), "")
	}
	switch how {
	case "without credentials":
		return s.publishTo(destination, "none", "")
	case "with a wrong token in the query":
		return s.publishTo(destination, "query", "wrong"+s.Key)
	}
	return s.published(destination, map[string]string{"with the token in the header only": "bearer", "with the token in the query only": "query"}[how])
}

// publishToEach publishes a different body to each endpoint, so that mixed-up messages are found, or one body,
// so that deduplication by content alone would drop a message.
func (s *Scenario) publishToEach(which string) error {
	for _, e := range s.Endpoints {
		s.prepared.body = []byte("message for " + e.Name)
		if which == "the same" {
			s.prepared.body = []byte("the same for all of " + s.Key)
		}
		if err := s.published(e.URL, ""); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scenario) senderCalls(sender string) error {
	call, ok := fixtures.New(fixtureSeed).WebhookFrom(strings.TrimPrefix(strings.TrimPrefix(sender, "an "), "a "))
	if !ok {
		return harness.Fault("", "no sender is called %q", sender)
	}
	s.prepared.call, s.prepared.body, s.prepared.header = call, call.Body, call.Header.Clone()
	return s.published(s.Endpoint(theDestination).URL, "query")
}

func (s *Scenario) arrives(at string) error {
	_, err := s.FirstDelivery(cmp.Or(at, theDestination))
	return err
}

// eachReceivesItsOwn also counts the deliveries, so that it finds a message that went to
// two endpoints.
func (s *Scenario) eachReceivesItsOwn() error {
	for _, e := range s.Endpoints {
		got, err := s.FirstDelivery(e.Name)
		if err != nil {
			return err
		}
		if want := "message for " + e.Name; string(got.Body) != want {
			return s.Failure("another message came to "+e.Name, want, string(got.Body))
		}
		if n := len(s.Tries(e)); n != 1 {
			return s.Failure("deliveries to "+e.Name, "1", fmt.Sprint(n))
		}
	}
	return nil
}

// senderHeadersArrive compares all headers of the sender except User-Agent: the document
// does not say whose User-Agent a delivery has.
func (s *Scenario) senderHeadersArrive() error {
	got, err := s.FirstDelivery(theDestination)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.prepared.call.Header)) {
		want, got := strings.Join(s.prepared.call.Header[name], ", "), strings.Join(got.Header[name], ", ")
		if name != "User-Agent" && got != want {
			return s.Failure("a header of the sender is missing or changed", name+": "+want, got)
		}
	}
	return nil
}

// boundTolerance is subtracted from lower bounds for the inaccuracy of clocks and networks.
const boundTolerance = 50 * time.Millisecond

// delayedAt requires that each endpoint receives a delivery, and none before the delay has passed.
func (s *Scenario) delayedAt(endpoints string) error {
	names := harness.QuotedNames(cmp.Or(endpoints, strconv.Quote(theDestination)))
	early := func() error {
		for _, name := range names {
			for _, got := range s.Endpoint(name).Look() {
				if since := got.At.Sub(s.prepared.started); s.Clock.Virtual() || since < s.prepared.delay-boundTolerance {
					return s.Failure("the message was delivered early", "not before "+s.prepared.delay.String(), since.Round(time.Millisecond).String())
				}
			}
		}
		return nil
	}
	if s.Clock.Virtual() {
		if err := s.Clock.Pass(s.Context, s.prepared.delay-time.Millisecond); err != nil {
			return err
		}
		if err := early(); err != nil {
			return err
		}
	}
	for _, name := range names {
		if _, err := s.FirstDelivery(name); err != nil {
			return err
		}
	}
	if s.Clock.Virtual() {
		return nil
	}
	return early()
}

// reaches waits until an endpoint has n deliveries.
func (s *Scenario) reaches(name string, n int, what string) error {
	e := s.Endpoint(name)
	return s.Await(what, s.Suite.Target.Timing.DeliveryBudget, func() error {
		if got := len(e.Look()); got < n {
			return s.Failure(what, fmt.Sprintf("at least %d", n), fmt.Sprint(got))
		}
		return nil
	})
}

// nothingArrives takes the name of an endpoint, or several in quotes.
func (s *Scenario) nothingArrives(at string) error {
	if names := harness.QuotedNames(at); len(names) > 0 {
		return s.nothingAt(names...)
	}
	return s.nothingAt(at)
}

// nothingAt checks after the time that a delivery could take. It watches all endpoints over the same
// time: looking at one after the other would take longer.
func (s *Scenario) nothingAt(names ...string) error {
	return s.Absent(func() error {
		for _, name := range names {
			if n := len(s.Endpoint(name).Look()); n > 0 {
				return s.Failure("something arrived at "+name, "nothing", fmt.Sprintf("%d deliveries", n))
			}
		}
		return nil
	})
}
