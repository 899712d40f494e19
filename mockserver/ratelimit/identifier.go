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

// maxIdentifier is how many bytes of an identifier are kept as they are: the
// client chooses it, and it becomes part of a key.
const maxIdentifier = 512

// source is where a strategy finds who asks.
type source struct {
	header  string // canonical; "": the address
	trusted []netip.Prefix
}

const headerSource = "header."

func newSource(text string, trusted []netip.Prefix) source {
	if name, ok := strings.CutPrefix(text, headerSource); ok {
		return source{header: textproto.CanonicalMIMEHeaderKey(name)}
	}
	return source{trusted: trusted}
}

// canonicalSource is equal for spellings of one source.
func canonicalSource(text string) string { return newSource(text, nil).String() }

func (s source) String() string {
	if s.header == "" {
		return "ip"
	}
	return headerSource + strings.ToLower(s.header)
}

// errMissing is a request without the header that says who asks.
type errMissing struct{ header string }

func (e errMissing) Error() string {
	return fmt.Sprintf("header %s is missing: it says whose requests these are, and must not be empty", e.header)
}

// of is the identifier of a request.
func (s source) of(r *http.Request) (string, error) {
	if s.header == "" {
		return s.address(r), nil
	}
	value := strings.TrimSpace(r.Header.Get(s.header))
	if s.header == "Host" {
		value = r.Host // net/http keeps it apart
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

// address is the client's address. X-Forwarded-For counts only as far as
// trusted proxies wrote it: from its end back to the first address that is not
// one of theirs. Anybody can write what stands before.
func (s source) address(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return bounded(r.RemoteAddr) // no TCP: one identifier for all
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

// readHop reads an address, which some proxies write with a port.
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

// logged is an identifier as log lines may have it: nothing secret.
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
