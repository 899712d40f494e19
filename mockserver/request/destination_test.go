package request_test

import (
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
)

func FuzzDestination(f *testing.F) {
	for _, seed := range []string{"https://e.test/a//b%2Fc?x=1&svc-retries=3", "https%3A%2F%2Fe.test", "group", "%zz", "://", "https:/x", "http://[::1]:80/", "http://e.test:9/a?b=c#d", "https://e.test:0", "http://e.test:65535/", "http://e.test:65536/", "http://e.test:99999", "http://e.test:", "http://:80", "http://e_e.test", "http:// e.test/", "http://e.test/%zz", "https://user@e.test"} {
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
		if plain, fault := request.IsPlainURL(text), request.ParsedURLFault(text); plain && fault != nil {
			t.Errorf("%q is a plain URL, and the parser says %v", text, fault)
		}
		if err == nil && (r.URL == "") == (r.Group == "") {
			t.Errorf("%q: url %q, group %q", text, r.URL, r.Group)
		}
	})
}
