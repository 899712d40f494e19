package request

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// ParseDestination reads what a publish names from the rest of its path and its raw
// query. A value that holds a literal :// is the URL as it stands: its escapes
// and slashes belong to the destination. Any other value is unescaped once and
// is then a URL or the name of a URL group. What the query says beyond
// configuration belongs to the destination in either form.
func ParseDestination(path, rawQuery string) (urlOrGroup string, err error) {
	target := path
	if m := collapsedScheme.FindStringIndex(target); m != nil { // a proxy made one slash of two
		target = target[:m[1]-1] + "/" + target[m[1]-1:]
	}
	if !strings.Contains(target, "://") {
		if target, err = url.PathUnescape(path); err != nil {
			return "", response.RefusedValue("path", "destination", path, response.Unfit(err.Error(), "an http(s) URL, raw or percent-encoded as a whole, or the name of a URL group"))
		}
	}
	own := ownQuery(rawQuery)
	if own == "" || !strings.Contains(target, "://") {
		return target, nil
	}
	if strings.Contains(target, "?") {
		return target + "&" + own, nil
	}
	return target + "?" + own, nil
}

var collapsedScheme = regexp.MustCompile(`^https?:/[^/]`)

// ownQuery is the query without configuration and token.
func ownQuery(raw string) string {
	if raw == "" {
		return ""
	}
	var kept []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if lower := strings.ToLower(name); !strings.HasPrefix(lower, "svc-") && lower != "svc_token" {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// providerPrefix begins the name of a model provider, such as api/llm, that the
// service calls by itself. Here only a stub can answer in its place.
const providerPrefix = "api/"

// IsProvider reports whether a destination is the name of a model provider.
func IsProvider(target string) bool {
	name, ok := strings.CutPrefix(target, providerPrefix)
	return ok && engine.ValidGroupName(name)
}

// NoProvider says how to deliver to a model provider.
func NoProvider(target string) string {
	return "no stub answers for the model provider " + strconv.Quote(target) + "; add one with `understudy ctl stub " + target + ` '200:{"choices":[]}'` + "`, or start the server with --stub " + target + "=200"
}

// SetDestination puts a destination into a request: as a URL, as the name of a group, or as
// that of a model provider.
func SetDestination(r *engine.PublishRequest, in, target string) error {
	if target == "" {
		return response.Refused([]spec.Problem{response.Problem(in, "destination", "", "a non-empty destination must be provided: an http(s) URL or the name of a URL group", "")})
	}
	if IsProvider(target) {
		r.URL = target
		return nil
	}
	if strings.Contains(target, "://") {
		r.URL = target
		return CheckURL(in, "destination", target)
	}
	if !engine.ValidGroupName(target) {
		return response.RefusedValue(in, "destination", target, response.Unfit("neither an http(s) URL nor the name of a URL group",
			"http(s)://host[:port]/path, raw or percent-encoded as a whole, or 1 to 256 letters, digits, _, - and ."))
	}
	r.Group = target
	return nil
}

// CheckURL refuses what cannot be called.
func CheckURL(in, name, target string) error {
	err := urlFault(target)
	if err == nil {
		return nil
	}
	return response.RefusedValue(in, name, target, err)
}

// urlFault says why a URL cannot be called.
func urlFault(target string) error {
	const accepted = "http(s)://host[:port]/path"
	u, err := url.Parse(target)
	if err != nil {
		if fault, ok := errors.AsType[*url.Error](err); ok {
			err = fault.Err
		}
		return response.Unfit(err.Error(), accepted)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return response.Unfit(fmt.Sprintf("unknown scheme %q", u.Scheme), accepted)
	case u.Hostname() == "":
		return response.Unfit("no host", accepted)
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return response.Unfit(fmt.Sprintf("port %q is not from 1 to 65535", port), accepted)
		}
	}
	return nil
}
