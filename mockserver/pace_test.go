package mockserver_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// longestWait bounds a wait of these tests that ends much sooner unless something is wrong. The
// race detector on a busy machine needs a minute for a list of 12 MB.
const longestWait = 2 * time.Minute

// dialed is a raw connection to a server.
func dialed(t *testing.T, u *mockserver.TestServer) net.Conn {
	t.Helper()
	scheme, address, _ := strings.Cut(u.URL(), "://")
	conn, err := net.Dial("tcp", address)
	if scheme == "https" {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // that of the test
	}
	expect.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	expect.NoError(t, conn.SetDeadline(time.Now().Add(effort.Wait(longestWait))))
	return conn
}

// closed fails unless the server ends the connection; it returns what came.
func closed(t *testing.T, conn net.Conn) string {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(effort.Wait(longestWait))); err != nil { // what came before may have taken minutes
		t.Error(err)
	}
	text, err := io.ReadAll(conn)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // as it comes
		t.Errorf("the connection is still open: %s", text)
	}
	return string(text)
}

const head = "POST /v2/publish/https://e.test/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"

// pace is how long an impatient server waits for progress: a second on a quiet machine.
var pace = effort.Wait(time.Second)

func impatient(t *testing.T) *mockserver.TestServer {
	t.Helper()
	u := mockserver.RunT(t, mockserver.Paced(mockserver.Config{}, pace, pace))
	u.Stub("*", 200)
	return u
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	expect.NoError(t, expect.ErrorOf(io.WriteString(conn, text)))
}

// answered demands that what a connection sent starts with a status.
func answered(t *testing.T, text string, status int) {
	t.Helper()
	if want := fmt.Sprintf("HTTP/1.1 %d ", status); !strings.HasPrefix(text, want) {
		t.Errorf("the answer: got %q, want it to start with %q", text, want)
	}
}

func TestConnectionsThatMakeNoProgressEnd(t *testing.T) {
	t.Parallel()
	t.Run("one that says nothing", func(t *testing.T) {
		t.Parallel()
		closed(t, dialed(t, impatient(t)))
	})
	t.Run("one with a part of a head", func(t *testing.T) {
		t.Parallel()
		conn := dialed(t, impatient(t))
		write(t, conn, "GET / HTTP/1.1\r\nHost: lo")
		closed(t, conn)
	})
	t.Run("one that is idle after a request", func(t *testing.T) {
		t.Parallel()
		conn := dialed(t, impatient(t))
		write(t, conn, "GET /_understudy/livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answered(t, closed(t, conn), http.StatusOK)
	})
	t.Run("one with a part of a body", func(t *testing.T) {
		t.Parallel()
		u := impatient(t)
		conn := dialed(t, u)
		write(t, conn, fmt.Sprintf(head+"Content-Length: 10\r\n\r\nabc", u.Token()))
		text := closed(t, conn)
		answered(t, text, http.StatusRequestTimeout)
		expect.Contains(t, "the answer", text, "too slowly")
	})
	t.Run("one with a part of a chunked body", func(t *testing.T) {
		t.Parallel()
		u := impatient(t)
		conn := dialed(t, u)
		write(t, conn, fmt.Sprintf(head+"Transfer-Encoding: chunked\r\n\r\n5\r\nabc", u.Token()))
		answered(t, closed(t, conn), http.StatusRequestTimeout)
	})
	t.Run("one whose client does not read an event stream", func(t *testing.T) {
		t.Parallel()
		u := impatient(t)
		conn := dialed(t, u)
		write(t, conn, "GET /_understudy/deliveries?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n")
		c := newClient(t, u)
		for range 12 { // more than the buffers of a connection hold
			u.Publish("https://e.test/", bytes.Repeat([]byte("x"), 1<<20))
		}
		c.do("GET", fmt.Sprintf("/_understudy/sink/slow/%dms", (3*pace).Milliseconds()), "").ok()
		closed(t, conn)
	})
	t.Run("one whose client does not read its answer", func(t *testing.T) {
		t.Parallel()
		u := impatient(t)
		c := newClient(t, u)
		for range 12 {
			u.Publish("https://e.test/", bytes.Repeat([]byte("x"), 1<<20))
		}
		u.Settle()
		began := time.Now()
		c.do("GET", "/_understudy/deliveries", "").ok()
		took := time.Since(began) // until the answer is made and sent
		conn := dialed(t, u)
		write(t, conn, "GET /_understudy/deliveries HTTP/1.1\r\nHost: localhost\r\n\r\nGET /_understudy/livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		c.do("GET", fmt.Sprintf("/_understudy/sink/slow/%dms", (6*pace+4*took).Milliseconds()), "").ok()
		text := closed(t, conn)
		expect.Equal(t, "number of answers", strings.Count(text, "HTTP/1.1 200"), 1)
		if strings.HasSuffix(text, `"}`) {
			t.Errorf("the answer: got %d bytes, which end with %.80q, want its end cut off", len(text), text[max(0, len(text)-80):])
		}
	})
	t.Run("one with a part of a body that nobody wants", func(t *testing.T) {
		t.Parallel()
		conn := dialed(t, impatient(t))
		write(t, conn, fmt.Sprintf(head+"Content-Length: 10\r\n\r\nabc", "wrong"))
		answered(t, closed(t, conn), http.StatusUnauthorized)
	})
}

// TestLargeListsWaitForEachOther: clients that ask for much and read nothing hold
// a bounded number of answers; others get an answer afterwards.
func TestLargeListsWaitForEachOther(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	for range 12 {
		u.Publish("https://e.test/", bytes.Repeat([]byte("x"), 1<<20))
	}
	u.Settle()
	c := newClient(t, u)
	unread := make([]net.Conn, 8)
	for i := range unread {
		unread[i] = dialed(t, u)
		expect.NoError(t, expect.ErrorOf(io.WriteString(unread[i], "GET /_understudy/deliveries HTTP/1.1\r\nHost: localhost\r\n\r\n")))
	}
	for _, conn := range unread { // each has its turn once the first byte is there
		expect.NoError(t, expect.ErrorOf(conn.Read(make([]byte, 1))))
	}
	c.do("GET", "/_understudy/deliveries?limit=1", "").refused(429, "large answers")
	c.do("GET", "/_understudy/health", "").ok()
	for _, conn := range unread {
		_ = conn.Close()
	}
	c.do("GET", "/_understudy/deliveries?limit=1", "").ok()
}

// TestConnectionsThatMakeProgressStay: what takes longer than the deadlines.
func TestConnectionsThatMakeProgressStay(t *testing.T) {
	t.Parallel()
	u := impatient(t)
	slow := fmt.Sprintf("/_understudy/sink/slow/%dms", (5 * pace / 2).Milliseconds()) // longer than each deadline
	wait := func(t *testing.T) { newClient(t, u).do("GET", slow, "").ok() }
	t.Run("a long body", func(t *testing.T) {
		conn := dialed(t, u)
		parts, part := 5, int(4*pace.Milliseconds()) // each buys 4 paces, at 1,000 bytes/s
		expect.NoError(t, expect.ErrorOf(fmt.Fprintf(conn, head+"Content-Length: %d\r\n\r\n", u.Token(), parts*part)))
		for i := range parts {
			if i > 0 && i < 3 {
				wait(t)
			}
			expect.NoError(t, expect.ErrorOf(io.WriteString(conn, strings.Repeat("x", part))))
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if expect.Nil(t, "reading the answer", err) {
			expect.Equal(t, "status of the answer", answer.StatusCode, http.StatusOK)
		}
	})
	t.Run("an event stream", func(t *testing.T) {
		response, err := http.Get(u.URL() + "/_understudy/events")
		expect.NoError(t, err)
		defer response.Body.Close()
		wait(t)
		u.Publish("https://e.test/", nil)
		line, err := bufio.NewReader(response.Body).ReadString('\n')
		expect.Nil(t, "reading the stream", err)
		expect.True(t, "a line of the stream", line != "")
	})
	t.Run("an answer that takes its time after a body", func(t *testing.T) {
		newClient(t, u).do("POST", slow, "a body").ok()
	})
	t.Run("await", func(t *testing.T) {
		done := make(chan answer)
		go func() {
			done <- newClient(t, u).do("POST", "/_understudy/await", fmt.Sprintf(`{"on":"deliveries","url":"https://late.test/","timeout":"%dms"}`, (20*pace).Milliseconds()))
		}()
		wait(t)
		u.Publish("https://late.test/", nil)
		(<-done).ok()
	})
}

func TestTwoLengthsAreRefused(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]*tls.Config{"plain": nil, "over TLS": testTLS(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			twoLengths(t, mockserver.RunT(t, mockserver.Config{TLS: config}))
		})
	}
}

// twoLengths sends requests with two lengths, and others that look like it.
func twoLengths(t *testing.T, u *mockserver.TestServer) {
	t.Helper()
	u.Stub("*", 200)
	const chunked, length, body = "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n", "5\r\nhello\r\n0\r\n\r\n"
	get := "GET /_understudy/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
	post := fmt.Sprintf(head, u.Token())
	for name, c := range map[string]struct {
		sent string
		want []string // statuses; behind "400" the connection ends
	}{
		"length, then encoding":             {post + length + chunked + "\r\n" + body, []string{"400"}},
		"encoding, then length":             {post + chunked + length + "\r\n" + body, []string{"400"}},
		"in other cases":                    {post + strings.ToUpper(chunked) + strings.ToLower(length) + "\r\n" + body, []string{"400"}},
		"a length of 0":                     {post + "Content-Length: 0\r\n" + chunked + "\r\n" + body, []string{"400"}},
		"a length that is none":             {post + "Content-Length: x\r\n" + chunked + "\r\n" + body, []string{"400"}},
		"lines that end without return":     {strings.ReplaceAll(post+length+chunked+"\r\n", "\r", "") + body, []string{"400"}},
		"a folded value":                    {post + length + "Transfer-Encoding:\r\n chunked\r\n\r\n" + body, []string{"400"}},
		"after another request":             {get + post + length + chunked + "\r\n" + body, []string{"200", "400"}},
		"after a body":                      {post + length + "\r\nhello" + get + post + length + chunked + "\r\n" + body, []string{"200", "200", "400"}},
		"only a length":                     {post + length + "\r\nhello" + get, []string{"200", "200"}},
		"only an encoding":                  {post + chunked + "\r\n" + body + get, []string{"200", "200"}},
		"chunks with extensions, a trailer": {post + chunked + "\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n" + get, []string{"200", "200"}},
		"a body that looks like a head":     {post + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(get+length+chunked), get+length+chunked) + get, []string{"200", "200"}},
		"a chunk that looks like a head":    {post + chunked + fmt.Sprintf("\r\n%x\r\n%s\r\n0\r\n\r\n", len(length+chunked), length+chunked) + get, []string{"200", "200"}},
		"one of each, in requests of a row": {post + chunked + "\r\n" + body + post + length + "\r\nhello" + get, []string{"200", "200", "200"}},
	} {
		for _, step := range []int{1, 1 << 20} { // bytes in a packet
			t.Run(fmt.Sprintf("%s, %d", name, step), func(t *testing.T) {
				t.Parallel()
				conn := dialed(t, u)
				go func() { // the server may stop reading
					for text := c.sent; text != ""; text = text[min(step, len(text)):] {
						if _, err := io.WriteString(conn, text[:min(step, len(text))]); err != nil {
							return
						}
					}
				}()
				reader := bufio.NewReader(conn)
				var got []string
				for len(got) < len(c.want) || c.want[len(c.want)-1] == "400" {
					answer, err := http.ReadResponse(reader, nil)
					if err != nil {
						break
					}
					_, _ = io.Copy(io.Discard, answer.Body)
					got = append(got, answer.Status[:3])
				}
				refused := c.want[len(c.want)-1] == "400"
				fine := strings.Count(strings.Join(got, " "), "200")
				if most := len(c.want) - 1; refused && fine > most {
					t.Errorf("requests with status 200: got %d in %v, want at most %d", fine, got, most)
				}
				if !refused && fine != len(c.want) {
					t.Errorf("requests with status 200: got %d in %v, want %d", fine, got, len(c.want))
				}
				if len(c.want) == 1 && len(got) == 0 {
					t.Errorf("the only request: got no answer, want %v", c.want)
				}
			})
		}
	}
}
