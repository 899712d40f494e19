package step

import (
	"fmt"
	"slices"
	"sync"

	"github.com/understudy-mock/understudy/conformance/harness"
)

// parallelSteps send many requests concurrently, to find servers that mix up messages or answers.
var parallelSteps = []step{
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
