package step

import (
	"fmt"
	"slices"
	"sync"

	"github.com/understudy-mock/understudy/conformance/harness"
)

// parallelSteps send many requests concurrently, to find servers that mix up messages or answers.
var parallelSteps = []step{
	{"Given", `(\d+) destinations`, (*Scenario).manyDestinations},
	{"When", `a message is published to each of them at once`, (*Scenario).publishToEachAtOnce},
	{"When", `(\d+) messages are published to the destination at once`, (*Scenario).publishManyAtOnce},
	{"When", `(\d+) messages are published to each group at once`, (*Scenario).publishToGroupsAtOnce},
	{"Then", `(?:the destination receives|the endpoints (".+") each receive) the (\d+) messages(?: of the (other )?group)?`, (*Scenario).receiveMessages},
}

// atOnce calls do n times concurrently and returns the error with the lowest index.
func atOnce(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = harness.Guard(func() error { return do(i) }) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err // a verdict has one reason
		}
	}
	return nil
}

func (s *Scenario) manyDestinations(n int) {
	for i := range n {
		s.Endpoint(fmt.Sprintf("destination %d", i))
	}
}

// publishBody publishes a body, regardless of the message that the scenario prepared.
func (s *Scenario) publishBody(destination, body string) error {
	_, err := s.Demand(harness.Request{Operation: "publishMessage", Vars: map[string]string{"destination": destination}, Body: []byte(body), Method: s.PublishMethod()})
	return err
}

func (s *Scenario) publishToEachAtOnce() error {
	return atOnce(len(s.Endpoints), func(i int) error { return s.publishBody(s.Endpoints[i].URL, "message for "+s.Endpoints[i].Name) })
}

func (s *Scenario) publishManyAtOnce(n int) error {
	url := s.Endpoint(theDestination).URL
	return atOnce(n, func(i int) error { return s.publishBody(url, messageOf(theDestination, i)) })
}

func (s *Scenario) publishToGroupsAtOnce(n int) error {
	return atOnce(2*n, func(i int) error {
		group := s.group.name
		if i%2 == 1 {
			group = s.group.other
		}
		return s.publishBody(group, messageOf(group, i/2))
	})
}

func messageOf(place string, i int) string { return fmt.Sprintf("message %d for %s", i, place) }

// receivesAll waits until an endpoint has received each of n messages and no others.
func (s *Scenario) receivesAll(name, place string, n int) error {
	e := s.Endpoint(name)
	return s.Within(func() error {
		var want, got []string
		for i := range n {
			want = append(want, messageOf(place, i))
		}
		for _, d := range e.Look() {
			if body := string(d.Body); !slices.Contains(got, body) { // a repeated delivery is legal
				got = append(got, body)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return s.Failure("the messages that came to "+name, fmt.Sprint(want), fmt.Sprint(got))
		}
		return nil
	})
}

func (s *Scenario) receiveMessages(endpoints string, n int, other string) error {
	if endpoints == "" {
		return s.receivesAll(theDestination, theDestination, n)
	}
	group := s.group.name
	if other != "" {
		group = s.group.other
	}
	for _, name := range harness.QuotedNames(endpoints) {
		if err := s.receivesAll(name, group, n); err != nil {
			return err
		}
	}
	return nil
}
