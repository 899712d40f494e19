package mockserver_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func newServer(b *testing.B, cfg mockserver.Config) *mockserver.Server {
	b.Helper()
	u, err := mockserver.Run(cfg)
	expect.NoError(b, err)
	b.Cleanup(func() { _ = u.Close() })
	return u
}

// BenchmarkStart: New and listen, until the first 200.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		u, err := mockserver.Run(mockserver.Config{})
		expect.NoError(b, err)
		conn, err := net.Dial("tcp", strings.TrimPrefix(u.URL(), "http://"))
		expect.NoError(b, err)
		_, _ = fmt.Fprint(conn, "GET /_understudy/livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if answer, _ := io.ReadAll(conn); !bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
			b.Fatalf("answer to livez: got %q, want status 200", answer)
		}
		_ = conn.Close()
		_ = u.Close()
	}
}

// BenchmarkGroupOf1000 and BenchmarkBatchOf1000 stay linear.
func BenchmarkGroupOf1000(b *testing.B) {
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			u := newServer(b, mockserver.Config{Clock: "manual"})
			var list []string
			for i := range size {
				list = append(list, fmt.Sprintf(`{"url":"https://e.test/%d"}`, i))
			}
			request(b, u, "POST", "/v2/topics/g/endpoints", `{"endpoints":[`+strings.Join(list, ",")+`]}`)
			for b.Loop() {
				request(b, u, "POST", "/v2/publish/g?svc-delay=1h", "x")
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "us/message")
		})
	}
}

func BenchmarkBatchOf1000(b *testing.B) {
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			u := newServer(b, mockserver.Config{Clock: "manual"})
			item := `{"destination":"https://e.test/","headers":{"Svc-Delay":"1h"},"body":"x"}`
			batch := "[" + strings.Repeat(item+",", size-1) + item + "]"
			for b.Loop() {
				request(b, u, "POST", "/v2/batch", batch)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "us/message")
		})
	}
}

// BenchmarkDLQPage: a page of 100 out of 100,000 entries, without the check of
// the response. At most 2 ms.
func BenchmarkDLQPage(b *testing.B) {
	u := newServer(b, mockserver.Config{Clock: "auto", SkipResponseCheck: true, Stubs: []mockserver.Stub{{URL: "*", Answers: []mockserver.Answer{{Status: "500"}}}}})
	item := `{"destination":"https://e.test/","headers":{"Svc-Retries":"0","Content-Type":"application/json"},"body":"{\"a\":1}"}`
	for range 100 {
		request(b, u, "POST", "/v2/batch", "["+strings.Repeat(item+",", 999)+item+"]")
	}
	request(b, u, "POST", "/_understudy/settle", `{"timeout":"1m"}`)
	for b.Loop() {
		request(b, u, "GET", "/v2/dlq?count=100", "")
	}
}

// BenchmarkSearch: a word that none of 100,000 delivered messages has, each with its own URL,
// headers and body. At most 100 ms.
func BenchmarkSearch(b *testing.B) {
	u := newServer(b, mockserver.Config{Clock: "auto", SkipResponseCheck: true, Stubs: []mockserver.Stub{{URL: "*", Answers: []mockserver.Answer{{Body: "ok"}}}}})
	const crowd, batch = 100_000, 500
	for i := 0; i < crowd; i += batch {
		var items []string
		for n := i; n < i+batch; n++ {
			items = append(items, fmt.Sprintf(`{"destination":"https://app.test/orders/%d","body":"{\"order\":\"order-%[1]d\",\"items\":[\"sku-%[1]d\",\"blue shoes\"]}",`+
				`"headers":{"Content-Type":"application/json","Svc-Label":"shop-%[1]d","Svc-Forward-X-One":"one-%[1]d","Svc-Forward-X-Two":"two-%[1]d","Svc-Forward-X-Three":"three-%[1]d"}}`, n))
		}
		request(b, u, "POST", "/v2/batch", "["+strings.Join(items, ",")+"]")
	}
	request(b, u, "POST", "/_understudy/settle", `{"timeout":"1m"}`)
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		request(b, u, "GET", "/_understudy/search?q=zzznothing", "")
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	b.ReportMetric(float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/1e6/float64(b.N), "cpu-ms/op")
}

func request(b *testing.B, u *mockserver.Server, method, path, body string) {
	b.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Authorization", "Bearer "+u.Token())
	u.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatalf("%s %s: %d %.200s", method, path, w.Code, w.Body)
	}
}
