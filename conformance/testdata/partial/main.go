// Command partial is a deliberately partial implementation: it publishes, has an
// empty workflow log, and ignores header forwarding in the query. docs/conformance/README.md tests it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const token = "partial-token"

var ids atomic.Int64

func main() {
	addr := "127.0.0.1:9000"
	if len(os.Args) > 1 {
		addr = os.Args[1]
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening at http://%s\n", l.Addr())
	log.Fatal(http.Serve(l, http.HandlerFunc(serve))) //nolint:gosec // an example
}

func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	destination, publishes := strings.CutPrefix(r.URL.EscapedPath(), "/v2/publish/")
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if publishes && given == "" {
		given = r.URL.Query().Get("svc_token")
	}
	switch {
	case given != token:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"unknown token"}`)
	case publishes && strings.HasPrefix(destination, "http"):
		publish(w, r, destination)
	case r.Method == http.MethodGet && r.URL.Path == "/v2/workflows/messageLogs":
		fmt.Fprint(w, `{"events":[]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"not here"}`)
	}
}

// option is the value of a configuration header or of its query parameter.
func option(r *http.Request, name string) string {
	if v := r.Header.Get("Svc-" + name); v != "" {
		return v
	}
	return r.URL.Query().Get("svc-" + strings.ToLower(name))
}

func publish(w http.ResponseWriter, r *http.Request, destination string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var query []string
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if part != "" && !strings.HasPrefix(part, "svc") {
			query = append(query, part)
		}
	}
	if len(query) > 0 {
		destination += "?" + strings.Join(query, "&")
	}
	h := http.Header{"Content-Type": r.Header["Content-Type"]}
	for name, values := range r.Header {
		if rest, ok := strings.CutPrefix(name, "Svc-Forward-"); ok {
			h[rest] = values
		} else if r.Header.Get("Svc-Header-Forward") == "true" && name != "Authorization" && !strings.HasPrefix(name, "Svc-") {
			h[name] = values
		}
	}
	retries, err := strconv.Atoi(option(r, "Retries"))
	if err != nil {
		retries = 3
	}
	delay, _ := time.ParseDuration(option(r, "Delay"))
	go deliver(destination, h, body, retries, delay)
	_ = json.NewEncoder(w).Encode(map[string]string{"messageId": fmt.Sprint(ids.Add(1))})
}

func deliver(destination string, h http.Header, body []byte, retries int, delay time.Duration) {
	time.Sleep(delay)
	for range retries + 1 {
		r, err := http.NewRequest(http.MethodPost, destination, bytes.NewReader(body)) //nolint:noctx // an example
		if err != nil {
			return
		}
		r.Header = h.Clone()
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode/100 == 2 {
				return
			}
		}
		time.Sleep(time.Second)
	}
}
