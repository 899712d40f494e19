package mockserver_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/mockserver"
)

// TestQueriesUseTheirMapAgain compares queries that are read into one map, one after the
// other, with those of net/url.
func TestQueriesUseTheirMapAgain(t *testing.T) {
	t.Parallel()
	again := url.Values{}
	for _, query := range []string{"", "a=1", "svc-delay=1h&svc-label=x", "a", "a=", "=a", "=", "&&a=1&", "a=1&a=2&b=3&a=4", "a=b=c", "a%20b=c+d", "a=%zz&b=1", "a;b=1&c=2", "a=1;b=2", "a=?"} {
		want, _ := url.ParseQuery(query) // the error is ignored
		if diff := cmp.Diff(want, mockserver.ParseQuery(again, query)); diff != "" {
			t.Errorf("query %q: %s", query, diff)
		}
	}
}
