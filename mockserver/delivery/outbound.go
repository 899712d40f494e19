package delivery

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// outboundPolicies are the policies for deliveries that no stub answers.
var outboundPolicies = []string{"allow", "loopback-only", "stub-only"}

// outsideError is the error for a connection that --outbound loopback-only forbids.
type outsideError struct{ address string }

func (e *outsideError) Error() string {
	return "delivery was not made: " + e.address + " is not a loopback address of this machine, and nothing else may go out (--outbound loopback-only)"
}

// mayConnect is called before each connection to an address, after names have been
// resolved: what a name means is for the resolver of the machine to decide.
func (d *Deliverer) mayConnect(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if d.cfg.Outbound != "loopback-only" || err == nil && (at.Addr().Unmap().IsLoopback() || d.listensAt(plainAddress(at))) {
		return nil
	}
	return &outsideError{at.Addr().Unmap().String()}
}

// CheckOutbound returns an error for an unknown policy.
func CheckOutbound(policy string) error {
	if policy != "" && !slices.Contains(outboundPolicies, policy) {
		return fmt.Errorf("outbound: invalid value %q: must be one of allow, loopback-only, stub-only", policy)
	}
	return nil
}
