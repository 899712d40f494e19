package client

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/report"
)

// checks are what a case can require of requests besides their form. Sorted by name.
var checks = map[string]func(*execution, *Call, *answer, []*request) *report.Failure{
	"auth":   authorized,
	"same":   sameRequests,
	"hidden": tokenHidden,
}

// authorized checks that each request has the credentials of its area, once.
func authorized(x *execution, c *Call, _ *answer, requests []*request) *report.Failure {
	want := "Bearer " + x.token
	if x.operation(c.Op).Auth == "basic" {
		want = "Basic " + base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(x.client["username"])+":"+fmt.Sprint(x.client["password"])))
	}
	for _, q := range requests {
		if got := q.Wire.Values("Authorization"); !slices.Equal(got, []string{want}) {
			return fail("the Authorization header is wrong", want, strings.Join(got, " | "))
		}
	}
	return nil
}

// sameRequests checks that all requests of a call are equal in target, headers and body.
func sameRequests(_ *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	for _, q := range requests[1:] {
		first := requests[0]
		switch {
		case q.Method != first.Method || q.Target != first.Target:
			return fail("a repeated call differs", first.Method+" "+first.Target, q.Method+" "+q.Target)
		case string(q.Body) != string(first.Body):
			return fail("the body of a repeated call differs", clip(string(first.Body)), clip(string(q.Body)))
		}
		for name, values := range first.Header {
			if !slices.Equal(values, q.Header[name]) && strings.HasPrefix(name, "Svc-") {
				return fail("the header "+name+" of a repeated call differs", strings.Join(values, " | "), strings.Join(q.Header[name], " | "))
			}
		}
		for name := range q.Header {
			if first.Header[name] == nil && strings.HasPrefix(name, "Svc-") {
				return fail("a repeated call has another header", "no "+name, strings.Join(q.Header[name], " | "))
			}
		}
	}
	return nil
}

// tokenHidden checks that the token is in no URL, body or header but Authorization.
func tokenHidden(x *execution, _ *Call, _ *answer, requests []*request) *report.Failure {
	for _, q := range requests {
		if strings.Contains(q.Target, x.token) || strings.Contains(string(q.Body), x.token) {
			return fail("the token is in the URL or the body", "only in Authorization", q.Method+" "+q.Target)
		}
		for name, values := range q.Wire {
			if name != "Authorization" && strings.Contains(strings.Join(values, " "), x.token) {
				return fail("the token is in the header "+name, "only in Authorization", strings.Join(values, " | "))
			}
		}
	}
	return nil
}
