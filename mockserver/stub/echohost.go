package stub

import (
	"strings"
)

// lookAround is the delay of an answer of a public host, so that a client can
// read a message before it is delivered.
const lookAround = "300ms"

// Regular expressions for the hosts, each up to the path.
const (
	statusHosts    = `^https?://(?i:(?:mock\.)?httpstat(?:us\.io|\.us|\.io))(?::\d+)?`
	examplePage    = `^https?://(?i:(?:www\.)?example\.(?:com|org|net))(?::\d+)?`
	exampleHosts   = `^https?://(?i:(?:[\w-]+\.)*example\.(?:com|org|net))(?:[:/?#]|$)`
	binHosts       = `^https?://(?i:(?:[\w-]+\.)?httpbin\.org|httpbin\.dev|httpbingo\.org)(?::\d+)?`
	catcherHosts   = `^https?://(?i:(?:[\w-]+\.)*requestcatcher\.com)(?:[:/?#]|$)`
	endOfPath      = `/?(?:[?#].*)?$`
	binAnswer      = `{"args":{{args}},"data":{{json body}},"headers":{{headers}},"json":{{jsonBody}},"method":{{json method}},"url":{{json url}}}`
	binMethodPaths = `/(?:get|post|put|patch|delete)`
)

// EchoHosts are the public hosts that clients' own tests publish to (wire.md,
// "What the published suites assert"): those that answer the status in their
// path, that echo requests, that accept everything, and the example hosts,
// which have one page, at the root, and are slow.
var EchoHosts = echoHosts()

// echoHosts returns the stubs in matching order: the first match answers, so a
// path comes before its whole host.
func echoHosts() []Stub {
	list := []Stub{
		echoHost("", statusHosts+`/(\d{3})[^?]*\?(?:.*&)?sleep=(\d+)`, Answer{Status: "$1", Body: "$1 $reason", Delay: "${2}ms"}),
		echoHost("", statusHosts+`/(\d{3})`, Answer{Status: "$1", Body: "$1 $reason"}),
		echoHost("", statusHosts+endOfPath, Answer{Status: "200", Body: "200 OK"}),
		echoHost("", examplePage+endOfPath, Answer{Status: "200", Body: "Example Domain", Delay: "1s"}),
		echoHost("", exampleHosts, Answer{Status: "404", Body: "Example Domain: page not found", Delay: "1s"}),
		echoHost("", catcherHosts, Answer{Status: "200", Body: "request caught"}),
		echoHost("", binHosts+`/status/(\d{3})`, Answer{Status: "$1"}),
		echoHost("", binHosts+`/delay/(\d+(?:\.\d+)?)`+endOfPath, binEcho("${1}s")),
		echoHost("", binHosts+`/anything(?:[/?#].*)?$`, binEcho("")),
		echoHost("", binHosts+`/(?:headers|ip|uuid|user-agent|json|cookies)`+endOfPath, binEcho("")),
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		list = append(list, echoHost(method, binHosts+"/"+strings.ToLower(method)+endOfPath, binEcho("")))
	}
	return append(list,
		echoHost("", binHosts+binMethodPaths+endOfPath, Answer{Status: "405", Body: "Method Not Allowed"}),
		echoHost("", binHosts+endOfPath, Answer{Status: "200", Body: "httpbin"}),
		echoHost("", binHosts+`(?:[/?#]|$)`, Answer{Status: "404", Body: "Not Found"}))
}

// echoHost is a stub for one pattern, with the delay lookAround unless the
// answer has its own.
func echoHost(method, pattern string, a Answer) Stub {
	if a.Delay == "" {
		a.Delay = lookAround
	}
	return Stub{Method: method, URL: "/" + pattern + "/", Answers: []Answer{a}}
}

// binEcho answers with the request, in the form of httpbin.
func binEcho(delay string) Answer {
	return Answer{Status: "200", Headers: map[string]string{"Content-Type": "application/json"}, Body: binAnswer, Delay: delay}
}
