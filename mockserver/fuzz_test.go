package mockserver_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// operations are all that the server answers, without what waits or streams.
var operations = sync.OnceValue(func() (list []*spec.Operation) {
	for _, load := range []func() (*spec.Document, error){spec.Load, spec.LoadControl} {
		doc, err := load()
		if err != nil {
			panic(err)
		}
		for _, op := range doc.Operations() {
			if op.ID != "controlEvents" && !strings.HasPrefix(op.ID, "sink") {
				list = append(list, op)
			}
		}
	}
	return list
})

// FuzzRequest sends anything to any operation: the answer never blames the
// server, never breaks the document, and errors are one line.
func FuzzRequest(f *testing.F) {
	for i := range operations() {
		f.Add(i, "x", "count=3&cursor=1-2", "Svc-Delay: 1s", []byte(`{"a": [1]}`))
	}
	for i, body := range []string{``, `[]`, `null`, `[{"destination":"https://e.test/","headers":{"a":1}}]`, `{"endpoints":[{"url":""}]}`, `{"by":"1h"}`, `[{"id":"a","vector":[1,2]}]`, "\xff\x00"} {
		f.Add(7*i, "https://e.test/"+body, "cursor="+url.QueryEscape(body)+"&svc-retries=-1", "Content-Type: "+body, []byte(body))
	}
	f.Fuzz(func(t *testing.T, n int, variable, query, header string, body []byte) {
		op := operations()[uint(n)%uint(len(operations()))]
		u := mockserver.RunT(t, mockserver.Config{Stubs: []mockserver.Stub{{URL: "*"}}})
		path := op.Path
		for strings.Contains(path, "{") {
			before, rest, _ := strings.Cut(path, "{")
			_, after, _ := strings.Cut(rest, "}")
			path = before + url.PathEscape(variable) + after
		}
		r := httptest.NewRequest(op.Method, "/", strings.NewReader(string(body)))
		target, err := url.Parse(path)
		if err != nil {
			t.Skip()
		}
		r.URL, r.RequestURI, r.RemoteAddr = target, path, "127.0.0.1:1"
		r.URL.RawQuery = query
		name, value, _ := strings.Cut(header, ":")
		r.Header[http.CanonicalHeaderKey(name)] = []string{strings.TrimSpace(value)}
		for _, v := range u.Env() {
			if v.Name == "UNDERSTUDY_VECTOR_TOKEN" && op.Area == "vector_url" || v.Name == "UNDERSTUDY_TOKEN" && op.Area != "vector_url" {
				r.Header.Set("Authorization", "Bearer "+v.Value)
			}
		}
		w := httptest.NewRecorder()
		u.ServeHTTP(w, r)
		if w.Code >= 500 && op.Area != "kv_url" {
			t.Errorf("%s %s: status: got %d, want one below 500: %s", op.ID, path, w.Code, w.Body)
		}
		if w.Code < 400 {
			return
		}
		var refused struct{ Error string }
		_ = json.Unmarshal(w.Body.Bytes(), &refused) // what is not JSON has no error text
		if strings.ContainsAny(refused.Error, "\r\n") {
			t.Errorf("%s: error: got %q, want one line", op.ID, refused.Error)
		}
	})
}

func FuzzStub(f *testing.F) {
	for _, seed := range []string{"https://app.test/*=503:busy", "/^https?://(a+)+$/=200:$1", "/(/=200", "*=099", "=200", "a=b=200:x=y", "a=200@3s:x", "a=200@:x", "a=200@$1", "/a(?P<x>b)/=200:${x}$9"} {
		f.Add(seed, "https://app.test/aaaa")
	}
	f.Fuzz(func(t *testing.T, text, target string) {
		stub, err := mockserver.ParseStub(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error: got %q, want one line", err)
			}
			return
		}
		stub.Answers = append(stub.Answers, mockserver.Answer{Status: "$1", Body: "$0 $reason $2", Delay: "${1}ms"})
		u := mockserver.RunT(t, mockserver.Config{Stubs: []mockserver.Stub{stub, {URL: "*"}}})
		for range 2 {
			r := httptest.NewRequest(http.MethodPost, "/v2/publish/"+url.PathEscape(target), http.NoBody)
			r.Header.Set("Authorization", "Bearer "+u.Token())
			u.ServeHTTP(httptest.NewRecorder(), r)
		}
		for _, d := range u.Deliveries() {
			if !d.Stubbed {
				t.Errorf("got a delivery to %s over the network, want a stub for each", d.URL)
			}
		}
	})
}

func FuzzVectorIndex(f *testing.F) {
	for _, seed := range []string{"docs=DENSE:1536:COSINE", "a=SPARSE", "=", "x=HYBRID:-1:DOT_PRODUCT", "x=DENSE:99999999999999999999:COSINE"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := mockserver.ParseVectorIndex(text)
		if err == nil {
			if x.Name == "" {
				t.Errorf("index: got %+v, want a name", x)
			}
			if x.Dimension < 0 {
				t.Errorf("dimension: got %d, want at least 0", x.Dimension)
			}
		}
	})
}
