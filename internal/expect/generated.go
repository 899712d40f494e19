package expect

import (
	"flag"
	"os"

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
