package expect

import (
	"flag"
	"os"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
)

// update makes Generated write files, for `make generate`.
var update = flag.Bool("update", false, "write the generated files")

// Generated checks that a file in the repository is what the test generates. With -update,
// it writes the file. `make generate` runs the tests that call it by their names, which
// begin like that of TestGeneratedTypes.
func Generated(t T, path, want string) {
	t.Helper()
	have, err := os.ReadFile(path)
	if err == nil && string(have) == want {
		return
	}
	if !*update {
		t.Errorf("%s is stale: run `make generate` (want -, got +): %v\n%s", path, err, cmp.Diff(want, string(have)))
		return
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
}

// part makes parallel tests change their parts of one file one after the other.
var part sync.Mutex

// GeneratedPart is Generated for the part of a file between two lines.
func GeneratedPart(t T, path, begin, end, want string) {
	t.Helper()
	part.Lock()
	defer part.Unlock()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	before, rest, began := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !began || !ended {
		t.Fatalf("%s: no lines %q and %q", path, begin, end)
	}
	Generated(t, path, before+begin+want+end+after)
}
