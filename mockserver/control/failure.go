package control

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/delivery"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

// refusedSignature are the statuses with which endpoints refuse a signature.
var refusedSignature = []int{401, 403}

// failureOf describes the latest failure; nil if nothing has failed.
func (s *Service) failureOf(w *tenant.Tenant, f *engine.LastFailure, dlqID string) *api.LastFailure {
	if f == nil {
		return nil
	}
	out := api.LastFailure{Reason: f.Reason, MessageID: f.MessageID, StepName: f.Step, Attempt: f.Attempt, Attempts: f.Attempts, ResponseStatus: f.Outcome.Status, Error: f.Outcome.Err}
	if trace, ok := FindTrace(f.Outcome.Body); ok {
		out.Stack = &api.Stack{Own: trace.Own, Text: trace.Text}
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
		out.Can = append(out.Can, remedy("hurry", http.MethodPost, "/_understudy/messages/"+url.PathEscape(f.MessageID)+"/hurry", f.MessageID))
	}
	out.Can = append(out.Can, remedy("open the answer", http.MethodGet, fmt.Sprintf("/_understudy/ui/messages/%s?attempt=%d&part=response", url.PathEscape(f.MessageID), f.Attempt), f.MessageID))
	return &out
}

func remedyOf(do string, r route.Route, id string) api.Remedy {
	return remedy(do, r.Method(), r.Path(id), id)
}

func remedy(do, method, path, id string) api.Remedy {
	return api.Remedy{Do: do, Method: method, Path: path, Command: "understudy ctl " + commands[do][0] + " " + clip.Shell(id), Does: commands[do][1], Subject: id}
}

// commands are the commands of remedies, and what they do.
var commands = map[string][2]string{
	"hurry":           {"deliver-now", "makes the next attempt now"},
	"notify":          {"notify", "notifies the runs that wait for the event"},
	"open the answer": {"messages", "shows the response"},
	"restart":         {"dlq restart", "restarts the run from its first step"},
	"resume":          {"dlq resume", "resumes the run at the step that failed"},
	"retry":           {"dlq retry", "publishes the message again"},
	"unpause key":     {"keys resume", "resumes the flow-control key"},
	"unpause queue":   {"queues resume", "resumes the queue"},
}

// verifyUnparsed is the check for the most frequent mistake.
const verifyUnparsed = "the endpoint must verify the body as it came, before it is parsed"

// signatureOf reads the signature from the journal of deliveries; nil if the attempt has none.
func (s *Service) signatureOf(w *tenant.Tenant, f *engine.LastFailure) *api.SignatureCheck {
	list, _ := w.Deliveries.List(1, traffic.Filter{ID: f.MessageID, Attempt: new(f.Attempt - 1), Status: f.Outcome.Status})
	if len(list) == 0 {
		return s.droppedSignature(w, f)
	}
	signed, ok := delivery.SignatureIn(list[0].Request.Header)
	if !ok {
		return nil
	}
	out := api.SignatureCheck{Header: signed.Header, Key: "unknown"}
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
func (s *Service) droppedSignature(w *tenant.Tenant, f *engine.LastFailure) *api.SignatureCheck {
	current, _ := w.Account.Keys()
	d := s.Tenants.Dialect(w, f.Dialect)
	key := d.SigningKey(current)
	variable := s.variableOf(w, key)
	return &api.SignatureCheck{Header: d.HeaderPrefix + strings.TrimPrefix(header.Signature, header.Prefix), Key: "dropped", Variable: variable, Checks: []string{
		fmt.Sprintf("%s of the endpoint must be %s, the current signing key of this account, which signs all deliveries, unless the keys have been rotated since the attempt: compare it with what `understudy env` prints", variable, shortKey(key)),
		"the signature is for the URL " + mask.URL(f.URL) + ": the endpoint must verify it with this URL and not with one that a proxy or a rewrite has put in its place",
		verifyUnparsed,
		"after another attempt, this says which key signed it",
	}}
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// variableOf is the name of the environment variable with a key: that of the dialect, if it has one.
func (s *Service) variableOf(w *tenant.Tenant, key string) string {
	for _, v := range s.Access(w).Env { // the names of a dialect come before this server's
		if v["value"] == key && strings.HasSuffix(v["name"], "_SIGNING_KEY") {
			return v["name"]
		}
	}
	return "the signing key"
}

// shortKey shows enough of a key to recognize it.
func shortKey(key string) string {
	const ends = 8
	if len(key) <= 2*ends {
		return key
	}
	return key[:ends] + "…" + key[len(key)-ends/2:]
}

func linkOf(l *engine.Link) api.LineageLink {
	return api.LineageLink{Relation: l.Relation, Before: l.Before, Kind: l.Kind, ID: l.ID, State: l.State, At: millis(l.At), Known: l.Known}
}
