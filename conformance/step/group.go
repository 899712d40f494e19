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
	{"Given", `(a|another) URL group(?: with (a longer name) and| with) the endpoints? (".+")`, (*Scenario).groupOf},
	{"Given", `the group is updated with the default headers:`, (*Scenario).groupDefaults},
	{"When", `two messages are published to the group one after the other`, (*Scenario).publishTwice},
	{"Then", `the endpoints (".+") each receive the (\d+) messages of the group`, (*Scenario).receiveMessages},
}

// messageOf is the body of a message that is published to a group.
func messageOf(group string, i int) string { return fmt.Sprintf("message %d for %s", i, group) }

// receiveMessages waits until each endpoint has received each of n messages of the group and no others.
func (s *Scenario) receiveMessages(endpoints string, n int) error {
	var want []string
	for i := range n {
		want = append(want, messageOf(s.group.name, i))
	}
	slices.Sort(want)
	for _, name := range harness.QuotedNames(endpoints) {
		e := s.Endpoint(name)
		err := s.Within(func() error {
			var got []string
			for _, d := range e.Look() {
				if body := string(d.Body); !slices.Contains(got, body) { // a repeated delivery is legal
					got = append(got, body)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				return s.Failure("the messages that came to "+name, fmt.Sprint(want), fmt.Sprint(got))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
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

// groupOf creates a URL group. Another one may have a name that begins with the name of the first.
func (s *Scenario) groupOf(which, longer, endpoints string) error {
	if which == "a" {
		return s.makeGroup(endpoints)
	}
	s.group.others++
	if s.group.other = s.Name(fmt.Sprintf("other%d", s.group.others)); longer != "" {
		s.group.other = s.group.name + "2"
	}
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

// publishTwice waits for the first message at every endpoint before it publishes the
// second: deliveries of two messages have no order.
func (s *Scenario) publishTwice() error {
	if err := s.publish("the group", ""); err != nil {
		return err
	}
	for _, e := range s.Endpoints {
		if err := s.Settled(e, 1); err != nil {
			return s.Failure("deliveries to the endpoint "+e.Name, "1", err.Error())
		}
	}
	return s.publish("the group", "")
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
