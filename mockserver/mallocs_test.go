package mockserver_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// variedOptions are configuration that differs for each message, as in bench-http.
const variedOptions = "Svc-Label: label-%[1]d\r\nSvc-Retries: %[1]d\r\nSvc-Forward-Order: %[1]d\r\n"

// BenchmarkMallocs counts the allocations of the process for each message, those
// of net/http among them (a bare handler behind the router needs 34). The client
// allocates nothing.
func BenchmarkMallocs(b *testing.B) {
	var arrived atomic.Int64
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	defer sink.Close()
	for _, c := range []struct {
		name, path, header string
		clock              string
	}{
		{"accepted/repeated", "/v2/publish/https://e.test/hook?svc-delay=1h", "", "manual"},
		{"accepted/varied", "/v2/publish/https://e.test/hook/%[1]d?svc-delay=1h", variedOptions, "manual"},
		{"delivered/repeated", "/v2/publish/" + sink.URL + "/hook", "", "real"},
		{"delivered/varied", "/v2/publish/" + sink.URL + "/hook/%[1]d", variedOptions, "real"},
	} {
		b.Run(c.name, func(b *testing.B) {
			u := newServer(b, mockserver.Config{Clock: c.clock})
			conn, err := net.Dial("tcp", strings.TrimPrefix(u.URL(), "http://"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			texts := make([][]byte, b.N+1)
			for i := range texts {
				head := "POST " + c.path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + u.Token() + "\r\nContent-Type: application/json\r\n" + c.header
				if strings.Contains(head, "%") {
					head = fmt.Sprintf(head, i)
				}
				texts[i] = []byte(head + "Content-Length: 128\r\n\r\n" + strings.Repeat("x", 128))
			}
			in := bufio.NewReader(conn)
			exchange(b, conn, in, texts[b.N])
			arrived.Store(0)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.ResetTimer()
			for i := range b.N {
				exchange(b, conn, in, texts[i])
			}
			for c.clock == "real" && arrived.Load() < int64(b.N) {
				runtime.Gosched()
			}
			b.StopTimer()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N), "mallocs/message")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N), "bytes/message")
		})
	}
}

// exchange sends a request and reads its answer, which has a length.
func exchange(b *testing.B, conn net.Conn, in *bufio.Reader, request []byte) {
	b.Helper()
	if _, err := conn.Write(request); err != nil {
		b.Fatal(err)
	}
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			b.Fatalf("answer to a publish: got %q, want status 200", line)
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			for _, digit := range bytes.TrimSpace(value) {
				length = length*10 + int(digit-'0')
			}
		}
		if len(line) == len("\r\n") {
			break
		}
	}
	if _, err := in.Discard(length); err != nil {
		b.Fatal(err)
	}
}
