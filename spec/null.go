package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// WithoutNulls removes null members from the body of an extension, because clients
// send null for absent values. It descends into the members that the document
// describes. Free-form content, such as the body of a message, stays unchanged. A bulk
// operation keeps them, and refuses them: without the filter it would act on everything.
func (o *Operation) WithoutNulls(body []byte) []byte {
	if o.Origin != "extension" || o.Bulk || !bytes.Contains(body, null) {
		return body
	}
	return withoutNulls(o.rules().body.schema, body)
}

var null = []byte("null")

func withoutNulls(schema *openapi3.Schema, raw []byte) []byte {
	switch {
	case schema == nil || schema.Type == nil:
		return raw
	case schema.Type.Is("array") && schema.Items != nil:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil || items == nil {
			return raw
		}
		for i := range items {
			items[i] = withoutNulls(schema.Items.Value, items[i])
		}
		return slices.Concat([]byte("["), bytes.Join(asBytes(items), []byte(",")), []byte("]"))
	case schema.Type.Is("object"):
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil || members == nil {
			return raw
		}
		maps.DeleteFunc(members, func(_ string, v json.RawMessage) bool { return bytes.Equal(v, null) })
		list := make([][]byte, 0, len(members))
		for name, v := range members {
			key, _ := json.Marshal(name) // a string always encodes
			list = append(list, slices.Concat(key, []byte(":"), withoutNulls(member(schema, name), v)))
		}
		return slices.Concat([]byte("{"), bytes.Join(list, []byte(",")), []byte("}"))
	}
	return raw
}

func asBytes(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// member is the schema of a member of an object, nil for free-form content.
func member(schema *openapi3.Schema, name string) *openapi3.Schema {
	if p := schema.Properties[name]; p != nil {
		return p.Value
	}
	if p := schema.AdditionalProperties.Schema; p != nil {
		return p.Value
	}
	return nil
}
