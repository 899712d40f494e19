package messaging

import (
	"encoding/json"
	"reflect"
	"testing"
)

// batches are texts that encoding/json reads in a particular way, or refuses.
var batches = []string{
	`[{"destination":"https://a.test/","headers":{"Content-Type":"text/plain","svc-workflow-RunId":"a\"b\\c/\/ é"},"body":"{\"x\":1}","queue":"q"}]`,
	` [ {"destination" : "g" , "body" : {"a" : [1, 2]} } , {"body":12.5e3}, {} ] `,
	`[{"destination":"a","destination":"b","body":1,"body":2}]`,
	`[{"headers":{"A":"1"},"headers":{"B":"2"}}]`, `[{"headers":{"A":"1","A":"2"}}]`, `[{"headers":{}}]`,
	`[{"Destination":"a","HEADERS":{"A":"1"},"Body":"x"}]`, `[{"destination":null,"headers":null,"body":null,"queue":null}]`,
	`[{"headers":{"A":"b","C":["d","e"]}}]`, `[{"headers":{"x-a":"1","X-A":"2"}}]`, `[{"headers":{"":"1"}}]`, `[{"headers":{"a b":"1"}}]`, `[{"headers":{"é":"1"}}]`,
	`[{"headers":{"a":""}}]`, `[{"headers":{"a":"\n"}}]`, `[{"headers":{"a":"\t"}}]`, "[{\"headers\":{\"a\":\"\x7f\"}}]", `[{"headers":{"a":1}}]`, `[{"headers":{"a":"b"},"headers":null}]`,
	`[{"body":""}]`, `[{"body":"\/\b\f\n\r\t\"\\"}]`, `[{"body":[1, 2]}]`, `[{"body":null,"body":"x"}]`, `[{"body":"x","body":null}]`,
	`[{"headers":{"A":null}}]`, `[{"headers":[]}]`, `[{"headers":{"\u0041":"1"}}]`, `[{"headers":{"\"":"1"}}]`, `[{"other":1}]`,
	`[]`, ``, `null`, `{}`, `[null]`, `[1]`, `[{}`, `[{}]x`, `[{}][]`, `[{}][[],`, `[{}]"`, `[{}]tr`, `[{}]-`, `[{}]1`, `[{},]`, "[{\"body\":\"\xff\"}]", "[{\"body\":\"a\nb\"}]", `[{"body":tru}]`, `[{"body":01}]`,
}

func TestAUsualBatchIsReadAsEncodingJSONReadsIt(t *testing.T) {
	t.Parallel()
	if _, ok := usualBatch([]byte(batches[0])); !ok {
		t.Error("the batch that clients send: got false, want true")
	}
	for _, text := range batches {
		sameBatch(t, []byte(text))
	}
}

func FuzzUsualBatch(f *testing.F) {
	for _, text := range batches {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameBatch(t, text) })
}

func sameBatch(t *testing.T, text []byte) {
	t.Helper()
	got, ok := usualBatch(text)
	if !ok {
		return
	}
	var other []jsonItem
	if err := json.Unmarshal(text, &other); err != nil {
		t.Fatalf("%q: got %+v, want the error %v", text, got, err)
	}
	want := make([]batchItem, len(other))
	for i := range other {
		var err error
		if want[i], err = other[i].read(); err != nil {
			t.Fatalf("%q: got %+v, want the error %v", text, got, err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %+v, want %+v", text, got, want)
	}
}
