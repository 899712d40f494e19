package mockserver

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/understudy-mock/understudy/mockserver/origin"
)

// outboundPolicies are the policies for deliveries that no stub answers.
var outboundPolicies = []string{"allow", "loopback-only", "stub-only"}

// mayLeave reports why a delivery must not go out, "" when it may.
func (s *Server) mayLeave(target string) string {
	switch s.cfg.Outbound {
	case "stub-only":
		return "no stub stands for it, and nothing else may go out (--outbound stub-only)"
	case "loopback-only":
		if u, err := http.NewRequest(http.MethodPost, target, http.NoBody); err != nil || !origin.LocalHost(u.URL.Host) && (u.URL.Scheme != "http" || !s.advertises(u.URL.Host)) {
			return "it is no address of this machine, and nothing else may go out (--outbound loopback-only)"
		}
	}
	return ""
}

func checkOutbound(policy string) error {
	if policy != "" && !slices.Contains(outboundPolicies, policy) {
		return fmt.Errorf("outbound %q: must be allow, loopback-only or stub-only", policy)
	}
	return nil
}
