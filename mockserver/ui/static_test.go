package ui_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestFilesOfThePage(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	head := read(t, u, "").first("head", "")
	addresses := []string{head.first("script", "").is("src")}
	addresses = append(addresses, strings.Fields(head.first("script", "").is("data-then"))...)
	for _, link := range head.all("link", "") {
		addresses = append(addresses, link.is("href"))
	}
	expect.Equal(t, "number of files", len(addresses), 6)
	for _, address := range addresses {
		name, _, _ := strings.Cut(address, "?")
		get := func(t *testing.T, address, known string) *http.Response {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.URL()+address, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("If-None-Match", known)
			answer, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			return answer
		}
		t.Run(name+" with its version is cached by browsers", func(t *testing.T) {
			answer := get(t, address, "")
			expect.Equal(t, "status", answer.StatusCode, http.StatusOK)
			expect.Contains(t, "Cache-Control", answer.Header.Get("Cache-Control"), "immutable")
		})
		t.Run(name+" without its version is revalidated", func(t *testing.T) {
			answer := get(t, name, "")
			expect.Equal(t, "Cache-Control", answer.Header.Get("Cache-Control"), "no-cache")
			expect.Equal(t, "Cache-Control of another version", get(t, name+"?v=0", "").Header.Get("Cache-Control"), "no-cache")
			expect.Equal(t, "status of a known version", get(t, name, answer.Header.Get("ETag")).StatusCode, http.StatusNotModified)
		})
	}
	t.Run("a file that does not exist is not found", func(t *testing.T) {
		expect.Contains(t, "answer", request(t, u, http.MethodGet, "/_understudy/ui/static/app.go", ""), "not found")
	})
}

// TestWeight measures what a browser receives: the first view with all its files, and long lists.
func TestWeight(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	w := runOrders(t, u)
	u.Stub("*", 503)
	received := func(address string) (size int) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.URL()+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip, br")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return len(body)
	}
	for i := range 60 {
		u.Publish(fmt.Sprintf("https://app.test/orders/%d?customer=%d", i, i), []byte(`{}`), "Svc-Label: shop", "Svc-Retries: 3", "Svc-Flow-Control-Key: key", "Svc-Flow-Control-Value: parallelism=9")
		w.trigger(fmt.Sprintf("wfr_order-%d", i))
	}
	whole, root := received("/_understudy/"), read(t, u, "")
	files := append(strings.Fields(root.first("script", "").is("data-then")), root.first("script", "").is("src"))
	for _, link := range root.all("link", "") {
		files = append(files, link.is("href"))
	}
	for _, file := range files {
		whole += received(file)
	}
	if most := 90_000; whole > most {
		t.Errorf("first view: got %d bytes, want at most %d", whole, most)
	}
	for _, path := range []string{"messages", "runs", "dlq"} {
		if got, most := received("/_understudy/ui/"+path), 15_000; got > most {
			t.Errorf("list of %s: got %d bytes, want at most %d", path, got, most)
		}
	}
}

func TestFilesAreOnlyCompressedForThoseWhoCanRead(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	for accepted, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "*": "gzip", "identity": "", "gzip;q=0": "", "br": ""} {
		t.Run("Accept-Encoding: "+accepted, func(t *testing.T) {
			for _, path := range []string{"", "ui/static/page.css"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.URL()+"/_understudy/"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Accept-Encoding", accepted)
				answer, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				expect.Equal(t, "Content-Encoding of "+path, answer.Header.Get("Content-Encoding"), want)
				expect.Contains(t, "Vary", strings.Join(answer.Header.Values("Vary"), ","), "Accept-Encoding")
			}
		})
	}
}

// fatal is a test that panics when it ends, so that the caller notices.
type fatal struct{ testing.TB }

type fatalText string
