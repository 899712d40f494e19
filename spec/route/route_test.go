package route_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/route"
)

func TestRoutesAreThoseOfTheDocuments(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func() (*spec.Document, error){"interface": spec.Load, "control": spec.LoadControl} {
		doc, err := load()
		expect.NoError(t, err)
		for _, o := range doc.Operations() {
			t.Run(name+" "+o.ID, func(t *testing.T) {
				t.Parallel()
				got, _ := route.Lookup(o.ID)
				expect.Equal(t, "route", got, route.Route(o.Method+" "+o.Path))
			})
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ got, want string }{
		"a variable is escaped":              {route.GetDLQMessage.Path("a/b c"), "/v2/dlq/a%2Fb%20c"},
		"values are taken in order":          {route.NotifyRun.Path("run", "event"), "/v2/notify/run/event"},
		"a destination is taken as it is":    {route.PublishMessage.Path("https://app.test/x"), "/v2/publish/https://app.test/x"},
		"a route without variables is plain": {route.ListLogs.Path(), "/v2/logs"},
		"a pattern takes one segment":        {route.GetDLQMessage.Pattern(), "/v2/dlq/[^/]+"},
		"a pattern takes slashes":            {route.PublishMessage.Pattern(), "/v2/publish/.*"},
		"the method is separate":             {route.UpdateURLGroup.Method(), "PATCH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
