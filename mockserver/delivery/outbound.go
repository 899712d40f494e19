package delivery

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/understudy-mock/understudy/mockserver/origin"
)

// outboundPolicies are the policies for deliveries that no stub answers.
var outboundPolicies = []string{"allow", "loopback-only", "stub-only"}

// mayLeave returns why the policy forbids a delivery; "" when it is allowed.
func (d *Deliverer) mayLeave(target string) string {
	switch d.cfg.Outbound {
	case "stub-only":
		return "no stub matches it, and nothing else may go out (--outbound stub-only)"
	case "loopback-only":
		if u, err := http.NewRequest(http.MethodPost, target, http.NoBody); err != nil || !origin.LocalHost(u.URL.Host) && (u.URL.Scheme != d.cfg.Scheme || !d.advertises(u.URL.Host)) {
			return "it is not an address of this machine, and nothing else may go out (--outbound loopback-only)"
		}
	}
	return ""
}

// CheckOutbound returns an error for an unknown policy.
func CheckOutbound(policy string) error {
	if policy != "" && !slices.Contains(outboundPolicies, policy) {
		return fmt.Errorf("outbound: invalid value %q: must be one of allow, loopback-only, stub-only", policy)
	}
	return nil
}
