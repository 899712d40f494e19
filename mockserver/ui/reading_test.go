package ui_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestReadingGzip reads bodies that are compressed, also within base64, and of large ones the
// beginning. The credentials in them are hidden.
func TestReadingGzip(t *testing.T) {
	t.Parallel()
	zipped := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text)) // a bytes.Buffer always accepts
		_ = w.Close()
		return b.Bytes()
	}
	base := func(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
	paid := zipped(`{"paid":true,"note":"<b>","password":"HIDDEN5"}`)
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	for name, c := range map[string]struct {
		body []byte
		says []string
	}{
		"a body":                 {paid, []string{"1f 8b 08", "binary decoded from gzip", `"paid" : true`, `"note" : "<b>"`, "47 B"}},
		"a body as base64":       {[]byte(base(paid)), []string{"decoded from base64 of gzip", `"paid" : true`}},
		"a member of JSON":       {[]byte(`{"data":"` + base(paid) + `"}`), []string{"decoded from base64 of gzip", `"paid" : true`}},
		"a large body":           {zipped(strings.Repeat("x", 50<<10)), []string{"50.0 KiB; 34.0 KiB are not shown"}},
		"a body that is larger":  {zipped(strings.Repeat("é", 1<<20)), []string{"at least 64.0 KiB; at least 48.0 KiB are not shown"}},
		"bytes without any text": {zipped("\x00\x01\x02"), []string{"1f 8b 08"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := u.Publish("https://app.test/zip", c.body)
			for _, path := range []string{"ui/messages/" + id, "ui/body/messages/" + id} {
				page := read(t, u, path).at("view").text()
				for _, text := range c.says {
					expect.Contains(t, path, page, text)
				}
				expect.Lacks(t, path, page, "HIDDEN5")
				expect.Equal(t, path+": has a decoded text", strings.Contains(page, "decoded from"), len(c.says) > 1 || strings.Contains(c.says[0], "not shown"))
			}
		})
	}
}

// TestPartsOfBodies reads parts of large bodies from the control API.
func TestPartsOfBodies(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{MaxBody: 16 << 20})
	u.Stub("*", 200)
	large := u.Publish("https://app.test/large", []byte(strings.Repeat("0123456789", 60_000)))
	u.Settle()
	t.Run("only the requested part is read", func(t *testing.T) {
		const size = 10 << 20
		id := u.Publish("https://app.test/huge", []byte(strings.Repeat("0123456789abcde\n", size/16)))
		u.Settle()
		for _, place := range []string{"", "&place=request-1"} {
			var part struct {
				Size, Start, End int
				Body             string
			}
			answer := request(t, u, http.MethodGet, "/_understudy/bodies/messages/"+id+"?start=10485728&maxBody=20"+place, "")
			expect.Nil(t, "error", json.Unmarshal([]byte(answer), &part))
			expect.Equal(t, "part", fmt.Sprintf("%d %d %d %q", part.Size, part.Start, part.End, part.Body), `10485760 10485728 10485748 "0123456789abcde\n0123"`)
			expect.True(t, "the answer is small", len(answer) < 200)
			page := read(t, u, "ui/body/messages/"+id+"?part=160"+place).at("view").text()
			expect.Contains(t, "last part", page, "Bytes 10 420 224 to 10 485 760 of 10 485 760")
		}
	})
	t.Run("a body that does not exist is not found", func(t *testing.T) {
		for _, path := range []string{"messages/" + large + "?place=request-9", "messages/" + large + "?place=x", "messages/none", "requests/1000", "requests/x", "runs/none", "dlq/none"} {
			expect.Contains(t, "answer to "+path, request(t, u, http.MethodGet, "/_understudy/bodies/"+path, ""), "not found")
		}
		for _, path := range []string{"keys/x", "messages/" + large + "?start=-1", "messages/" + large + "?maxBody=0"} {
			expect.Contains(t, "answer to "+path, request(t, u, http.MethodGet, "/_understudy/bodies/"+path, ""), "must be")
		}
		huge := "messages/" + large + "?start=9223372036854775807&maxBody=9223372036854775807"
		expect.Contains(t, "answer behind the end", request(t, u, http.MethodGet, "/_understudy/bodies/"+huge, ""), `"start":600000`)
	})
}

func TestWithInstantsEscapes(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Publish("https://app.test/x", nil, "Svc-Flow-Control-Key: <b>2026-03-02T23:30:00Z</b>", "Svc-Flow-Control-Value: parallelism=1", "Svc-Delay: 1h")
	id := u.Publish("https://app.test/x", nil, "Svc-Delay: 1h")
	u.Settle()
	expect.Contains(t, "the reason of a manual clock", request(t, u, http.MethodGet, "/_understudy/ui/messages/"+id, ""), "and waits until it is advanced</li>")
	press(t, u, "flow.pause", "key", "<b>2026-03-02T23:30:00Z</b>")
	expect.Lacks(t, "page", request(t, u, http.MethodGet, "/_understudy/ui/messages", ""), "<b>")
}
