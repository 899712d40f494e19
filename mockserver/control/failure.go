package control

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/delivery"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

// failureBody is the latest failed attempt of a message or a run, and the possible actions.
type failureBody struct {
	Reason    string         `json:"reason"` // the step, the attempt, and the first line of the answer or of the error
	MessageID string         `json:"messageId"`
	Step      string         `json:"stepName,omitempty"`
	Attempt   int            `json:"attempt"` // from 1
	Attempts  int            `json:"attempts"`
	Status    int            `json:"responseStatus,omitempty"`
	Error     string         `json:"error,omitempty"` // why there was no answer
	Stack     *stackBody     `json:"stack,omitempty"` // of the answer
	Signature *signatureBody `json:"signature,omitempty"`
	Can       []remedyBody   `json:"can"`
}

type stackBody struct {
	Own  string `json:"own,omitempty"` // the innermost call in the endpoint's own code
	Text string `json:"text"`
}

// signatureBody describes the signature of an attempt that the endpoint refused with
// 401 or 403.
type signatureBody struct {
	Header   string   `json:"header"`
	Key      string   `json:"key"`                // current, next, unknown, dropped
	Variable string   `json:"variable,omitempty"` // environment variable of the endpoint that must contain the key
	Checks   []string `json:"checks"`             // what to compare, in words
}

// remedyBody is an action that the caller can take.
type remedyBody struct {
	Do     string `json:"do"` // retry, resume, restart, hurry, open the answer
	Method string `json:"method"`
	Path   string `json:"path"`
}

// refusedSignature are the statuses with which endpoints refuse a signature.
var refusedSignature = []int{401, 403}

// failureOf describes the latest failure; nil if nothing has failed.
func (s *Service) failureOf(w *tenant.Tenant, f *engine.LastFailure, dlqID string) *failureBody {
	if f == nil {
		return nil
	}
	out := failureBody{Reason: f.Reason, MessageID: f.MessageID, Step: f.Step, Attempt: f.Attempt, Attempts: f.Attempts, Status: f.Outcome.Status, Error: f.Outcome.Err}
	if trace, ok := FindTrace(f.Outcome.Body); ok {
		out.Stack = &stackBody{trace.Own, trace.Text}
	}
	if slices.Contains(refusedSignature, f.Outcome.Status) {
		out.Signature = s.signatureOf(w, f)
	}
	switch {
	case dlqID != "" && f.OfRun:
		out.Can = append(out.Can, remedyOf("resume", route.ResumeWorkflowRunAlias, dlqID), remedyOf("restart", route.RestartWorkflowRunAlias, dlqID))
	case dlqID != "":
		out.Can = append(out.Can, remedyOf("retry", route.RetryDLQMessage, dlqID))
	case f.Retrying:
		out.Can = append(out.Can, remedyBody{"hurry", http.MethodPost, "/_understudy/messages/" + url.PathEscape(f.MessageID) + "/hurry"})
	}
	out.Can = append(out.Can, remedyBody{"open the answer", http.MethodGet, fmt.Sprintf("/_understudy/ui/messages/%s#attempt-%d", url.PathEscape(f.MessageID), f.Attempt)})
	return &out
}

func remedyOf(do string, r route.Route, id string) remedyBody {
	return remedyBody{do, r.Method(), r.Path(id)}
}

// verifyUnparsed is the check for the most frequent mistake.
const verifyUnparsed = "the endpoint must verify the body as it came, before it is parsed"

// signatureOf reads the signature from the journal of deliveries; nil if the attempt has none.
func (s *Service) signatureOf(w *tenant.Tenant, f *engine.LastFailure) *signatureBody {
	list, _ := w.Deliveries.List(1, traffic.Filter{ID: f.MessageID, Attempt: new(f.Attempt - 1), Status: f.Outcome.Status})
	if len(list) == 0 {
		return s.droppedSignature(w, f)
	}
	signed, ok := delivery.SignatureIn(list[0].Request.Header)
	if !ok {
		return nil
	}
	out := signatureBody{Header: signed.Header, Key: "unknown"}
	current, next := w.Account.Keys()
	d := s.Tenants.Dialect(w, f.Dialect)
	for _, k := range []struct{ name, key string }{{"current", d.SigningKey(current)}, {"next", d.SigningKey(next)}} {
		if !signed.By(k.key) {
			continue
		}
		out.Key, out.Variable = k.name, s.variableOf(w, k.key)
		out.Checks = append(out.Checks, fmt.Sprintf("%s of the endpoint must be %s, the %s signing key of this account: compare it with what `understudy env` prints", out.Variable, shortKey(k.key), k.name))
	}
	if out.Key == "unknown" {
		out.Checks = append(out.Checks, "no key of this account made the signature: the keys have been rotated since, and the next attempt is signed with the current one")
	}
	out.Checks = append(out.Checks, "the signature is for the URL "+signed.URL+": the endpoint must verify it with this URL and not with one that a proxy or a rewrite has put in its place")
	if at := time.UnixMilli(list[0].RealAt); list[0].RealAt != 0 && (at.Before(signed.NotBefore) || at.After(signed.Expires)) {
		out.Checks = append(out.Checks, fmt.Sprintf("it is valid from %s to %s, and the attempt was made at %s of real time: the endpoint must allow for the clock of the account, or the clock must be real", clockTime(signed.NotBefore), clockTime(signed.Expires), clockTime(at)))
	}
	out.Checks = append(out.Checks, verifyUnparsed)
	return &out
}

// droppedSignature describes the signature of an attempt that the journal of deliveries does
// not have, as after a restart: the log does not have the key.
func (s *Service) droppedSignature(w *tenant.Tenant, f *engine.LastFailure) *signatureBody {
	current, _ := w.Account.Keys()
	d := s.Tenants.Dialect(w, f.Dialect)
	key := d.SigningKey(current)
	variable := s.variableOf(w, key)
	return &signatureBody{Header: d.HeaderPrefix + strings.TrimPrefix(header.Signature, header.Prefix), Key: "dropped", Variable: variable, Checks: []string{
		fmt.Sprintf("%s of the endpoint must be %s, the current signing key of this account, which signs all deliveries, unless the keys have been rotated since the attempt: compare it with what `understudy env` prints", variable, shortKey(key)),
		"the signature is for the URL " + mask.URL(f.URL) + ": the endpoint must verify it with this URL and not with one that a proxy or a rewrite has put in its place",
		verifyUnparsed,
		"after another attempt, this says which key signed it",
	}}
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// variableOf is the name of the environment variable with a key. It takes the last one,
// because the name of the dialect follows the neutral name.
func (s *Service) variableOf(w *tenant.Tenant, key string) string {
	name := "the signing key"
	for _, v := range s.Access(w).Env {
		if v["value"] == key && strings.HasSuffix(v["name"], "_SIGNING_KEY") {
			name = v["name"]
		}
	}
	return name
}

// shortKey shows enough of a key to recognize it.
func shortKey(key string) string {
	const ends = 8
	if len(key) <= 2*ends {
		return key
	}
	return key[:ends] + "…" + key[len(key)-ends/2:]
}

// linkBody is a link of the lineage.
type linkBody struct {
	Relation string `json:"relation"` // such as resumes
	Before   bool   `json:"before"`   // the linked entity is the origin of the shown one
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	State    string `json:"state,omitempty"`
	At       *int64 `json:"at,omitempty"` // Unix ms
	Known    bool   `json:"known"`        // the account still has it
}

func lineageOf(links []engine.Link) []linkBody {
	out := make([]linkBody, len(links))
	for i, l := range links {
		out[i] = linkBody{l.Relation, l.Before, l.Kind, l.ID, l.State, response.Millis(l.At), l.Known}
	}
	return out
}
