package ratelimit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"strings"
)

// maxIdentifier is the maximum length of an identifier in a key, in bytes. Clients
// choose identifiers; longer ones are hashed.
const maxIdentifier = 512

// source is the part of a request that identifies the client.
type source struct {
	header  string // canonical name; "": the address
	trusted []netip.Prefix
}

const headerSource = "header."

func newSource(text string, trusted []netip.Prefix) source {
	if name, ok := strings.CutPrefix(text, headerSource); ok {
		return source{header: textproto.CanonicalMIMEHeaderKey(name)}
	}
	return source{trusted: trusted}
}

// canonicalSource is equal for all spellings of a source.
func canonicalSource(text string) string { return newSource(text, nil).String() }

func (s source) String() string {
	if s.header == "" {
		return "ip"
	}
	return headerSource + strings.ToLower(s.header)
}

// errMissing is the error for a request without the identifier header.
type errMissing struct{ header string }

func (e errMissing) Error() string {
	return fmt.Sprintf("header %s is missing: it says whose requests these are, and must not be empty", e.header)
}

// of returns the identifier of a request, or errMissing.
func (s source) of(r *http.Request) (string, error) {
	if s.header == "" {
		return s.address(r), nil
	}
	value := strings.TrimSpace(r.Header.Get(s.header))
	if s.header == "Host" {
		value = r.Host // net/http removes Host from the header
	}
	if value == "" {
		return "", errMissing{s.header}
	}
	return bounded(value), nil
}

func bounded(value string) string {
	if len(value) <= maxIdentifier {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256-" + hex.EncodeToString(sum[:])
}

// address is the client's address. Of X-Forwarded-For it reads only what trusted
// proxies wrote: from the end back to the first address that is not a trusted proxy.
// Clients can forge the entries before it.
func (s source) address(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return bounded(r.RemoteAddr) // not TCP: all clients share one identifier
	}
	client := plainAddr(remote.Addr())
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusts(client); i-- {
		hop, err := readHop(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		client = hop
	}
	return client.String()
}

// readHop parses an address; some proxies add a port.
func readHop(text string) (netip.Addr, error) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return plainAddr(withPort.Addr()), nil
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return plainAddr(addr), err
}

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func (s source) trusts(a netip.Addr) bool {
	for _, p := range s.trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// logged is the identifier for log lines: a hash if the header may contain a secret.
func (s source) logged(identifier string) string {
	name := strings.ToLower(s.header)
	for _, secret := range []string{"authorization", "cookie", "key", "token", "secret", "session"} {
		if strings.Contains(name, secret) {
			sum := sha256.Sum256([]byte(identifier))
			return "sha256-" + hex.EncodeToString(sum[:4])
		}
	}
	return identifier
}
