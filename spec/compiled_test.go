package spec

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// allRules are the rules of all operations, by operation and place.
func allRules(t testing.TB) map[string]rule {
	t.Helper()
	rules := map[string]rule{}
	for _, load := range []func() (*Document, error){Load, LoadControl} {
		doc, err := load()
		expect.NoError(t, err)
		for _, o := range doc.Operations() {
			r := o.rules()
			for _, p := range r.parameters {
				rules[o.ID+" "+p.in+" "+p.name] = p.rule
			}
			rules[o.ID+" body"], rules[o.ID+" fallback"] = r.body, r.fallback
			for status, held := range r.responses {
				rules[fmt.Sprint(o.ID, " ", status)] = held
			}
		}
	}
	for name, r := range rules {
		if r.schema == nil {
			delete(rules, name)
		}
	}
	return rules
}

// agree compares the compiled form of a rule with its schema, for the text as JSON
// and as the value of a parameter. It reports whether the compiled form accepted the text.
func agree(t *testing.T, name string, r rule, text string) bool {
	t.Helper()
	certain := r.fast.acceptsJSON([]byte(text))
	if certain {
		v, problem := decode([]byte(text))
		if problem != nil {
			t.Errorf("%s: %s passes, but is not JSON: %s", name, text, problem)
			return true
		}
		if err := r.schema.VisitJSON(v); err != nil {
			t.Errorf("%s: %s is accepted, but its schema says %v", name, text, err)
		}
	}
	if r.schema.Type != nil && r.fast.acceptsText(text) {
		v, err := parseValue(r.schema, text)
		if err == nil {
			err = r.schema.VisitJSON(v)
		}
		if err != nil {
			t.Errorf("%s: the value %q is accepted, but its schema says %v", name, text, err)
		}
	}
	return certain
}

// TestCompiledAgrees generates valid and invalid values from the schemas of both documents.
func TestCompiledAgrees(t *testing.T) {
	t.Parallel()
	certain, right := 0, 0
	for name, r := range allRules(t) {
		random := rand.New(rand.NewPCG(1, uint64(len(name))))
		for range 50 {
			v := randomValue(r.schema, random, 6)
			text, err := json.Marshal(v)
			expect.NoError(t, err)
			yes := agree(t, name, r, string(text))
			if s, ok := v.(string); ok {
				agree(t, name, r, s)
			}
			if r.schema.VisitJSON(v) == nil {
				right++
				if yes {
					certain++
				}
			}
		}
	}
	t.Logf("%d of %d valid values were accepted", certain, right)
	if certain < right*8/10 {
		t.Errorf("the compiled form accepted %d of %d valid values, want 8 of 10", certain, right)
	}
}

// randomValue mostly conforms to the schema.
func randomValue(s *openapi3.Schema, random *rand.Rand, depth int) any {
	odd := []any{nil, "", "text", "ä\\\"", 0.0, -1.0, 1.5, 1e20, true, []any{}, []any{nil}, map[string]any{}, map[string]any{"x": 1.0}}
	if s == nil || depth == 0 || random.IntN(40) == 0 {
		return odd[random.IntN(len(odd))]
	}
	switch {
	case s.Nullable && random.IntN(4) == 0:
		return nil
	case len(s.Enum) > 0:
		return s.Enum[random.IntN(len(s.Enum))]
	case len(s.AnyOf) > 0:
		return randomValue(s.AnyOf[random.IntN(len(s.AnyOf))].Value, random, depth-1)
	case s.Type == nil:
		return odd[random.IntN(len(odd))]
	case s.Type.Is("string"):
		return []any{"a", "text", "é", "2026-01-01", ""}[random.IntN(5)]
	case s.Type.Is("integer"):
		return float64(random.IntN(2000) - 20)
	case s.Type.Is("number"):
		return random.Float64()*200 - 20
	case s.Type.Is("boolean"):
		return random.IntN(2) == 0
	case s.Type.Is("array"):
		list := []any{}
		for range random.IntN(4) {
			var item *openapi3.Schema
			if s.Items != nil {
				item = s.Items.Value
			}
			list = append(list, randomValue(item, random, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for name, p := range s.Properties {
		if random.IntN(10) > 0 {
			object[name] = randomValue(p.Value, random, depth-1)
		}
	}
	if random.IntN(10) == 0 {
		object["unknown"] = 1.0
	}
	return object
}

// TestCompiledIsUsed checks that the compiled form accepts usual responses of hot operations.
func TestCompiledIsUsed(t *testing.T) {
	t.Parallel()
	rules := allRules(t)
	for name, text := range map[string]string{
		"publishMessage 200": `{"messageId":"msg_1"}`,
		"publishBatch 200":   `[{"messageId":"msg_1"},[{"messageId":"msg_2","url":"https://e.test/"}]]`,
		"publishBatch body":  `[{"destination":"https://e.test/","headers":{"Svc-Delay":"1h"},"body":"x"}]`,
	} {
		if !agree(t, name, rules[name], text) {
			t.Errorf("%s: the compiled form does not accept %s", name, text)
		}
	}
}

// FuzzCompiled searches for a text that the compiled form accepts and the schema refuses.
func FuzzCompiled(f *testing.F) {
	rules := allRules(f)
	for _, seed := range []string{`{"messageId":"msg_1"}`, `[{"a":1},{"a":null}]`, `{"a":1,"a":"\u0041"}`, `[1.0e3,-0,"ä"]`, ` [ ] `, `{"error":"x","error":1}`, "10", "true"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, r := range rules {
			agree(t, name, r, text)
		}
	})
}
