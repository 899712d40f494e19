package mockserver_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestSnapshotChecksum(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Seed: 3})
	u.Stub("https://app.test/*", 500, 200)
	u.Publish("https://app.test/a", []byte(`{"text": "a < b & c \u00e9"}`), "Svc-Delay: 10s", "Svc-Label: one")
	u.Publish("https://app.test/b", []byte{0xff, 0}, "Svc-Forward-X: y")
	u.Advance(5 * time.Second)
	c := newClient(t, u)
	text := c.do("GET", "/_understudy/snapshot", "").ok().raw
	load := func(t *testing.T, text []byte) answer {
		t.Helper()
		other := newClient(t, mockserver.RunT(t))
		return other.do("PUT", "/_understudy/snapshot", string(text))
	}
	t.Run("as it was saved", func(t *testing.T) {
		t.Parallel()
		load(t, text).ok()
	})
	t.Run("in another layout", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		expect.NoError(t, json.Indent(&out, text, "", "  "))
		load(t, out.Bytes()).ok()
	})
	t.Run("of an older server, without a checksum", func(t *testing.T) {
		t.Parallel()
		old := regexp.MustCompile(`,"checksum":"[^"]*"`).ReplaceAll(text, nil)
		if len(old) != len(text)-len(`,"checksum":"sha256:"`)-64 {
			t.Fatalf("%d bytes of %d", len(old), len(text))
		}
		load(t, old).ok()
	})
	t.Run("edited", func(t *testing.T) {
		t.Parallel()
		load(t, []byte(strings.Replace(string(text), "one", "two", 1))).refused(400, "checksum does not match", "remove its member checksum")
	})
	t.Run("with any bit flipped", func(t *testing.T) {
		t.Parallel()
		server := mockserver.RunT(t)
		trimmed := bytes.TrimRight(text, "\n")
		for i := range trimmed {
			for bit := range 8 {
				if (i*8+bit)%7 != 0 && i < len(trimmed)-90 {
					continue // a part of them
				}
				broken := bytes.Clone(trimmed)
				broken[i] ^= 1 << bit
				if _, err := server.Restore(broken); err == nil {
					t.Fatalf("loads with bit %d of byte %d flipped: ...%s...", bit, i, broken[max(0, i-20):min(len(broken), i+20)])
				}
			}
		}
	})
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	c.do("GET", "/_understudy/readyz", "").ok()
	u.NotReady("snapshot not saved: no space left")
	c.do("GET", "/_understudy/readyz", "").refused(503, "snapshot not saved: no space left")
	c.do("GET", "/_understudy/livez", "").ok()
	u.NotReady("")
	c.do("GET", "/_understudy/readyz", "").ok()
}
