package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// stepsPerRun is the number of steps of a run of the benchmark.
const stepsPerRun = 10

// workflow is an endpoint of ten steps: each call reports the next step, and the last call
// ends the run. It reads and writes as little as the protocol allows, because it shares the
// processors with the server.
type workflow struct {
	b     *testing.B
	url   string
	token string
	lanes chan *lane // to the server
	batch atomic.Int64
	ended sync.WaitGroup
}

// newWorkflow connects to a server. The caller starts the endpoint.
func newWorkflow(b *testing.B, server string) *workflow {
	b.Helper()
	const connections = 64
	w := &workflow{b: b, token: "one", lanes: make(chan *lane, connections)}
	for range connections {
		w.lanes <- newLane(b, server)
	}
	return w
}

// listen starts the endpoint with net/http, as the destination of plain messages has it:
// the rates of both are compared.
func (w *workflow) listen() {
	endpoint := httptest.NewServer(w)
	w.b.Cleanup(endpoint.Close)
	w.url = endpoint.URL
}

// listenBare starts the endpoint without net/http, which takes a third of the CPU time: for
// the time that the server needs for some work.
func (w *workflow) listenBare() {
	w.b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.b.Fatal(err)
	}
	w.b.Cleanup(func() { _ = l.Close() }) // the listener has no state to lose
	w.url = "http://" + l.Addr().String()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go w.converse(conn)
		}
	}()
}

// converse answers the calls on a connection until it is closed.
func (w *workflow) converse(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 16<<10)
	var body []byte
	for {
		run, length := "", 0
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return // the server has closed the connection
			}
			name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
			if len(name) == 0 {
				break
			}
			switch string(name) {
			case "Content-Length":
				length, _ = strconv.Atoi(string(value)) // 0 fails below
			case "Svc-Workflow-Runid":
				run = string(value)
			}
		}
		body = slices.Grow(body[:0], length)[:length]
		if _, err := io.ReadFull(in, body); err != nil {
			w.b.Errorf("body of a call to the endpoint: %v", err)
			return
		}
		status := "200 OK"
		if !w.step(run, body) {
			status = "400 Bad Request"
		}
		if _, err := conn.Write([]byte("HTTP/1.1 " + status + "\r\nSvc-Workflow-Sdk-Version: 1\r\nContent-Length: 0\r\n\r\n")); err != nil {
			w.b.Errorf("answer of the endpoint: %v", err)
			return
		}
	}
}

// run executes runs until n steps are done.
func (w *workflow) run(n int) time.Duration {
	n /= stepsPerRun
	batch := w.batch.Add(1)
	w.ended.Add(n)
	begin := time.Now()
	var triggers sync.WaitGroup
	for k := range benchConnections {
		triggers.Go(func() {
			for i := k; i < n; i += benchConnections {
				w.send("POST", "/v2/publish/"+w.url, "payload", "Svc-Workflow-Init: true\r\nSvc-Workflow-RunId: wfr_"+fmt.Sprint(batch, "_", i)+
					"\r\nSvc-Workflow-Url: "+w.url+"\r\nSvc-Workflow-Sdk-Version: 1\r\nSvc-Forward-Svc-Workflow-Sdk-Version: 1\r\nSvc-Feature-Set: InitialBody,WF_TriggerOnConfig\r\n")
			}
		})
	}
	triggers.Wait()
	w.ended.Wait()
	return time.Since(begin)
}

// ServeHTTP answers a call to the endpoint.
func (w *workflow) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.b.Errorf("body of a call to the endpoint: %v", err)
	}
	out.Header().Set("Svc-Workflow-Sdk-Version", "1")
	if !w.step(r.Header.Get("Svc-Workflow-Runid"), body) {
		http.Error(out, "no steps", http.StatusBadRequest)
	}
}

// step executes the next step of a run. The list of the completed steps has a messageId for
// each.
func (w *workflow) step(run string, list []byte) bool {
	next := bytes.Count(list, []byte(`"messageId"`))
	switch {
	case next == 0:
		w.b.Errorf("call to the endpoint: got the body %q, want steps", list)
		return false
	case next > stepsPerRun:
		w.send("DELETE", "/v2/workflows/runs/"+run+"?cancel=false", "done", "")
		w.ended.Done()
		return true
	}
	number := strconv.Itoa(next)
	w.send("POST", "/v2/batch", `[{"destination":"`+w.url+`","body":"{\"stepId\":`+number+`,\"stepName\":\"s`+number+
		`\",\"stepType\":\"Run\",\"out\":\"\\\"ok\\\"\",\"concurrent\":1}","headers":{"Svc-Workflow-Init":"false","Svc-Workflow-RunId":"`+run+`","Svc-Workflow-Url":"`+w.url+
		`","Svc-Workflow-Sdk-Version":"1","Svc-Forward-Svc-Workflow-Sdk-Version":"1","Svc-Feature-Set":"InitialBody,WF_TriggerOnConfig","Content-Type":"application/json"}}]`, "")
	return true
}

// send sends a request over a free connection.
func (w *workflow) send(method, path, body, header string) {
	l := <-w.lanes
	defer func() { w.lanes <- l }()
	l.request = fmt.Appendf(l.request[:0], "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		method, path, w.token, header, len(body), body)
	if err := l.exchange(l.request); err != nil {
		w.b.Errorf("%s %s: %v", method, path, err)
	}
}
