package mockserver

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec"
)

// call is one request to an operation, with neutral names.
type call struct {
	op       *spec.Operation
	request  *http.Request
	vars     map[string]string // path variables, unescaped; greedy ones as they stood
	header   http.Header
	query    url.Values
	raw      string // the raw query
	body     []byte
	tenant   *tenant
	account  *engine.Account
	index    string   // name of the vector index that the credentials open
	asked    string   // name of the vector index in the URL, "" for none
	asTester bool     // a tester's, see as
	hops     int      // deliveries to this server that led here, see admitDelivery
	head     bool     // HEAD: answered as GET, without the body
	nothing  bool     // an empty list of ids or of values asks for nothing
	turn     bool     // it has taken its turn as a list
	taken    int64    // bytes of the server's room for bodies on their way in
	warnings []string // for the answer and the log, such as names that nobody knows

	sent      http.Header // as it came, with the names of its dialect
	sentQuery string
	sentBody  []byte
	named     spec.Spoken // the dialect that the names of the request show
	mixed     error       // names of two dialects
	dialect   *spec.Dialect
}

// handler reads a call, asks the engine once, and returns.
type handler func(*Server, *call) (response.Response, error)

// list collects the values of a filter: repeated, or separated by commas.
func (c *call) list(names ...string) []string {
	var out []string
	for _, name := range names {
		for _, v := range c.query[name] {
			for part := range strings.SplitSeq(v, ",") {
				if part = strings.TrimSpace(part); part != "" {
					out = append(out, part)
				}
			}
		}
	}
	return out
}

// urls collects URLs, which may hold commas themselves.
func (c *call) urls(name string) []string { return c.query[name] }

// number is an integer parameter that the document has checked; 0 when absent.
func (c *call) number(name string) int {
	n, _ := strconv.Atoi(c.query.Get(name))
	return n
}

// millis is a time parameter in Unix ms; zero when absent.
func (c *call) millis(name string) time.Time {
	v := c.query.Get(name)
	if v == "" {
		return time.Time{}
	}
	ms, _ := strconv.ParseInt(v, 10, 64) // checked by the document
	return time.UnixMilli(ms)
}

// flag is a boolean parameter; a bare name means true.
func (c *call) flag(name string, absent bool) bool {
	v, ok := c.query[name]
	if !ok {
		return absent
	}
	yes, err := strconv.ParseBool(v[0])
	return err != nil || yes
}

// callerIP is the address of the client.
func (c *call) callerIP() string {
	host, _, ok := cutLast(c.request.RemoteAddr, ":")
	if !ok {
		return c.request.RemoteAddr
	}
	return strings.Trim(host, "[]")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// withQuery is the request with the query as it was merged.
func (c *call) withQuery() *http.Request {
	r := *c.request
	u := *r.URL
	u.RawQuery = c.query.Encode()
	r.URL = &u
	return &r
}

// warning is what the answer warns of, in one line; "" for nothing.
func (c *call) warning() string { return strings.Join(c.warnings, "; ") }
