package delivery

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/understudy-mock/understudy/mockserver/origin"
)

// outboundPolicies are the policies for deliveries that no stub answers.
var outboundPolicies = []string{"allow", "loopback-only", "stub-only"}

// mayLeave reports why a delivery must not go out, "" when it may.
func (d *Deliverer) mayLeave(target string) string {
	switch d.cfg.Outbound {
	case "stub-only":
		return "no stub stands for it, and nothing else may go out (--outbound stub-only)"
	case "loopback-only":
		if u, err := http.NewRequest(http.MethodPost, target, http.NoBody); err != nil || !origin.LocalHost(u.URL.Host) && (u.URL.Scheme != "http" || !d.advertises(u.URL.Host)) {
			return "it is no address of this machine, and nothing else may go out (--outbound loopback-only)"
		}
	}
	return ""
}

// CheckOutbound refuses a policy that does not exist.
func CheckOutbound(policy string) error {
	if policy != "" && !slices.Contains(outboundPolicies, policy) {
		return fmt.Errorf("outbound %q: must be allow, loopback-only or stub-only", policy)
	}
	return nil
}
