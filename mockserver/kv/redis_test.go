package kv_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/understudy-mock/understudy/internal/programs"
	"github.com/understudy-mock/understudy/mockserver/kv"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("KV_TEST_HOST"); url != "" {
		os.Exit(hostProcess(url))
	}
	goleak.VerifyTestMain(m)
}

// realRedis starts a redis-server with a socket for one test and returns its URL. If
// redis-server is not installed, the test is skipped with a warning; in continuous
// integration it fails.
func realRedis(t testing.TB) string {
	t.Helper()
	const binary = "redis-server"
	programs.Need(t, "the store over a real server is NOT tested", "redis-server")
	socket, err := os.MkdirTemp("", "kv") // short: the length of a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	path := socket + "/s"
	cmd := exec.Command(binary, "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", socket)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error says that it was killed
		_ = os.RemoveAll(socket)
	})
	said := make([]byte, 4096)
	for log := ""; !strings.Contains(log, "ready to accept connections"); {
		n, err := out.Read(said)
		log += string(said[:n])
		if err != nil {
			t.Fatalf("redis-server ended: %v\n%s", err, log)
		}
	}
	if conn, err := net.Dial("unix", path); err != nil {
		t.Fatal(err)
	} else {
		_ = conn.Close()
	}
	return "unix://" + path
}

// clock is a clock that a test advances.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.UnixMilli(1767225600000)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// eachBackend runs a test with the embedded store and with a real server.
func eachBackend(t *testing.T, test func(t *testing.T, store *kv.KV)) {
	t.Helper()
	for _, name := range []string{"embedded", "redis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := kv.Config{Token: "secret", Now: newClock().Now}
			if name == "redis" {
				cfg.URL = realRedis(t)
			}
			test(t, newKV(t, cfg))
		})
	}
}

func newKV(t testing.TB, cfg kv.Config) *kv.KV {
	t.Helper()
	store, err := kv.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// post sends a body with the token; header has names and values in turn.
func post(store http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	return ask(store, http.MethodPost, path, body, append([]string{"Authorization", "Bearer secret"}, header...)...)
}

func ask(store http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	store.ServeHTTP(w, r)
	return w
}
