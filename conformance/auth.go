package conformance

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/report"
)

var authSteps = []step{
	{"Given", `the operation "([^"]+)" is accepted with its credentials`, (*scenario).operationAccepted},
	{"Given", `an account whose password holds a colon`, (*scenario).accountWithColon},
	{"When", `the operation "([^"]+)" is requested with its credentials`, (*scenario).requestOperation},
	{"When", `the operation "([^"]+)" is requested with the password cut at its colon`, (*scenario).requestCut},
	{"When", `the same request is sent without credentials`, (*scenario).sameWithout},
	{"When", `the same request is sent with (a wrong token|a wrong password|a wrong username)`, (*scenario).sameWith},
	{"When", `a message is published without credentials`, (*scenario).publishWithout},
	{"When", `a message is published with a wrong token in the query`, (*scenario).publishWrongQuery},
	{"Then", `the request is accepted`, (*scenario).accepted},
	{"Then", `the request is refused`, (*scenario).refused},
}

// homes are the profile and the area of the operations that scenarios about
// signing in ask for.
var homes = map[string]struct{ profile, area string }{
	"getUsageStatistics":      {"USAGE", "stats"},
	"getVectorInfo":           {"INDEX", "vector"},
	"listWorkflowDLQ":         {"WF-RECOVER", "dlq"},
	"listWorkflowMessageLogs": {"WF-READ", "log"},
	"publishMessage":          {"MSG", "publish"},
	"updateURLGroup":          {"GROUP", "group"},
}

// claimed is an error for an operation that the target neither claims nor has.
func (s *scenario) claimed(op string) error {
	home, claims := homes[op], s.suite.cfg.Target.Profiles
	if len(claims) > 0 && !slices.Contains(claims, home.profile) {
		return &inconclusive{report.NotApplicable, "", "the target does not claim the profile " + home.profile}
	}
	if why := s.suite.absent[home.area]; why != "" {
		return &inconclusive{report.NotApplicable, "", why}
	}
	return nil
}

// example is a request to an operation that has no consequences to speak of.
func (s *scenario) example(op string) (ask, error) {
	q := ask{op: op}
	if err := s.claimed(op); err != nil {
		return q, err
	}
	switch op {
	case "publishMessage":
		q.vars = map[string]string{"destination": s.endpoint(to).URL}
		q.body, q.method = []byte("credentials"), s.publishMethod()
	case "updateURLGroup":
		if err := s.ownGroup(); err != nil {
			return q, err
		}
		q.vars = map[string]string{"urlGroupName": s.group.name}
		q.body, _ = json.Marshal(map[string]any{"headers": map[string]string{"X-Team": "blue"}})
	case "getUsageStatistics":
		if s.user == "" {
			return q, skip(report.FixtureUnsatisfied, "fixtures.stats_user_id: whose statistics")
		}
		q.vars, q.path = map[string]string{"id": s.user}, s.statsPath()
	}
	return q, nil
}

// name makes a name that no other scenario and no other run has.
func (s *scenario) name(kind string) string {
	return s.suite.cfg.Target.Isolation.Prefix + "-" + s.key + "-" + kind
}

func (s *scenario) requestOperation(op string) error {
	q, err := s.example(op)
	if err != nil {
		return err
	}
	s.asked, err = s.do(q)
	if s.asked != nil {
		s.endpointsLooked()
	}
	return err
}

// endpointsLooked waits for what a request may have delivered; whether it did is
// another scenario's question.
func (s *scenario) endpointsLooked() {
	if s.clock.virtual() {
		_ = s.clock.pass(s.ctx, 0) // a clock that fails says so at the next step
	}
	for _, e := range s.endpoints {
		e.Look()
	}
}

func (s *scenario) operationAccepted(op string) error {
	if err := s.requestOperation(op); err != nil {
		return err
	}
	if !s.asked.ok() {
		s.looked(s.asked.exchange)
		return skip(report.PrerequisiteFailed, "%s with its credentials answered %d", op, s.asked.status)
	}
	return nil
}

// again repeats the last request with other credentials.
func (s *scenario) again(auth, token string) error {
	q, err := s.example(s.result.Exchanges[s.asked.exchange].Operation)
	if err != nil {
		return err
	}
	q.auth, q.token = auth, token
	s.asked, err = s.do(q)
	s.endpointsLooked()
	return err
}

func (s *scenario) sameWithout() error { return s.again("none", "") }

func (s *scenario) sameWith(what string) error {
	user, password := string(s.auth.Basic.Username), string(s.auth.Basic.Password)
	switch what {
	case "a wrong password":
		return s.again("", user+":"+password+"x")
	case "a wrong username":
		return s.again("", "x"+user+":"+password)
	}
	return s.again("", "wrong"+s.key)
}

func (s *scenario) publishWithout() error { return s.publishTo(s.endpoint(to).URL, "none", "") }

func (s *scenario) publishWrongQuery() error {
	return s.publishTo(s.endpoint(to).URL, "query", "wrong"+s.key)
}

func (s *scenario) accountWithColon() error {
	if _, err := s.driver("account"); err != nil {
		return err
	}
	s.key += "c"
	if err := s.ownAccount("left:right"); err != nil {
		return err
	}
	if s.auth.Basic.Password != "left:right" {
		return harness(report.DriverFailed, "driver account: managementPassword of the answer differs from the password that was asked for")
	}
	return nil
}

func (s *scenario) requestCut(op string) error {
	q, err := s.example(op)
	if err != nil {
		return err
	}
	left, _, _ := strings.Cut(string(s.auth.Basic.Password), ":")
	q.token = string(s.auth.Basic.Username) + ":" + left
	s.asked, err = s.do(q)
	return err
}

func (s *scenario) accepted() error { return s.asked.accepted() }

func (s *scenario) refused() error { return s.asked.refused() }
