package target

import "github.com/understudy-mock/understudy/spec"

// ProfileNames are the profiles that a target can claim.
var ProfileNames = []string{"MSG", "GROUP", "WF-READ", "WF-RECOVER", "FLOW", "USAGE", "INDEX", "RATELIMIT", "EXT"}

// ClientProfiles are the profiles of a client. The adapter's operations decide which it has.
var ClientProfiles = []string{"CLI-BASE", "CLI-PUB", "CLI-GRP", "CLI-QUE", "CLI-DLQ", "CLI-LOG", "CLI-FLC", "CLI-STA", "CLI-VEC", "CLI-RCV", "CLI-WFC", "CLI-WFE", "CLI-LIM"}

// ProfileOf is the profile of a requirement, EXT for an unknown one.
func ProfileOf(id string) string {
	if register, err := spec.LoadRequirements(); err == nil && register.ByID(id) != nil {
		return register.ByID(id).Profile
	}
	return "EXT"
}
