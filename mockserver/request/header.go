package request

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/wire"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/header"
)

// hopHeaders are the headers that belong to one connection or to the request as
// a whole: they never go on.
var hopHeaders = []string{
	"Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
	wire.HopsHeader,
}

// ForwardableHeader is every header of a request that may go on to the destination:
// not its credential, which is ours.
func ForwardableHeader(h http.Header) engine.Header {
	out := PlainHeaders(h)
	delete(out, "Authorization")
	return out
}

// PlainHeaders is every header but configuration and those of the hop.
func PlainHeaders(h http.Header) engine.Header {
	hop := splitAll(h["Connection"])
	out := make(engine.Header, len(h))
	for name, values := range h {
		named := slices.ContainsFunc(hop, func(n string) bool { return strings.EqualFold(n, name) })
		if !named && !strings.HasPrefix(name, header.Prefix) && !slices.Contains(hopHeaders, name) {
			out[name] = values
		}
	}
	return out
}

// ContentHeader is the header that describes the body: it always goes on.
func ContentHeader(h http.Header) engine.Header {
	if ct := h["Content-Type"]; len(ct) > 0 {
		return engine.Header{"Content-Type": ct}
	}
	return nil
}

// RememberedHeader is what a message remembers of its publish: configuration and the type
// of the body, never credentials.
func RememberedHeader(h http.Header) engine.Header {
	out := engine.Header{}
	for name, values := range h {
		if name == "Content-Type" || strings.HasPrefix(name, header.Prefix) && !strings.HasPrefix(name, "Svc-Telemetry-") {
			out[name] = values
		}
	}
	return out
}

// ReadHeaders reads headers given as JSON, and refuses what could not be sent.
func ReadHeaders(fields map[string]json.RawMessage) (http.Header, error) {
	var problems []spec.Problem
	h := make(http.Header, len(fields))
	for name, raw := range fields {
		values, err := stringOrList(raw)
		switch {
		case err != nil:
			problems = append(problems, response.Problem("body", "/headers/"+name, response.Shorten(string(raw)), "", "a string or a list of strings"))
		case !headerName.MatchString(name):
			problems = append(problems, response.Problem("body", "/headers", strconv.Quote(response.Shorten(name)), "", "a header name: letters, digits, - and the other signs of HTTP"))
		case slices.ContainsFunc(values, func(v string) bool { return headerControl.MatchString(v) }):
			problems = append(problems, response.Problem("body", "/headers/"+name, "", "control character", "text on one line"))
		}
		for _, v := range values {
			h.Add(name, v)
		}
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b spec.Problem) int { return strings.Compare(a.String(), b.String()) })
		return nil, response.Refused(problems)
	}
	return h, nil
}

// What HTTP allows in names, and not in values (RFC 9110, section 5).
var (
	headerName    = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerControl = regexp.MustCompile(`[\x00-\x08\x0a-\x1f\x7f]`)
)

// stringOrList reads a header value: a string, or a list of strings.
func stringOrList(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many, nil
	}
	return nil, fmt.Errorf("%.80s: must be a string or a list of strings", raw)
}
