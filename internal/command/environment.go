package command

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/understudy-mock/understudy/internal/similar"
)

// variablePrefix starts the environment variables of flags.
const variablePrefix = "UNDERSTUDY_"

// clientVariables are not flags: the variables that `understudy env` prints, and those of the
// packages. Sorted.
var clientVariables = []string{
	"UNDERSTUDY_BINARY", "UNDERSTUDY_CONFORM", "UNDERSTUDY_CURRENT_SIGNING_KEY", "UNDERSTUDY_IMAGE", "UNDERSTUDY_KV_TOKEN", "UNDERSTUDY_KV_URL",
	"UNDERSTUDY_MANAGEMENT_PASSWORD", "UNDERSTUDY_MANAGEMENT_URL", "UNDERSTUDY_MANAGEMENT_USERNAME", "UNDERSTUDY_NEXT_SIGNING_KEY", "UNDERSTUDY_REGION_URL",
	"UNDERSTUDY_RELEASES", "UNDERSTUDY_TOKEN", "UNDERSTUDY_URL", "UNDERSTUDY_USER_ID", "UNDERSTUDY_VECTOR_TOKEN", "UNDERSTUDY_VECTOR_URL", "UNDERSTUDY_VERSION",
}

// misspeltVariable refuses an environment variable that is nearly the variable of a flag of
// the command, like an unknown key of a settings file. Others are accepted: Kubernetes sets
// some for each service, such as UNDERSTUDY_SERVICE_HOST.
func misspeltVariable(environ []string, parsed *kong.Context) error {
	known := slices.Clone(clientVariables)
	_ = kong.Visit(parsed.Model, func(node kong.Visitable, next kong.Next) error { // never fails
		if flag, ok := node.(*kong.Flag); ok {
			known = append(known, flag.Envs...)
		}
		return next(nil)
	})
	var own []string
	for _, flag := range parsed.Flags() {
		own = append(own, flag.Envs...)
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, variablePrefix) || value == "" || slices.Contains(known, name) {
			continue
		}
		near, distance := similar.Nearest(name, own)
		if letters := len(name) - len(variablePrefix); distance == 1 || distance == 2 && letters > 6 {
			return Usage("environment variable %s: unknown; did you mean %s?", name, near)
		}
	}
	return nil
}
