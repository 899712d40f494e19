package spec

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestNullMembersOfExtensionsAreAbsent(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, op, body, want string }{
		{"a member", "upsertQueue", `{"queueName":"q","paused":null}`, `{"queueName":"q"}`},
		{"all members of a batch item", "publishBatch", `[{"destination":"https://a.test","body":null,"headers":null,"queue":null}]`, `[{"destination":"https://a.test"}]`},
		{"a header", "publishBatch", `[{"headers":{"X":null}}]`, `[{"headers":{}}]`},
		{"a member of an item of a list", "addURLGroupEndpoints", `{"endpoints":[{"name":null}]}`, `{"endpoints":[{}]}`},
		{"a bulk operation keeps filters that are null", "deleteDLQMessages", `{"label":null}`, `{"label":null}`},
		{"the content of a message stays, byte by byte", "publishBatch", `[{"body":{"b" : null,  "a":"<null>"},"queue":null}]`, `[{"body":{"b" : null,  "a":"<null>"}}]`},
		{"an item of a list of values stays", "cancelMessages", `{"messageIds":["a",null]}`, `{"messageIds":["a",null]}`},
		{"a body that is not JSON stays", "upsertQueue", `{"queueName":null`, `{"queueName":null`},
		{"a body of another type stays", "upsertQueue", `[null]`, `[null]`},
		{"a body that is null stays", "upsertQueue", `null`, `null`},
		{"a documented operation keeps null members", "updateURLGroup", `{"headers":null}`, `{"headers":null}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(load(t).Operation(c.op).WithoutNulls([]byte(c.body))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The document must declare what the server accepts: null for every optional member
// that an extension describes.
func TestTheDocumentSaysWhereNullIsTaken(t *testing.T) {
	t.Parallel()
	for _, o := range load(t).Operations() {
		if o.Origin != "extension" || o.rules().body.schema == nil {
			continue
		}
		eachMember(o.rules().body.schema, func(name string, s *openapi3.Schema, required bool) {
			if !required && !s.Nullable {
				t.Errorf("%s: %s is optional and not nullable", o.ID, name)
			}
		})
	}
}

func eachMember(s *openapi3.Schema, found func(name string, s *openapi3.Schema, required bool)) {
	if s.Items != nil {
		eachMember(s.Items.Value, found)
	}
	for name, p := range s.Properties {
		required := false
		for _, r := range s.Required {
			required = required || r == name
		}
		found(name, p.Value, required)
		eachMember(p.Value, found)
	}
}
