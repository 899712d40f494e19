package target

import (
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"", "apiVersion: v1\n", "target: {name: n, urls: {base: 'http://a'}}", "a: &a [*a]", "target: {auth: {bearer: {env: TOKEN}}}", "[", "drivers: {clock: {kind: http}}", "? [a]\n: b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := parseTarget("t.yaml", []byte(text), func(string) (string, bool) { return "secret-of-the-test", true })
		if err != nil {
			if expect.True(t, "error that starts with \"t.yaml\"", strings.HasPrefix(err.Error(), "t.yaml")) {
				expect.Lacks(t, "error", err.Error(), "secret-of-the-test")
			}
		}
	})
}
