package request_test

import (
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
)

func FuzzDestination(f *testing.F) {
	for _, seed := range []string{"https://e.test/a//b%2Fc?x=1&svc-retries=3", "https%3A%2F%2Fe.test", "group", "%zz", "://", "https:/x", "http://[::1]:80/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, query, _ := strings.Cut(text, "?")
		var r engine.PublishRequest
		target, err := request.ParseDestination(path, query)
		if err == nil {
			err = request.SetDestination(&r, "path", target)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("error on several lines: %q", err)
		}
		if err == nil && (r.URL == "") == (r.Group == "") {
			t.Errorf("%q: url %q, group %q", text, r.URL, r.Group)
		}
	})
}
