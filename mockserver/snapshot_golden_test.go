package mockserver_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// The folder testdata has one document of each version of the format, saved by a server
// with two accounts that had something of everything.
func TestSnapshotDocumentsOfEveryVersionLoad(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/snapshot-*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("golden snapshots %v, %v", names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			expect.NoError(t, err)
			u := mockserver.RunT(t, mockserver.Config{Outbound: "stub-only"})
			loaded, err := u.Restore(text)
			if err != nil || len(loaded.Accounts) < 2 {
				t.Fatalf("%d accounts, %v", len(loaded.Accounts), err)
			}
			c := newClient(t, u)
			for path, want := range map[string]int{"/v2/queues": 3, "/v2/flowControl": 4, "/v2/schedules": 3, "/v2/topics": 1} {
				if got := len(c.do("GET", path, "", "Authorization: Bearer token-main").ok().list()); got != want {
					t.Errorf("%s: got %d, want %d", path, got, want)
				}
			}
			if got := len(c.do("GET", "/v2/logs", "", "Authorization: Bearer token-other").ok().list("logs")); got == 0 {
				t.Error("the second account has no log")
			}
		})
	}
}
