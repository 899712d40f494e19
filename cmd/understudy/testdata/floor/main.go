// Command floor is a server with only net/http, the baseline for throughput. It reads and
// answers each POST; with --sink, 64 workers also deliver the body.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
)

// workers is the number of concurrent deliveries.
const workers = 64

func main() {
	sink := flag.String("sink", "", "URL that bodies are delivered to")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	jobs := make(chan []byte, 1<<16)
	client := &http.Transport{MaxIdleConnsPerHost: workers}
	for range workers {
		go func() {
			for body := range jobs {
				deliver(client, *sink, body)
			}
		}()
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/_understudy/metrics":
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			fmt.Fprintf(w, "go_memstats_mallocs_total %d\n", stats.Mallocs)
			return
		case *sink == "":
			_, _ = io.Copy(io.Discard, r.Body) // the client reports what fails
		default:
			body, _ := io.ReadAll(r.Body) // the client reports what fails
			jobs <- body
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"messageId":"msg_26hZCxZCuWyyTWPmSVBrNCtiJEQ"}`) // the client may have disconnected
	}
	fmt.Printf("A bare server is running at http://%s\n", listener.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(listener, http.HandlerFunc(handler)))
}

// deliver posts a body.
func deliver(client *http.Transport, sink string, body []byte) {
	r, err := http.NewRequest(http.MethodPost, sink, bytes.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
		var response *http.Response
		if response, err = client.RoundTrip(r); err == nil {
			_, _ = io.Copy(io.Discard, response.Body) // so that the connection is kept
			_ = response.Body.Close()                 // it was read
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
}
