package mockserver_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// The ratios that the server must hold: each compares a
// bare server with the stand-in within one benchmark, in one process.

func newServer(b *testing.B, cfg mockserver.Config) *mockserver.Server {
	b.Helper()
	u, err := mockserver.Run(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = u.Close() })
	return u
}

// bare reads the body and writes 22 bytes.
func bare(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, `{"messageId":"msg_12"}`)
}

// load sends b.N publishes over so many connections and returns the time that
// one took.
func load(b *testing.B, n, connections int, url, token string) time.Duration {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	body := bytes.Repeat([]byte("x"), 128)
	start := b.Elapsed()
	var wg sync.WaitGroup
	for i := range connections {
		share := n / connections
		if i < n%connections {
			share++
		}
		wg.Go(func() {
			for range share {
				r, err := http.NewRequest("POST", url, bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Content-Type", "application/json")
				response, err := transport.RoundTrip(r)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					b.Errorf("status %d", response.StatusCode)
					return
				}
			}
		})
	}
	wg.Wait()
	return b.Elapsed() - start
}

// BenchmarkAccepted: publish accepted, validation and journal on, against the
// bare handler. At least 0.65.
func BenchmarkAccepted(b *testing.B) {
	u := newServer(b, mockserver.Config{Clock: "manual"})
	plain := httptest.NewServer(http.HandlerFunc(bare))
	defer plain.Close()
	ours, theirs := u.URL()+"/v2/publish/https://e.test/hook?svc-delay=1h", plain.URL+"/v2/publish/https://e.test/hook"
	load(b, 2000, 16, theirs, "t")
	load(b, 2000, 16, ours, u.Token())
	b.ResetTimer()
	compare(b, "publishes/s", 1000,
		func(n int) time.Duration { return load(b, n, 16, theirs, "t") },
		func(n int) time.Duration { return load(b, n, 16, ours, u.Token()) })
}

// compare runs both in turns, so that noise hits both, and reports the ratio
// of the medians of their times.
func compare(b *testing.B, unit string, slice int, theirs, ours func(n int) time.Duration) {
	b.Helper()
	var t, o []time.Duration
	for done := 0; done < b.N; done += slice {
		t, o = append(t, theirs(slice)), append(o, ours(slice))
	}
	slices.Sort(t)
	slices.Sort(o)
	median := o[len(o)/2]
	b.ReportMetric(float64(t[len(t)/2])/float64(median), "ratio")
	b.ReportMetric(float64(slice)/median.Seconds(), unit)
	b.ReportMetric(0, "ns/op") // it would count both
}

// BenchmarkDelivered: accepted and delivered to a local sink, signed and
// logged, against a relay: handler, channel, 64 workers, tuned transport. At
// least 0.65.
func BenchmarkDelivered(b *testing.B) {
	var arrived sync.WaitGroup
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Done()
	}))
	defer sink.Close()
	u := newServer(b, mockserver.Config{Clock: "real"})
	relay := newRelay(b, sink.URL)
	measure := func(n int, url, token string) time.Duration {
		arrived.Add(n)
		start := b.Elapsed()
		load(b, n, 16, url, token)
		arrived.Wait()
		return b.Elapsed() - start
	}
	ours := u.URL() + "/v2/publish/" + sink.URL + "/hook"
	measure(2000, relay, "t")
	measure(2000, ours, u.Token())
	b.ResetTimer()
	compare(b, "deliveries/s", 1000,
		func(n int) time.Duration { return measure(n, relay, "t") },
		func(n int) time.Duration { return measure(n, ours, u.Token()) })
}

func newRelay(b *testing.B, target string) string {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	jobs := make(chan []byte, 1<<16)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for body := range jobs {
				r, err := http.NewRequest("POST", target, bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				response, err := transport.RoundTrip(r)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		jobs <- body
		_, _ = io.WriteString(w, `{"messageId":"msg_12"}`)
	}))
	b.Cleanup(func() { s.Close(); close(jobs); wg.Wait(); transport.CloseIdleConnections() })
	return s.URL
}

// BenchmarkStart: New and listen, until the first 200.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		u, err := mockserver.Run(mockserver.Config{})
		if err != nil {
			b.Fatal(err)
		}
		conn, err := net.Dial("tcp", strings.TrimPrefix(u.URL(), "http://"))
		if err != nil {
			b.Fatal(err)
		}
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
