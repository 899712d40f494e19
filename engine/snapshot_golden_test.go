package engine_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// The folder testdata has one snapshot of each version of the format, all of the same state;
// a new version comes with a new file, and the old ones stay. A change of a name
// or of an order in the file fails here.
func TestSnapshotsOfEveryVersionLoad(t *testing.T) {
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
			latest, err := os.ReadFile(fmt.Sprintf("testdata/snapshot-%d.json", engine.SnapshotVersion))
			expect.NoError(t, err)
			s, err := engine.ReadSnapshot(bytes.NewReader(text))
			expect.NoError(t, err)
			if got := engine.Document(s); !bytes.Equal(got, bytes.TrimSpace(latest)) {
				t.Errorf("written again it is %s, want that of snapshot-%d.json", got, engine.SnapshotVersion)
			}
			w := setup(t, stored, func(c *engine.Config) { c.Parallel = 64 })
			w.load(text)
			overview, _ := w.Overview()
			expect.Equal(t, "runs in state RUN_STARTED", overview.Runs[engine.RunStarted], 4)
			expect.Equal(t, "waiters", len(w.Waiters("")), 12)
			expect.Equal(t, "clock", w.Now().UnixMilli(), int64(1800000619000))
		})
	}
}
