package ui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// many publishes n messages to a stub, each with a different number in the body.
func many(t testing.TB, u *mockserver.TestServer, n int) {
	t.Helper()
	const most = 1000
	for first := 0; first < n; first += most {
		batch := make([]map[string]any, min(most, n-first))
		for i := range batch {
			batch[i] = map[string]any{"destination": "https://app.test/orders", "body": fmt.Sprintf(`{"order":"order-%d","customer":"Ann"}`, first+i),
				"headers": map[string]string{"Svc-Label": "shop", "Content-Type": "application/json"}}
		}
		body, err := json.Marshal(batch)
		if err != nil {
			t.Fatal(err)
		}
		request(t, u, http.MethodPost, "/v2/batch", string(body))
		u.Settle()
	}
}

func TestSearchSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/a", []byte("<b>bold</b>"))
	page := func(q string) string {
		return request(t, u, http.MethodGet, "/_understudy/ui/search?q="+url.QueryEscape(q), "")
	}
	expect.Contains(t, "page of an unknown key", page("lable:x"), "did you mean &#34;label&#34;?")
	expect.Contains(t, "page of an unknown key", page("lable:x"), `value="lable:x"`)
	expect.Contains(t, "page without a query", page(""), "customer-*")
	expect.Contains(t, "page of markup", page("<b>bold"), "<mark>&lt;b&gt;bold</mark>")
	expect.Contains(t, "page without hits", page("nobody"), "Nothing found for")
}
