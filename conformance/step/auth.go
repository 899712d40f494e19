package step

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
)

var authSteps = []step{
	{"Given", `the operation "([^"]+)" is accepted with its credentials`, (*Scenario).operationAccepted},
	{"Given", `an account whose (password holds a colon|base64 holds a plus and a slash|base64 holds padding)`, (*Scenario).accountWhose},
	{"When", `the operation "([^"]+)" is requested with its credentials`, (*Scenario).requestOperation},
	{"When", `the same request is sent (without credentials|with (?:a wrong token|a wrong password|a wrong username|the right (?:token|password) and more|most of the right token|the right token in another case|the credentials of another account|the password cut at its colon))`, (*Scenario).again},
	{"When", `(its entry is restarted|the key is resumed|the search index is deleted|the (?:dead letter queue|message logs) (?:is|are) (?:read|filtered by run id)) (without credentials|with wrong credentials|with the credentials of another account)`, (*Scenario).actAs},
	{"Then", `the request is (accepted|refused)`, (*Scenario).answered},
	{"Then", `no new run is started`, (*Scenario).noNewRun},
	{"Then", `the answer does not name the run`, (*Scenario).runNotNamed},
}

// example returns a harmless request to an operation.
func (s *Scenario) example(op string) (harness.Request, error) {
	q := harness.Request{Operation: op}
	if err := s.Claimed(op); err != nil {
		return q, err
	}
	switch op {
	case "publishMessage":
		q.Vars = map[string]string{"destination": s.Endpoint(theDestination).URL}
		q.Body, q.Method = []byte("credentials"), s.PublishMethod()
	case "updateURLGroup":
		if err := s.ownGroup(); err != nil {
			return q, err
		}
		q.Vars = map[string]string{"urlGroupName": s.group.name}
		q.Body, _ = json.Marshal(map[string]any{"headers": map[string]string{"X-Team": "blue"}})
	case "getUsageStatistics":
		if s.User == "" {
			return q, harness.Inconclusive(report.FixtureUnsatisfied, "fixtures.stats_user_id: whose statistics")
		}
		q.Vars, q.Path = map[string]string{"id": s.User}, s.StatsPath()
	}
	return q, nil
}

// requestOperation sends an example of the operation with the credentials of the scenario.
// Later steps judge the answer: many scenarios expect a refusal.
func (s *Scenario) requestOperation(op string) error {
	q, err := s.example(op)
	if err != nil {
		return err
	}
	s.Asked, err = s.Do(q)
	if s.Asked != nil {
		s.endpointsLooked()
	}
	return err
}

// endpointsLooked marks the deliveries that a request may have caused as judged: other
// scenarios check them.
func (s *Scenario) endpointsLooked() {
	if s.Clock.Virtual() {
		_ = s.Clock.Pass(s.Context, 0) // a failing clock fails the next step as well
	}
	for _, e := range s.Endpoints {
		e.Look()
	}
}

// operationAccepted is inconclusive when the target refuses valid credentials: a refusal of
// wrong ones would then prove nothing.
func (s *Scenario) operationAccepted(op string) error {
	if err := s.requestOperation(op); err != nil {
		return err
	}
	return s.Assume(s.Asked.Accepted(), "REQ-AUT-003", "REQ-AUT-004")
}

// again repeats the last request with other credentials.
func (s *Scenario) again(who string) error {
	q, err := s.example(s.Result.Exchanges[s.Asked.Exchange].Operation)
	if err != nil {
		return err
	}
	if q, err = s.as(who, q); err != nil {
		return err
	}
	s.Asked, err = s.Do(q)
	s.endpointsLooked()
	return err
}

func (s *Scenario) answered(how string) error {
	if how == "accepted" {
		return s.Asked.Accepted()
	}
	return s.Asked.Refused()
}

// as sets other credentials on a request. Wrong ones have the form of valid ones, and some are nearly
// right: a comparison that stops at the end of the shorter text, or ignores case, accepts one of them.
func (s *Scenario) as(who string, q harness.Request) (harness.Request, error) {
	scheme := s.Suite.Document.Operation(q.Operation).Security[0]
	right := s.Credential(scheme).Value
	user, basic := string(s.Auth.Basic.Username)+":", scheme == "basic"
	if !basic {
		user = ""
	}
	switch strings.TrimPrefix(who, "with ") {
	case "without credentials":
		q.Auth = "none"
	case "a wrong username":
		q.Token = "x" + right
	case "the right password and more", "the right token and more":
		q.Token = right + "x"
	case "most of the right token":
		q.Token = right[:max(0, len(right)-1)]
	case "the password cut at its colon":
		q.Token = right[:strings.LastIndex(right, ":")]
	case "the right token in another case":
		if q.Token = strings.ToUpper(right); q.Token == right {
			q.Token = strings.ToLower(right)
		}
		if q.Token == right {
			return q, harness.Inconclusive(report.FixtureUnsatisfied, "the token has no letters")
		}
	case "the credentials of another account":
		other, err := s.Stranger()
		if q.Token = string(other.Bearer); basic {
			q.Token = string(other.Basic.Username) + ":" + string(other.Basic.Password)
		}
		return q, err
	default:
		q.Token = user + "wrong" + s.Key
	}
	return q, nil
}

// actAs sends a request with other credentials that changes something, or reads a list.
func (s *Scenario) actAs(what, who string) error {
	q := harness.Request{Operation: "restartWorkflowRun", Vars: map[string]string{"dlqId": entryID(s.runs.entry)}}
	switch what {
	case "its entry is restarted":
		s.runs.restarted.calls = len(s.runs.peer.Endpoint.Look())
	case "the key is resumed":
		q = harness.Request{Operation: "resumeFlowControlKey", Vars: map[string]string{"flowControlKey": s.flow.key}}
	case "the search index is deleted":
		q = harness.Request{Operation: "deleteSearchIndex", Vars: map[string]string{"id": s.searched.id}}
	default:
		list, filtered := "dead letter queue", strings.HasSuffix(what, "run id")
		if strings.Contains(what, "logs") {
			list = "message logs"
		}
		param, err := s.Binding(listed[list].section, "run_id")
		if filtered && err != nil {
			return err
		}
		if q = (harness.Request{Operation: listed[list].operation}); filtered {
			q.Query = map[string][]string{param: {s.runs.id}}
		}
	}
	q, err := s.as(who, q)
	if err != nil {
		return err
	}
	if s.Asked, err = s.Do(q); err == nil {
		s.Looked(s.Asked.Exchange)
	}
	return err
}

// noNewRun requires that the workflow was not called again.
func (s *Scenario) noNewRun() error {
	return s.Absent(func() error {
		if n := len(s.runs.peer.Endpoint.Look()) - s.runs.restarted.calls; n > 0 {
			return s.Failure("the workflow was called by a new run", "no call", strconv.Itoa(n))
		}
		return nil
	})
}

// runNotNamed judges what is listed: an answer may repeat the filter.
func (s *Scenario) runNotNamed() error {
	list := "/" + harness.ListField[s.Asked.Operation.ID]
	items, _ := check.At(s.Asked.JSON, list)
	if pointer, named := harness.Holding(items, s.runs.id); named {
		return s.Asked.Fails(list+pointer, "the answer to another account names the run", "nothing of "+s.runs.id, string(s.Asked.Body))
	}
	return nil
}

// accountWhose creates an account whose password has colons, since HTTP Basic splits the pair at the
// first one, or whose credentials contain padding, or + and /, in base64.
func (s *Scenario) accountWhose(what string) error {
	if _, err := s.Driver("account"); err != nil {
		return err
	}
	for _, password := range []string{"left:right", "a????>>>>b", "a????>>>>bc", "a????>>>>bccc"} {
		s.Key += "b"
		if err := s.OwnAccount(password); err != nil {
			return err
		}
		if string(s.Auth.Basic.Password) != password {
			return harness.Fault(report.DriverFailed, "driver account: managementPassword of the answer differs from the password that was asked for")
		}
		text := base64.StdEncoding.EncodeToString([]byte(string(s.Auth.Basic.Username) + ":" + password))
		if map[string]bool{
			"password holds a colon":          strings.Contains(password, ":"),
			"base64 holds padding":            strings.HasSuffix(text, "="),
			"base64 holds a plus and a slash": strings.Contains(text, "+") && strings.Contains(text, "/"),
		}[what] {
			return nil
		}
	}
	return harness.Inconclusive(report.FixtureUnsatisfied, "no password gives an account whose %s", what)
}
