package target

import (
	"strings"
	"testing"
)

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"", "apiVersion: v1\n", "target: {name: n, urls: {base: 'http://a'}}", "a: &a [*a]", "target: {auth: {bearer: {env: TOKEN}}}", "[", "drivers: {clock: {kind: http}}", "? [a]\n: b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := parseTarget("t.yaml", []byte(text), func(string) (string, bool) { return "secret-of-the-test", true })
		if err != nil && (!strings.HasPrefix(err.Error(), "t.yaml") || strings.Contains(err.Error(), "secret-of-the-test")) {
			t.Errorf("error %q names no file, or a secret", err)
		}
	})
}
