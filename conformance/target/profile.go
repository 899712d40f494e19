package target

import "github.com/understudy-mock/understudy/spec"

// ProfileNames are the profiles that a target can claim.
var ProfileNames = []string{"MSG", "GROUP", "WF-READ", "WF-RECOVER", "FLOW", "USAGE", "INDEX", "RATELIMIT", "EXT"}

// ProfileOf is the profile of a requirement, EXT for an unknown one.
func ProfileOf(id string) string {
	if register, err := spec.LoadRequirements(); err == nil && register.ByID(id) != nil {
		return register.ByID(id).Profile
	}
	return "EXT"
}
