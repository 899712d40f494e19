package kv_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/kv"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("KV_TEST_HOST"); url != "" {
		os.Exit(hostProcess(url))
	}
	goleak.VerifyTestMain(m)
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

func newKV(t testing.TB, cfg kv.Config) *kv.KV {
	t.Helper()
	store, err := kv.New(cfg)
	expect.NoError(t, err)
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
