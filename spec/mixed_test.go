package spec_test

import (
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// TestMixedDialects repeats the call, because the order of a map is random.
func TestMixedDialects(t *testing.T) {
	t.Parallel()
	ds := spec.Dialects{{Name: "one", HeaderPrefix: "One-"}, {Name: "two", HeaderPrefix: "Two-"}}
	h := http.Header{"One-Delay": {"1s"}, "One-Retries": {"1"}, "Two-Cron": {"x"}, "Two-Timeout": {"1s"}}
	want := "header One-Delay belongs to the dialect one, header Two-Cron to the dialect two: a request must use the names of one dialect"
	for range 100 {
		_, err := ds.OfRequest(h, "")
		expect.Equal(t, "error", err.Error(), want)
	}
}
