package drift_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/testkit/drift"
)

type inner struct {
	Deep  string `json:"deep"`
	Alone string `json:"alone"`
}

type file struct {
	Name string           `json:"name"`
	List []inner          `json:"list"`
	Map  map[string]inner `json:"map"`
}

func TestBetween(t *testing.T) {
	t.Parallel()
	const schema = `{"properties": {
		"name": {"type": "string"},
		"list": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
		"missing": {"type": "string"}},
		"$defs": {"inner": {"properties": {"deep": {}, "other": {}}}}}`
	want := []string{
		".list[].other: the schema has it, but drift_test.inner has unknown field",
		".list[].alone: drift_test.inner has it, but the schema does not",
		".missing: the schema has it, but drift_test.file has unknown field",
		".map: drift_test.file has it, but the schema does not",
	}
	if diff := cmp.Diff(want, drift.Between([]byte(schema), reflect.TypeFor[file](), "json")); diff != "" {
		t.Errorf("problems (want -, got +):\n%s", diff)
	}
}
