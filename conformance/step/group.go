package step

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/spec/header"
)

// grouping holds the URL groups of a scenario.
type grouping struct {
	name   string
	other  string
	others int
	times  int // messages published to it
}

var groupSteps = []step{
	{"Given", `a URL group with the endpoints? (".+")`, (*Scenario).makeGroup},
	{"Given", `another URL group with the endpoints? (".+")`, (*Scenario).anotherGroup},
	{"Given", `another URL group with a longer name and the endpoint (".+")`, (*Scenario).longerGroup},
	{"Given", `the group is updated with the default headers:`, (*Scenario).groupDefaults},
	{"When", `a message is published to the other group`, (*Scenario).publishToOther},
	{"When", `a message is published to the group(?: with the token in the (header|query) only)?`, (*Scenario).publishToGroup},
	{"When", `two messages are published to the group one after the other`, (*Scenario).publishTwice},
	{"Then", `the endpoint "([^"]+)" receives nothing`, func(s *Scenario, name string) error { return s.nothingAt(name) }},
	{"Then", `the endpoint "([^"]+)" is tried exactly (once|twice)`, (*Scenario).triedTimes},
	{"Then", `the endpoints? (".+") (?:each receive|receives) both messages`, (*Scenario).eachReceivesBoth},
	{"Then", `the endpoints? (".+") receive nothing before the delay has passed`, (*Scenario).nothingBeforeDelay},
}

// newGroup creates a URL group by the driver.
func (s *Scenario) newGroup(name, endpoints string) error {
	if err := s.Claimed("updateURLGroup"); err != nil {
		return err
	}
	type member struct {
		URL string `json:"url"`
	}
	var members []member
	for _, nick := range harness.QuotedNames(endpoints) {
		members = append(members, member{s.Endpoint(nick).URL})
	}
	list, err := json.Marshal(members)
	if err != nil {
		return harness.Fault("", "%v", err)
	}
	_, err = s.Drive("group", map[string]string{"name": name, "endpoints": string(list)})
	return err
}

// makeGroup creates the URL group of the scenario from the quoted nicknames of its endpoints.
func (s *Scenario) makeGroup(endpoints string) error {
	s.group.name = s.Name("group")
	return s.newGroup(s.group.name, endpoints)
}

// ownGroup makes sure that there is a group to update: one that the driver creates, or the
// one of the target file.
func (s *Scenario) ownGroup() error {
	if s.group.name != "" {
		return nil
	}
	err := s.makeGroup(`"alpha"`)
	if fixture := s.Suite.Target.Fixtures.URLGroup.Name; err != nil && fixture != "" {
		s.group.name, err = fixture, nil
	}
	return err
}

func (s *Scenario) anotherGroup(endpoints string) error {
	s.group.others++
	s.group.other = s.Name(fmt.Sprintf("other%d", s.group.others))
	return s.newGroup(s.group.other, endpoints)
}

// longerGroup creates a group whose name begins with the name of the scenario's first group.
func (s *Scenario) longerGroup(endpoints string) error {
	s.group.other = s.group.name + "2"
	return s.newGroup(s.group.other, endpoints)
}

// groupDefaults sends the documented PATCH with the headers of a table; several values are an array. It
// adds a short retry delay where the target has one; otherwise a failing endpoint takes minutes.
func (s *Scenario) groupDefaults(t *godog.Table) error {
	h := http.Header{}
	for _, row := range rowsOf(t) {
		value, err := s.optionValue(row.Want)
		if err != nil {
			return err
		}
		h[row.Place] = strings.Split(value, ", ")
		if delay := s.Bound("headers", "retry_delay"); row.Place == header.Retries && delay != "" {
			h[delay] = []string{harness.RetryDelay}
		}
	}
	if err := s.Suite.NeedsBrand(slices.Collect(maps.Keys(h))...); err != nil {
		return err
	}
	named := map[string]any{}
	for name, values := range s.Suite.Dialect.BrandHeader(h) {
		named[name] = values
		if len(values) == 1 {
			named[name] = values[0]
		}
	}
	body, err := json.Marshal(map[string]any{"headers": named})
	if err != nil {
		return harness.Fault("", "%v", err)
	}
	a, err := s.Demand(harness.Request{Operation: "updateURLGroup", Vars: map[string]string{"urlGroupName": s.group.name}, Body: body})
	if a != nil {
		s.Observe("group.update.status", fmt.Sprint(a.Status))
	}
	return err
}

func (s *Scenario) publishToOther() error {
	s.publish.body = []byte("message of the other group of " + s.Key)
	return s.published(s.group.other, "")
}

func (s *Scenario) publishToGroup(where string) error {
	s.group.times++
	s.publish.body = fmt.Appendf(nil, "message %d of %s", s.group.times, s.Key)
	return s.published(s.group.name, tokenIn[where])
}

// publishTwice waits for the first message at every endpoint before it publishes the
// second: deliveries of two messages have no order.
func (s *Scenario) publishTwice() error {
	if err := s.publishToGroup(""); err != nil {
		return err
	}
	for _, e := range s.Endpoints {
		if err := s.Settled(e, 1); err != nil {
			return s.Failure("deliveries to the endpoint "+e.Name, "1", err.Error())
		}
	}
	return s.publishToGroup("")
}

// each waits until every endpoint has n deliveries, and calls look with each. More
// deliveries are a failure.
func (s *Scenario) each(endpoints string, n int, look func(name string, got *receiver.Received) error) error {
	for _, name := range harness.QuotedNames(endpoints) {
		e := s.Endpoint(name)
		err := s.Within(func() error {
			if got := len(s.Tries(e)); got < n {
				return s.Failure("deliveries to the endpoint "+name, fmt.Sprint(n), fmt.Sprint(got))
			}
			return nil
		})
		if err != nil {
			return err
		}
		all := s.Tries(e)
		if len(all) != n {
			return s.Failure("deliveries to the endpoint "+name, fmt.Sprint(n), fmt.Sprint(len(all)))
		}
		for _, got := range all {
			if err := look(name, got); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Scenario) triedTimes(name, times string) error {
	err := s.attempts(name, map[string]int{"once": 1, "twice": 2}[times])
	for _, e := range s.Endpoints {
		e.Look() // marks deliveries to other endpoints as judged
	}
	return err
}

// eachReceivesBoth identifies the messages by their bodies, since ids are the target's choice.
func (s *Scenario) eachReceivesBoth(endpoints string) error {
	seen := map[string]bool{}
	return s.each(endpoints, 2, func(name string, got *receiver.Received) error {
		key := name + " " + string(got.Body)
		if seen[key] {
			return s.Failure("the endpoint "+name+" received one message twice", "both messages", string(got.Body))
		}
		seen[key] = true
		return nil
	})
}

func (s *Scenario) nothingBeforeDelay(endpoints string) error {
	return s.delayedAt(harness.QuotedNames(endpoints)...)
}
