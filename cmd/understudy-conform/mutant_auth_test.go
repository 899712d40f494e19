package main

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// authMutants break authentication. Sorted by id.
var authMutants = []mutant{
	{ID: "AUT-001.1", Text: "a publish without credentials is accepted", Build: withRight(publishingMessage, func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "" && !r.URL.Query().Has("svc_token")
	})},
	{ID: "AUT-001.2", Text: "the dead letter queue is open to everybody", Build: withRight(listingDLQ, func(r *http.Request) bool { return r.Header.Get("Authorization") == "" })},
	{ID: "AUT-001.3", Text: "a publish without credentials is refused, and delivered all the same", Build: refusedYetDone},
	{ID: "AUT-001.4", Text: "the logs are open to everybody", Build: letIn(listingLog, withoutCredentials)},
	{ID: "AUT-001.5", Text: "a restart needs no credentials", Build: letIn(restartingRun, withoutCredentials)},
	{ID: "AUT-001.6", Text: "a resume needs no credentials", Build: letIn(resumingKey, withoutCredentials)},
	{ID: "AUT-001.7", Text: "a search index is deleted without credentials", Build: letIn(deletingIndex, withoutCredentials)},
	{ID: "AUT-001.8", Text: "the update of a group needs no credentials", Build: letIn(updatingGroup, withoutCredentials)},
	{ID: "AUT-001.9", Text: "the statistics are open to everybody", Build: letIn(readingStats, withoutCredentials)},
	{ID: "AUT-001.10", Text: "the vector index is open to everybody", Build: letIn(readingInfo, withoutCredentials)},
	{ID: "AUT-001.11", Text: "a restart without credentials is refused, and done all the same", Build: refusedYet(restartingRun)},
	{ID: "AUT-002.1", Text: "any token in the query is accepted", Build: withRight(publishingMessage, func(r *http.Request) bool { return r.URL.Query().Has("svc_token") })},
	{ID: "AUT-002.2", Text: "the logs take any token", Build: withRight(listingLog, func(*http.Request) bool { return true })},
	{ID: "AUT-002.3", Text: "the statistics look at the user name only", Build: statisticsByName},
	{ID: "AUT-002.4", Text: "a restart takes any token", Build: letIn(restartingRun, withCredentials)},
	{ID: "AUT-002.5", Text: "a resume takes any token", Build: letIn(resumingKey, withCredentials)},
	{ID: "AUT-002.6", Text: "a search index is deleted with any password", Build: letIn(deletingIndex, withCredentials)},
	{ID: "AUT-002.7", Text: "the update of a group takes any token", Build: letIn(updatingGroup, withCredentials)},
	{ID: "AUT-002.8", Text: "the vector index takes any token", Build: letIn(readingInfo, withCredentials)},
	{ID: "AUT-002.9", Text: "what begins with the right token is taken for it", Build: likeRight(strings.HasPrefix)},
	{ID: "AUT-002.10", Text: "the first half of the right token is taken for it", Build: likeRight(func(given, right string) bool {
		return len(given) > len(right)/2 && strings.HasPrefix(right, given)
	})},
	{ID: "AUT-002.11", Text: "tokens are compared without regard to case", Build: likeRight(strings.EqualFold)},
	{ID: "AUT-003.1", Text: "the password is cut at a second colon", Build: changeRequest(readingStats, func(r *http.Request) {
		kind, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, err := base64.StdEncoding.DecodeString(text)
		if parts := strings.SplitN(string(plain), ":", 3); err == nil && len(parts) == 3 {
			r.Header.Set("Authorization", kind+" "+base64.StdEncoding.EncodeToString([]byte(parts[0]+":"+parts[1])))
		}
	})},
	{ID: "AUT-003.2", Text: "of the base64 alphabet only the form for URLs is read", Build: refuseMatching(readingStats, func(r *http.Request) bool { return strings.ContainsAny(r.Header.Get("Authorization"), "+/") })},
	{ID: "AUT-003.3", Text: "base64 with padding is refused", Build: refuseMatching(readingStats, func(r *http.Request) bool { return strings.HasSuffix(r.Header.Get("Authorization"), "=") })},
	{ID: "AUT-004.1", Text: "the vector index does not take a Bearer token", Build: changeRequest(readingInfo, func(r *http.Request) { r.Header.Del("Authorization") })},
	{ID: "AUT-004.2", Text: "the statistics do not take HTTP Basic", Build: changeRequest(readingStats, func(r *http.Request) { r.Header.Del("Authorization") })},
	{ID: "AUT-004.3", Text: "the logs take HTTP Basic only", Build: refuseMatching(listingLog, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") })},
	{ID: "AUT-004.4", Text: "a restart takes HTTP Basic only", Build: refuseMatching(restartingRun, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") })},
	{ID: "AUT-004.5", Text: "a resume takes HTTP Basic only", Build: refuseMatching(resumingKey, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") })},
	{ID: "AUT-004.6", Text: "the deletion of a search index takes a Bearer token only", Build: refuseMatching(deletingIndex, func(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") })},
	{ID: "AUT-005.1", Text: "a restart takes the entry of another account", Build: letIn(restartingRun, func(*http.Request) bool { return true })},
	{ID: "AUT-005.2", Text: "a resume frees the key of another account", Build: asEverybody(resumingKey)},
	{ID: "AUT-005.3", Text: "a search index of another account is deleted", Build: letIn(deletingIndex, func(*http.Request) bool { return true })},
	{ID: "AUT-005.4", Text: "the dead letter queue holds the entries of all accounts", Build: asEverybody(listingDLQ)},
	{ID: "AUT-005.5", Text: "the logs hold the events of all accounts", Build: asEverybody(listingLog)},
	{ID: "AUT-005.6", Text: "the statistics of another account are shown", Build: letIn(readingStats, func(*http.Request) bool { return true })},
}

// withRight accepts matching requests with the last valid credential of the operation.
func withRight(m matching, fits func(*http.Request) bool) func(func()) mutantParts {
	return func(hit func()) mutantParts {
		last := &remembered{}
		return wrapMatching(m, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			text := readBody(r)
			a := serverAnswer(next, r)
			if a.status < 300 {
				last.keep(r)
				a.write(w)
				return
			}
			if (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden) && fits(r) {
				again := r.Clone(r.Context())
				setBody(again, text)
				if last.use(again) {
					a = serverAnswer(next, again)
				}
			}
			a.write(w)
		})
	}
}

// statisticsByName accepts any password for a username that has signed in before.
func statisticsByName(hit func()) mutantParts {
	name := func(r *http.Request) string {
		_, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		plain, _ := base64.StdEncoding.DecodeString(text)
		user, _, _ := strings.Cut(string(plain), ":")
		return user
	}
	known := &remembered{by: name}
	return wrapMatching(readingStats, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := serverAnswer(next, r)
		if a.status < 300 {
			known.keep(r)
		} else if again := r.Clone(r.Context()); known.use(again) {
			a = serverAnswer(next, again)
		}
		a.write(w)
	})
}

// refusedYetDone refuses a publish but delivers its message.
func refusedYetDone(hit func()) mutantParts {
	last := &remembered{}
	return wrapMatching(publishingMessage, hit, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		text := readBody(r)
		a := serverAnswer(next, r)
		if a.status < 300 {
			last.keep(r)
		} else if a.status == http.StatusUnauthorized {
			again := r.Clone(r.Context())
			setBody(again, text)
			if last.use(again) {
				serverAnswer(next, again)
			}
		}
		a.write(w)
	})
}
