package ui_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/store/sqlite"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// journaled is a server with a data folder, whose account has a message that is
// delivered after an hour and one that fails.
func journaled(t *testing.T) *mockserver.TestServer {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	u := mockserver.RunT(t, mockserver.Config{Store: st})
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	u.Settle()
	u.Advance(2 * time.Hour)
	return u
}

// snapshotOf is a snapshot without the time of saving.
func snapshotOf(t *testing.T, u *mockserver.TestServer) string {
	t.Helper()
	text, err := u.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := strings.Cut(string(text), `"accounts"`)
	state, _, _ = strings.Cut(state, `"checksum"`)
	return state
}

// TestRecordsInWords reads the records of a journal: their fields are words, and their values unchanged.
func TestRecordsInWords(t *testing.T) {
	t.Parallel()
	u := journaled(t)
	rows := read(t, u, "ui/history?lsn=4").at("view").first("table", "list").text()
	for _, want := range []string{"publish url https://down.test/x, retries 0,", ", status 503, ", "caller ip 127.0.0.1"} {
		if !strings.Contains(rows, want) {
			t.Errorf("records: got %q, want %q in it", rows, want)
		}
	}
	if strings.Contains(rows, "Outcome.") {
		t.Errorf("records: got %q, want no names of fields", rows)
	}
}

// TestTheCommandsOfTheHistoryNameTheAccount reads the commands that serve a state of one of two accounts: without the
// account, the exported file has both, and the second command is refused.
func TestTheCommandsOfTheHistoryNameTheAccount(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir()})
	expect.Nil(t, "error", err)
	t.Cleanup(func() { _ = st.Close() })
	u := mockserver.RunT(t, mockserver.Config{Store: st, Accounts: []mockserver.Account{{ID: "one", Token: "1"}, {ID: "the-other", Token: "2"}}})
	request(t, u, http.MethodPost, "/_understudy/as/the-other/v2/publish/https://app.test/x", "", "Svc-Delay", "1h")
	expect.Contains(t, "the commands", read(t, u, "ui/history?account=the-other").at("view").text(), "ctl journal export report.jsonl --account the-other , then")
}
