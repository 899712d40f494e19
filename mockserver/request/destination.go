package request

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// ParseDestination reads the destination of a publish from the rest of its path and
// its raw query. A value with a literal :// is the URL as is: its escapes and
// slashes belong to the destination. Any other value is unescaped once; the result
// is a URL or the name of a URL group. Query parameters other than configuration
// are added to the URL in either form.
func ParseDestination(path, rawQuery string) (urlOrGroup string, err error) {
	target := path
	for _, scheme := range [...]string{"http:/", "https:/"} { // a proxy has merged the two slashes
		if rest, ok := strings.CutPrefix(target, scheme); ok && rest != "" && rest[0] != '/' {
			target = scheme + "/" + rest
		}
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

// ownQuery removes configuration and the token from a raw query.
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

// providerPrefix starts the name of a model provider, such as api/llm, which the
// service calls itself. In this server, only a stub can answer for it.
const providerPrefix = "api/"

// IsProvider reports whether a destination is the name of a model provider.
func IsProvider(target string) bool {
	name, ok := strings.CutPrefix(target, providerPrefix)
	return ok && engine.ValidGroupName(name)
}

// NoProvider returns the error text for a model provider without a stub.
func NoProvider(target string) string {
	return "no stub answers for the model provider " + strconv.Quote(target) + "; add one with `understudy ctl stub " + target + ` '200:{"choices":[]}'` + "`, or start the server with --stub " + target + "=200"
}

// SetDestination sets the destination of a request: a URL, the name of a URL group, or the name
// of a model provider. in is the place of the value, for errors.
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

// CheckURL returns an error if target is not a URL that can be called.
func CheckURL(in, name, target string) error {
	err := urlFault(target)
	if err == nil {
		return nil
	}
	return response.RefusedValue(in, name, target, err)
}

// urlFault returns why a URL cannot be called; nil if it can.
func urlFault(target string) error {
	if isPlainURL(target) {
		return nil
	}
	return parsedURLFault(target)
}

func parsedURLFault(target string) error {
	const accepted = "http(s)://host[:port]/path"
	u, err := url.Parse(target)
	if err != nil {
		if fault, ok := errors.AsType[*url.Error](err); ok {
			err = fault.Err
		}
		return response.Unfit(err.Error(), accepted)
	}
	switch {
	case u.Scheme == "":
		return response.Unfit("no scheme", accepted)
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

// isPlainURL reports whether a URL can certainly be called: a host of letters, digits,
// dots and hyphens without a port or with one of at most five digits, and a rest of
// visible characters without escapes. It spares most URLs the parser.
func isPlainURL(target string) bool {
	rest, ok := strings.CutPrefix(target, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(target, "http://")
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	host, port, hasPort := strings.Cut(host, ":")
	if !ok || host == "" || hasPort && (port == "" || len(port) > 5 || len(port) == 5 && port > "65535" || port[0] == '0') {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool { return notInName(r) || r == '_' }) &&
		!strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' }) &&
		!strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' || r == '%' })
}
