package table_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/table"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// value is what names stand for.
func value(name string) (string, error) {
	if v, ok := map[string]string{"run": "wfr_1", "field": "label", "payload": `not "x", {run}: y`}[name]; ok {
		return v, nil
	}
	return "", errors.New("no binding " + name)
}

func TestEachWordFitsWhatItMeans(t *testing.T) {
	t.Parallel()
	item := check.Decode([]byte(`{"n": 7, "id": "wfr_1", "empty": "", "null": null, "label": "not \"x\", {run}: y", "ip": "::1", "d": "60s",
		"raw": "d2ZyXzE=", "header": {"x-a": ["1,2", "3"]}, "in": {"k": [true]}}`))
	for rule, right := range map[string]bool{
		"n | 7": true, `n | "7"`: false, `empty | ""`: true, "in/k/0 | false": false, "id | 1": false, "n | 8": false, `id | "wfr_1"`: true, "id | {run}": true, "id, n | {run}": false, "in/k/0 | true": true, "none | 7": false,
		"n | absent": false, "null | absent": false, "none | absent": true, "null | unset": true, "empty | unset": false, "empty | nothing": true, "n | nothing": false,
		"n | not 8": true, "none | not 7": true, "n | not not 8": false, "none | absent or 7": true, "n | absent or 7": true, "n | absent or 8": false,
		"id | some text": true, "n | some text": false, "empty | some text": false, "ip | an IP address": true, "id | an IP address": false,
		"header | a header map": true, "in | a header map": false, "n | an integer": true, "id | an integer": false, "none | an integer": false,
		"n | between 7 and 9": true, "n | between 8 and 9": false, "n | between a and 9": false, "d | lasts 1m": true, "d | lasts 2m": false,
		"raw | base64 of {run}": true, "id | base64 of {run}": false, "id | contains fr": true, "none | contains x": false,
		"header | holds X-A: 1, 3": true, "header | holds 2": true, "header | holds X-A: 4": false, "header | holds X-B: 1": false,
		"{field} | {payload}": true, "{field} | not {payload}": false, "{other?} | 1": true, "n | {other?}": true,
	} {
		place, want, _ := strings.Cut(rule, " | ")
		miss, err := table.Judge(item, []table.Row{{Place: place, Want: want}}, value)
		expect.Nil(t, "error", err)
		expect.Equal(t, rule, miss == nil, right)
	}
}

func TestARowThatIsNotMetIsNamedWithItsPointer(t *testing.T) {
	t.Parallel()
	miss, err := table.Judge(check.Decode([]byte(`{"a": {"label": 1}}`)), []table.Row{{"a/label", "1"}, {"a/{field}", "not {run} or so"}, {"a/{field}", "{run}"}}, value)
	expect.Nil(t, "error", err)
	expect.Equal(t, "miss", *miss, table.Miss{Pointer: "/a/label", Want: "wfr_1"})
}

func TestANameWithoutABindingIsAnError(t *testing.T) {
	t.Parallel()
	_, err := table.Judge(nil, []table.Row{{"{other}", "1"}}, value)
	expect.True(t, "an error", err != nil)
}
