package junit_test

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/junit"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestWriteCountsCasesAndReplacesInvalidCharacters(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	err := junit.Write(&b, "all", []junit.Suite{
		{Name: "a", Cases: []junit.Case{{Name: "passes", Time: 1}, {Name: "fails", Time: 2, Failure: &junit.Text{Message: "m", Text: "]]>\x1b\xff"}}}},
		{Name: "b", Counts: junit.Counts{Time: 4}, Cases: []junit.Case{{Name: "skipped", Skipped: &junit.Text{}}, {Name: "broken", Error: &junit.Text{}}}},
	})
	expect.Nil(t, "error", err)
	var got junit.Report
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	expect.Equal(t, "totals", got.Counts, junit.Counts{Tests: 4, Failures: 1, Errors: 1, Skipped: 1, Time: 7})
	expect.Equal(t, "totals of the first suite", got.Suites[0].Counts, junit.Counts{Tests: 2, Failures: 1, Time: 3})
	expect.Equal(t, "text", got.Suites[0].Cases[1].Failure.Text, "]]>\uFFFD\uFFFD")
}
