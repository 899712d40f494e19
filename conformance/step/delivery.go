package step

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/cucumber/godog"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/workflow"
)

var deliverySteps = []step{
	{"Then", `(the delivery|both deliveries) to (".+") holds?:`, (*Scenario).eachHolds},
	{"Then", `(the delivery|every attempt|the last attempt|every call of the workflow|the first call of the new run) holds:`, (*Scenario).deliveryHolds},
}

// eachHolds judges by a table all deliveries to endpoints, of which each must have the same number.
func (s *Scenario) eachHolds(which, endpoints string, t *godog.Table) error {
	return s.each(endpoints, map[string]int{"the delivery": 1, "both deliveries": 2}[which], func(name string, got *receiver.Received) error {
		return s.holds("the delivery to "+name, itemOf(got), rowsOf(t), nil, map[string]string{})
	})
}

func (s *Scenario) deliveryHolds(which string, t *godog.Table) error {
	all, err := s.deliveries(which)
	known := map[string]string{}
	for i, got := range all {
		if len(all) > 1 {
			which = "number " + strconv.Itoa(i+1)
		}
		if err == nil {
			err = s.holds(which, itemOf(got), rowsOf(t), nil, known)
		}
	}
	return err
}

// deliveries are those that a sentence names.
func (s *Scenario) deliveries(which string) (all []*receiver.Received, err error) {
	switch which {
	case "every call of the workflow":
		return s.runs.peer.Endpoint.Look(), nil
	case "the first call of the new run": // later ones may omit the payload
		all, err = s.newCalls()
		return all[:min(len(all), 1)], err
	case "every attempt":
		for _, name := range []string{theDestination, "alpha", "beta"} {
			if e := s.Named[name]; e != nil {
				all = append(all, e.Look()...)
			}
		}
		return all, nil
	}
	got, err := s.FirstDelivery(theDestination)
	if which == "the last attempt" && err == nil {
		all = s.Tries(s.Endpoint(theDestination))
		got = all[len(all)-1]
	}
	return []*receiver.Received{got}, err
}

// itemOf is a delivery as a table judges it. The values of a header are joined, as a proxy may do.
func itemOf(got *receiver.Received) any {
	headers := map[string]any{}
	for name := range got.Header {
		headers[name] = strings.Join(harness.ValuesOf(got, name), ", ")
	}
	return map[string]any{
		"method": got.Method, "path": got.Path, "header": headers, "body": string(got.Body), "answered": json.Number(strconv.FormatInt(got.Status.Load(), 10)),
		"payload": string(workflow.InitialPayload(got)), "results": strings.Join(workflow.FinishedSteps(got), ", "),
	}
}
