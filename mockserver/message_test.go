package mockserver_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/api"
)

// TestCopiedFieldsAreThoseOfTheWire: what two bodies share is copied as a trip
// over the wire would.
func TestCopiedFieldsAreThoseOfTheWire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to any }{
		"a message to a log event":     {api.Message{}, &api.LogEvent{}},
		"a message to a DLQ entry":     {api.Message{}, &api.DLQMessage{}},
		"a DLQ entry to that of a run": {api.DLQMessage{}, &api.WorkflowDLQEntry{}},
		"a step to a step of a run":    {api.StepInfo{}, &api.RunStep{}},
	} {
		for fill, value := range map[string]bool{"full": true, "empty": false} {
			t.Run(name+", "+fill, func(t *testing.T) {
				t.Parallel()
				from := reflect.New(reflect.TypeOf(c.from)).Elem()
				if value {
					populate(from)
				}
				got := reflect.New(reflect.TypeOf(c.to).Elem()).Interface()
				mockserver.CopyFields(got, from.Interface())
				wire, err := json.Marshal(from.Interface())
				expect.NoError(t, err)
				want := reflect.New(reflect.TypeOf(c.to).Elem()).Interface()
				expect.NoError(t, json.Unmarshal(wire, want))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("want -, got +:\n%s", diff)
				}
			})
		}
	}
}

// populate gives every field a value that is not zero.
func populate(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			populate(field)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		populate(key)
		populate(value)
		v.SetMapIndex(key, value)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		populate(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}
