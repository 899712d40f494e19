package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

// steps are texts that encoding/json reads in a particular way, or refuses.
var steps = []string{
	`{"stepId":1,"stepName":"s","stepType":"Run","out":"\"ok\"","concurrent":1}`,
	` {"stepId" : 2 , "stepName" : "s" , "stepType" : "Run", "targetStep": 3 } `,
	`{"stepId":1,"stepId":2,"stepName":"a","stepName":"b","out":"x","out":"y"}`,
	`{"StepId":1,"STEPNAME":"s","stepType":"Run","Out":"x"}`,
	`{"stepId":null,"stepName":null,"out":null,"concurrent":null}`,
	`{"stepId":1.0}`, `{"stepId":1e2}`, `{"stepId":-0}`, `{"stepId":-1}`, `{"stepId":"1"}`, `{"stepId":01}`, `{"stepId":99999999999999999999}`,
	`{"stepName":"\u00e9\ud800"}`, `{"stepName":"é"}`, "{\"stepName\":\"\xff\"}", "{\"stepName\":\"a\nb\"}", `{"stepName":"a\nb\/\\\t"}`, `{"stepName":"\x"}`,
	`{"out":{"a":1}}`, `{"out":12}`, `{"out":["x"]}`, `{"out":""}`, `{"stepId":1,"sleepFor":3}`, `{"stepId":1,"other":{}}`,
	`{}`, ``, `null`, `[]`, `{`, `{"stepId":1}x`, `{"stepId":1}{}`, `{"stepId":1}[[],`, `{"stepId":1}"`, `{"stepId":1}tr`, `{"stepId":1}-`, `{"stepId":1,}`, `{"stepId":1 "stepName":"s"}`, `"x"`, "\ufeff{}",
}

func TestAUsualStepIsReadAsEncodingJSONReadsIt(t *testing.T) {
	t.Parallel()
	if _, _, ok := usualStep([]byte(steps[0])); !ok {
		t.Error("the step that clients submit: got false, want true")
	}
	for _, text := range steps {
		sameStep(t, []byte(text))
	}
}

func FuzzUsualStep(f *testing.F) {
	for _, text := range steps {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameStep(t, text) })
}

func sameStep(t *testing.T, text []byte) {
	t.Helper()
	got, out, ok := usualStep(text)
	if !ok {
		return
	}
	want := step{ID: -1}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("%q: got %+v, want the error %v", text, got, err)
	}
	if plain := textOf(want.Out); out != plain {
		t.Errorf("%q: out: got %q, want %q", text, out, plain)
	}
	if want.Out = nil; !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %+v, want %+v", text, got, want)
	}
}
