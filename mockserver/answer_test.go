package mockserver_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// An answer above the limit counts as it is, and whatever keeps it says how long
// it was.
func TestALongAnswerSaysSo(t *testing.T) {
	t.Parallel()
	const limit = 128 << 10 // 10 MiB unless configured
	for name, c := range map[string]struct {
		length  int64
		chunked bool
		status  int
		want    string // "" for no note
	}{
		"at the limit":                     {limit, false, 200, ""},
		"above, a success":                 {limit + 7, false, 200, "answer is 131079 bytes long; the limit is 131072 (128 KiB), and the rest is not kept; raise it with --max-answer"},
		"above, of unknown length":         {limit + 7, true, 200, "answer is 131079 bytes long; the limit is 131072 (128 KiB), and the rest is not kept; raise it with --max-answer"},
		"above, a failure":                 {2 * limit, false, 500, "answer is 262144 bytes long; the limit is 131072 (128 KiB), and the rest is not kept; raise it with --max-answer"},
		"far above, and of unknown length": {11 * limit, true, 200, "answer is more than 1310720 bytes long; the limit is 131072 (128 KiB), and the rest is not kept; raise it with --max-answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &lines{}
			u := mockserver.RunT(t, mockserver.Config{MaxAnswer: limit, Log: slog.New(slog.NewTextHandler(log, nil))})
			s := newSink(t, func(w http.ResponseWriter, _ *http.Request) {
				if !c.chunked {
					w.Header().Set("Content-Length", fmt.Sprint(c.length))
				}
				w.WriteHeader(c.status)
				_, _ = io.CopyN(w, endless("ä"), c.length) // the server may have hung up
			})
			id := u.Publish(s.URL, nil, "Svc-Retries: 0", "Svc-Callback: "+u.URL()+"/_understudy/sink/status/200")
			list := u.Deliveries()
			first := list[0]
			expect.Equal(t, "status of the delivery", first.Response.Status, c.status)
			expect.Equal(t, "error of the delivery", first.Error, "")
			expect.Equal(t, "bytes of the body that are kept", len(first.Response.Body), limit)
			cl := newClient(t, u)
			shown := map[string]string{
				"journal":  first.Note,
				"log":      string(cl.do("GET", "/v2/logs?messageId="+id, "").ok().raw),
				"why":      string(cl.do("GET", "/_understudy/explain/"+id, "").ok().raw),
				"terminal": log.String(),
				"callback": string(list[1].Request.Body),
			}
			if c.status != 200 {
				shown["DLQ"] = string(cl.do("GET", "/v2/dlq", "").ok().raw)
			}
			for place, text := range shown {
				if !strings.Contains(text, c.want) {
					t.Errorf("%s: got a text without %q, want it there", place, c.want)
				}
				if c.want == "" && strings.Contains(text, "the limit is") {
					t.Errorf("%s: got a note on the limit, want none", place)
				}
			}
		})
	}
}

// endless repeats a text.
type endless string

func (e endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		n += copy(b[n:], e)
	}
	return n, nil
}
