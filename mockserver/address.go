package mockserver

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/listener"
	"github.com/understudy-mock/understudy/mockserver/messaging"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/traffic"
	"github.com/understudy-mock/understudy/spec/mask"
)

// ParseAdvertise reads the address under which clients reach a server that
// listens in a container or behind a proxy, such as http://understudy:8080.
func ParseAdvertise(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err == nil {
		host, port := u.Hostname(), u.Port()
		number, wrong := strconv.Atoi(port)
		address, _ := netip.ParseAddr(host) // the zero value for names
		if (u.Scheme == "http" || u.Scheme == "https") && host != "" && !address.IsUnspecified() && *u == (url.URL{Scheme: u.Scheme, Host: u.Host}) &&
			!strings.HasSuffix(u.Host, ":") && (port == "" || wrong == nil && 0 < number && number < 1<<16) {
			return u, nil
		}
	}
	return nil, fmt.Errorf("invalid value %q: must be the address that clients use, such as http://understudy:8080: http or https, a host, and nothing else", mask.Text(text))
}

// url is the address of a listener as clients write it. An advertised host
// replaces the host of every listener; a separate listener keeps its own port.
func (s *Server) url(i int) string {
	if i >= len(s.listeners) {
		return ""
	}
	at, l := s.cfg.Advertise, s.listeners[i]
	switch {
	case at == nil:
		return s.cfg.scheme() + "://" + Reachable(l.Addr())
	case l == s.listeners[0]:
		return at.String()
	}
	_, port, _ := net.SplitHostPort(l.Addr().String()) // listeners have one
	return at.Scheme + "://" + net.JoinHostPort(at.Hostname(), port)
}

// ListensAt is the URL of the messaging API for programs on this machine;
// Config.Advertise does not change it.
func (s *Server) ListensAt() string {
	return s.cfg.scheme() + "://" + Reachable(s.listeners[0].Addr())
}

// scheme is the URL scheme of the listeners.
func (c *Config) scheme() string {
	if c.TLS != nil {
		return "https"
	}
	return "http"
}

// EveryInterface reports whether the messaging API listens on all network
// interfaces, so that other machines reach it at addresses that URL does not
// show.
func (s *Server) EveryInterface() bool {
	tcp, ok := s.listeners[0].Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsUnspecified()
}

// Types of other packages that tests in Go use, so that they import this
// package only.
type (
	// Condition is what a caller waits for, see control.Condition.
	Condition = control.Condition
	// Delivery is one attempt: the request as it was sent, and the answer.
	Delivery = traffic.Delivery
	// Exchange is one request to the interface and its answer.
	Exchange = traffic.Exchange
	// Fault is a rule that injects failures into the API of the stand-in or
	// into the deliveries of an account. The first rule that matches and is due
	// applies.
	Fault = stub.Fault
	// Message is one half of an exchange.
	Message = traffic.Message
	// Stub is a scripted destination, see stub.Stub.
	Stub = stub.Stub
	// Answer is one scripted answer of a stub.
	Answer = stub.Answer
	// StubStatus is an HTTP status, or a text with captures of the URL, such as
	// ${1}, that yields one.
	StubStatus = stub.Status
)

// ParseStub reads URL=STATUS[@DELAY][:BODY]; the URL may itself contain =.
func ParseStub(text string) (Stub, error) { return stub.Parse(text) }

// Reachable is the address, host:port, at which clients on this machine reach a
// listener. For a listener on all interfaces it is IPv4 loopback.
func Reachable(addr net.Addr) string { return listener.Reachable(addr) }

// EmbedHash is the value of Config.Embed that turns texts into vectors by
// hashing their words.
const EmbedHash = messaging.EmbedHash

// ParseVectorIndex reads NAME=TYPE[:DIMENSION[:FUNCTION]], such as
// docs=DENSE:1536:COSINE, words=SPARSE or both=HYBRID:384:DOT_PRODUCT.
func ParseVectorIndex(text string) (vector.Config, error) { return messaging.ParseIndex(text) }

// indexRoot is the prefix of URLs of single vector indexes: /index/NAME
// replaces the root of the vector host.
const indexRoot = "/index/"

// indexPath removes the prefix and the name of the index from the path.
func indexPath(c *request.Call) {
	escaped := c.Request.URL.EscapedPath()
	if len(escaped) < len(indexRoot) || !strings.EqualFold(escaped[:len(indexRoot)], indexRoot) {
		return
	}
	name, path, _ := strings.Cut(escaped[len(indexRoot):], "/")
	plain, err := url.PathUnescape(name)
	if err != nil {
		return
	}
	r, u := *c.Request, *c.Request.URL
	u.RawPath = "/" + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return
	}
	r.URL, c.Request, c.Asked = &u, &r, plain
}

// VectorIndexURL is the URL of one vector index; clients use it instead of
// VectorURL, where the token selects the index.
func (s *Server) VectorIndexURL(name string) string {
	return s.VectorURL() + indexRoot + url.PathEscape(name)
}

// vectorEnv names the URL and the token of each configured index.
func (s *Server) vectorEnv(w *tenant.Tenant) (vars []EnvVar) {
	indexes := w.Indexes()
	if len(indexes) == 1 && indexes[0].Name == tenant.DefaultIndex.Name { // VECTOR_URL is enough
		return nil
	}
	for _, x := range indexes {
		name := "VECTOR_" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return unicode.ToUpper(r)
			}
			return '_'
		}, x.Name)
		vars = append(vars, EnvVar{name + "_URL", s.VectorIndexURL(x.Name)}, EnvVar{name + "_TOKEN", x.Token})
	}
	return vars
}

// Duration reads a duration of the interface (1d12h) or of Go (1h30m, 250ms).
func Duration(s string) (time.Duration, error) { return response.Duration(s) }

// URL is the base URL of the messaging API for clients, without a slash at its
// end.
func (s *Server) URL() string { return s.url(0) }

// RegionURL is the base URL of the host that serves a region. It is that of URL
// unless Config.RegionAddr has its own listener.
func (s *Server) RegionURL() string { return s.url(1) }

// ManagementURL is the base URL of statistics and search indexes.
func (s *Server) ManagementURL() string { return s.url(2) }

// VectorURL is the base URL of the vector index; the token selects the index.
func (s *Server) VectorURL() string { return s.url(3) }

// Now is the time of the default account's clock, which Advance moves. Pass it
// as Config.Now of the rate-limit plugin to make the plugin use that clock.
func (s *Server) Now() time.Time { return s.tenants.First().Account.Now() }

// Token is the access token of the default account.
func (s *Server) Token() string { return s.tenants.Token(s.tenants.First()) }

// KVURL is the URL of the key-value store of the rate-limit plugin.
func (s *Server) KVURL() string { return s.URL() + kvPath }

// KVToken is the token of the default account's key-value store.
func (s *Server) KVToken() string { return s.tenants.First().KVToken }

// EnvVar is an environment variable for clients.
type EnvVar struct{ Name, Value string }

// Env is the environment for clients of the default account: the variables of
// Understudy, then those that the clients of each dialect read, with the
// development token and keys of that dialect.
func (s *Server) Env() []EnvVar { return s.env(s.tenants.First()) }

// developmentPort is where clients look for a server on this machine, unless told otherwise.
const developmentPort = "8080"

// DevelopmentEnv is the environment with which clients of a dialect find this server by
// themselves; nil if they cannot. They look on loopback, without TLS, for the development token.
func (s *Server) DevelopmentEnv() []EnvVar {
	at, _ := url.Parse(s.URL()) // the server has built it
	for _, d := range s.tenants.Spoken() {
		if d.Env["DEV"] == "" || at.Scheme != "http" || !gate.LocalHost(at.Host) || s.tenants.TokenOf(s.tenants.First(), d) != d.Token {
			continue
		}
		vars := []EnvVar{{d.Env["DEV"], "true"}}
		if port := at.Port(); port != developmentPort {
			vars = append(vars, EnvVar{d.Env["DEV_PORT"], cmp.Or(port, "80")})
		}
		return vars
	}
	return nil
}

// env is the environment for clients of an account: what the published clients of each
// dialect read, then this server's names.
func (s *Server) env(w *tenant.Tenant) []EnvVar {
	current, next := s.tenants.Keys(w)
	neutral := []EnvVar{
		{"URL", s.URL()},
		{"TOKEN", s.tenants.Token(w)},
		{"CURRENT_SIGNING_KEY", current},
		{"NEXT_SIGNING_KEY", next},
		{"USER_ID", w.ID},
		{"REGION_URL", s.RegionURL()},
		{"MANAGEMENT_URL", s.ManagementURL()},
		{"MANAGEMENT_USERNAME", w.Username()},
		{"MANAGEMENT_PASSWORD", w.Password},
		{"VECTOR_URL", s.VectorURL()},
		{"VECTOR_TOKEN", w.VectorToken()},
		{"KV_URL", s.KVURL()},
		{"KV_TOKEN", w.KVToken},
	}
	neutral = append(neutral, s.vectorEnv(w)...)
	if s.cfg.CAFile != "" {
		neutral = append(neutral, EnvVar{"CA_FILE", s.cfg.CAFile})
	}
	var all, brands []EnvVar
	for _, v := range neutral {
		all = append(all, EnvVar{"UNDERSTUDY_" + v.Name, s.tenants.Usual(w).SigningKey(v.Value)})
	}
	for _, d := range s.tenants.Spoken() {
		for _, v := range neutral {
			value := d.SigningKey(v.Value)
			if v.Name == "TOKEN" {
				value = s.tenants.TokenOf(w, d)
			}
			if name := d.Env[v.Name]; name != "" {
				brands = append(brands, EnvVar{name, value})
			}
		}
	}
	return append(brands, all...)
}
