package mockserver_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// The folder kept-1 is what a build of November 2026 left of one state, which has something of
// everything, in every form in which a state is kept: a snapshot, the data folder of a killed
// server, the folder after a clean stop, and an exported journal.
const kept = "testdata/kept-1"

func TestWhatAnEarlierBuildKeptOpensWithEqualContent(t *testing.T) {
	t.Parallel()
	want := accountsOf(t, read(t, filepath.Join(kept, "snapshot.json")))
	accounts := []mockserver.Account{{ID: "main", Token: "token-main"}, {ID: "other", Token: "token-other"}}
	t.Run("snapshot", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Outbound: "stub-only", Accounts: accounts})
		expect.NoError(t, expect.ErrorOf(u.Restore(read(t, filepath.Join(kept, "snapshot.json")))))
		sameAccounts(t, u, want)
	})
	for _, name := range []string{"killed", "clean"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAccounts(t, mockserver.RunT(t, mockserver.Config{
				Outbound: "stub-only", Accounts: accounts, Clock: "manual", Seed: 7, Store: folder(t, crashed(t, filepath.Join(kept, name))),
			}), want)
		})
	}
	t.Run("journal", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Outbound: "stub-only", Accounts: accounts})
		expect.NoError(t, expect.ErrorOf(u.Restore(read(t, filepath.Join(kept, "snapshot.json")))))
		r := replayed(t, filepath.Join(kept, "journal.jsonl"), tenant.Until{})
		for _, path := range []string{"_understudy/messages", "_understudy/runs", "_understudy/log", "_understudy/dlq", "_understudy/schedules", "v2/flowControl", "v2/queues", "v2/topics"} {
			from := func(u *mockserver.TestServer) string {
				return withoutCursor(string(newClient(t, u).do(http.MethodGet, "/"+path, "").ok().raw))
			}
			expect.Equal(t, path, from(r), from(u))
		}
	})
}

// accountsOf are the states of the two accounts in a snapshot, without the number of their
// last record: that a server starts again is a record.
func accountsOf(t *testing.T, snapshot []byte) map[string]map[string]any {
	t.Helper()
	var doc struct {
		Accounts []map[string]any
	}
	expect.NoError(t, json.Unmarshal(snapshot, &doc))
	accounts := map[string]map[string]any{}
	for _, a := range doc.Accounts {
		if id, _ := a["id"].(string); id == "main" || id == "other" {
			state, _ := a["state"].(map[string]any)
			delete(state, "lsn")
			accounts[id] = a
		}
	}
	return accounts
}

func sameAccounts(t *testing.T, u *mockserver.TestServer, want map[string]map[string]any) {
	t.Helper()
	text, err := u.Snapshot()
	expect.NoError(t, err)
	got := accountsOf(t, text)
	for id, account := range want {
		for name, value := range account {
			if state, ok := value.(map[string]any); ok {
				gotten, _ := got[id][name].(map[string]any)
				for part := range state {
					expect.Equal(t, id+" "+name+" "+part, asJSON(t, gotten[part]), asJSON(t, state[part]))
				}
				continue
			}
			expect.Equal(t, id+" "+name, asJSON(t, got[id][name]), asJSON(t, value))
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	expect.NoError(t, err)
	return string(text)
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	expect.NoError(t, err)
	return text
}
