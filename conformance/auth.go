package conformance

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
)

var authSteps = []step{
	{"Given", `the operation "([^"]+)" is accepted with its credentials`, (*scenario).operationAccepted},
	{"Given", `an account whose password holds a colon`, (*scenario).accountWithColon},
	{"Given", `an account whose base64 holds (a plus and a slash|padding)`, (*scenario).accountInBase64},
	{"When", `the operation "([^"]+)" is requested with its credentials`, (*scenario).requestOperation},
	{"When", `the operation "([^"]+)" is requested with the password cut at its colon`, (*scenario).requestCut},
	{"When", `the same request is sent without credentials`, (*scenario).sameWithout},
	{"When", `the same request is sent with (a wrong token|a wrong password|a wrong username|the right (?:token|password) and more|most of the right token|the right token in another case|the credentials of another account)`, (*scenario).sameWith},
	{"When", `its entry is restarted (without credentials|with wrong credentials|with the credentials of another account)`, (*scenario).restartAs},
	{"When", `the key is resumed (without credentials|with wrong credentials|with the credentials of another account)`, (*scenario).resumeAs},
	{"When", `the search index is deleted (without credentials|with wrong credentials|with the credentials of another account)`, (*scenario).deleteAs},
	{"When", `the (dead letter queue|message log) is read with the credentials of another account`, (*scenario).readAsStranger},
	{"When", `a message is published without credentials`, (*scenario).publishWithout},
	{"When", `a message is published with a wrong token in the query`, (*scenario).publishWrongQuery},
	{"Then", `the request is accepted`, (*scenario).accepted},
	{"Then", `the request is refused`, (*scenario).refused},
	{"Then", `no new run is started`, (*scenario).noNewRun},
	{"Then", `the search index can still be found`, (*scenario).searchStillThere},
	{"Then", `the answer does not name the run`, (*scenario).runNotNamed},
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
	token := string(s.auth.Bearer)
	if s.result.Exchanges[s.asked.exchange].Operation == "getVectorInfo" {
		token = string(s.auth.VectorBearer)
	}
	switch what {
	case "the right token and more":
		return s.again("", token+"x")
	case "the right password and more":
		return s.again("", user+":"+password+"x")
	case "most of the right token":
		return s.again("", token[:len(token)-1])
	case "the right token in another case":
		other := strings.ToUpper(token)
		if other == token {
			other = strings.ToLower(token)
		}
		if other == token {
			return skip(report.FixtureUnsatisfied, "the token has no letters")
		}
		return s.again("", other)
	case "the credentials of another account":
		other, err := s.stranger()
		if err != nil {
			return err
		}
		return s.again("", string(other.Basic.Username)+":"+string(other.Basic.Password))
	case "a wrong password":
		return s.again("", user+":wrong"+s.key)
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

// stranger are the credentials of another account.
func (s *scenario) stranger() (target.Auth, error) {
	mine, hidden, user, account := s.auth, s.hidden, s.user, s.clock.account
	key := s.key
	s.key += "o"
	err := s.ownAccount("another-password")
	other := s.auth
	s.auth, s.user, s.clock.account, s.key = mine, user, account, key
	s.hidden = append(hidden, string(other.Bearer), string(other.Basic.Password))
	if err == nil && (other.Bearer == mine.Bearer || other.Basic == mine.Basic) {
		err = skip(report.FixtureUnsatisfied, "the driver \"account\" makes accounts with the same credentials")
	}
	return other, err
}

// as gives a request other credentials. What is wrong has the form of what is
// right.
func (s *scenario) as(who string, q ask) (ask, error) {
	basic := q.op == "deleteSearchIndex" || q.op == "getUsageStatistics"
	switch who {
	case "without credentials":
		q.auth = "none"
	case "with wrong credentials":
		q.token = "wrong" + s.key
		if basic {
			q.token = string(s.auth.Basic.Username) + ":wrong" + s.key
		}
	default:
		other, err := s.stranger()
		if err != nil {
			return q, err
		}
		q.token = string(other.Bearer)
		if basic {
			q.token = string(other.Basic.Username) + ":" + string(other.Basic.Password)
		}
	}
	return q, nil
}

// doAs makes a request with other credentials.
func (s *scenario) doAs(who string, q ask) error {
	q, err := s.as(who, q)
	if err != nil {
		return err
	}
	s.asked, err = s.do(q)
	if err == nil {
		s.looked(s.asked.exchange)
	}
	return err
}

func (s *scenario) restartAs(who string) error {
	s.runs.restarted.calls = len(s.runs.peer.endpoint.Look())
	return s.doAs(who, ask{op: "restartWorkflowRun", vars: map[string]string{"dlqId": entryID(s.runs.entry)}})
}

func (s *scenario) resumeAs(who string) error {
	return s.doAs(who, ask{op: "resumeFlowControlKey", vars: map[string]string{"flowControlKey": s.flow.key}})
}

func (s *scenario) deleteAs(who string) error {
	return s.doAs(who, ask{op: "deleteSearchIndex", vars: map[string]string{"id": s.searched.id}})
}

func (s *scenario) readAsStranger(list string) error {
	op := map[string]string{"dead letter queue": "listWorkflowDLQ", "message log": "listWorkflowMessageLogs"}[list]
	return s.doAs("with the credentials of another account", ask{op: op})
}

// noNewRun demands that the workflow was not called again.
func (s *scenario) noNewRun() error {
	return s.absent(func() error {
		if n := len(s.runs.peer.endpoint.Look()) - s.runs.restarted.calls; n > 0 {
			return s.failure("the workflow was called by a new run", "no call", strconv.Itoa(n))
		}
		return nil
	})
}

func (s *scenario) searchStillThere() error {
	found, err := s.found(s.searched.id)
	if err == nil && !found {
		err = s.failure("the search index", "still there", "none")
	}
	return err
}

func (s *scenario) runNotNamed() error {
	if strings.Contains(string(s.asked.body), s.runs.id) {
		return s.asked.fails("", "the answer to another account names the run", "nothing of "+s.runs.id, string(s.asked.body))
	}
	return nil
}

// accountInBase64 has credentials whose base64 holds what a decoder may refuse.
func (s *scenario) accountInBase64(what string) error {
	if _, err := s.driver("account"); err != nil {
		return err
	}
	password := "a????>>>>b"
	for n := range 3 {
		s.key += "b"
		if err := s.ownAccount(password); err != nil {
			return err
		}
		text := base64.StdEncoding.EncodeToString([]byte(string(s.auth.Basic.Username) + ":" + string(s.auth.Basic.Password)))
		if what == "padding" && strings.HasSuffix(text, "=") || what != "padding" && strings.Contains(text, "+") && strings.Contains(text, "/") {
			return nil
		}
		password += strings.Repeat("c", n+1)
	}
	return skip(report.FixtureUnsatisfied, "no password gives base64 with %s", what)
}
