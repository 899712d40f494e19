package target

import (
	"strings"
	"testing"
)

// A report contains the target file, but no secret of it in any place.
func TestMaskedTargetFile(t *testing.T) {
	t.Parallel()
	text := strings.Replace(goodTarget, `{url: "{{base}}/run"}`, `{url: "{{base}}/run?token=secret-query", body: "key secret-token", headers: {Authorization: "Bearer secret-header"}}`, 1)
	target, err := parseTarget("t.yaml", []byte(text), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	target.Fill()
	shown := target.Masked()
	if strings.Contains(shown, "secret-") {
		t.Errorf("a secret is visible:\n%s", shown)
	}
	for _, want := range []string{"name: acme", "base: 'https://q.acme.example'", "method: POST", "scale: 1.5\n", "delivery_budget: 15s", "wall: 30m0s", "profiles: [MSG, WF-READ]", "bearer: '***'"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "kv:") {
		t.Errorf("an empty value is visible:\n%s", shown)
	}
}
