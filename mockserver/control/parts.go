package control

import (
	"net/http"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Parts are the parts of a server that few Go tests use, and that would make each of them large.
type Parts struct {
	Page    func(api http.Handler) http.Handler // the page in a browser, which calls api
	Agents  func(api http.Handler) http.Handler // the tools for coding agents, which call api
	Docs    http.Handler                        // the documentation in a browser
	Explain func(text string) string            // the path of the section of Docs that explains an error; "" for none
	Metrics Exporter                            // shows metrics to a monitoring system
}

var parts Parts

// Attach sets the parts of all servers that this program creates from now on. An import of
// package mockserver/complete attaches all of them.
func Attach(p Parts) { parts = p }

// Attached are the parts of this program.
func Attached() Parts { return parts }

// Missing is the error for a part that this program does not have.
func Missing(part string) error {
	return refusal.Of(refusal.NotFound, part, "", "not found: this program does not have it: the import of github.com/understudy-mock/understudy/mockserver/complete attaches it, and understudy serve has it")
}
