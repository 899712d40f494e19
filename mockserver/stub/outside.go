package stub

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// OutsidePath starts the path of a call of the application to an outside service, before its name.
const OutsidePath = "/_understudy/outside/"

// OutsidePattern is the URL of stubs for a path of an outside service, in which * matches any text.
func OutsidePattern(service, path string) string { return "outside://" + service + path }

// OutsideURL is the URL by which stubs know a call of the application to an outside service,
// such as outside://payments/charges?order=1.
func OutsideURL(service, path, query string) string {
	u := url.URL{Scheme: "outside", Host: service, Path: "/" + path, RawQuery: query}
	return u.String()
}

// Outside answers a call of the application to an outside service: with the stub that matches
// its URL, else with 200 and an empty JSON object. It waits for the delay of a stub if
// the clock is real. Without an answer the connection ends.
func (s *List) Outside(ctx context.Context, d *Request, realClock bool) response.Response {
	out, stubbed := s.Answer(d, time.Minute)
	if !stubbed {
		return response.Empty
	}
	if out.After > 0 && realClock {
		_ = clock.Pause(ctx, out.After)
	}
	if out.Err != "" {
		return response.Response{Stream: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	}
	return response.Response{Status: out.Status, Header: http.Header(out.Header), Body: out.Body, Scripted: true}
}
