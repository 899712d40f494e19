package packaging_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// What the first test of a Go user may cost. The sizes are those of linux/amd64.
const (
	mostModules   = 26       // of the packages that are linked, this one included
	mostDownloads = 22 << 20 // bytes of their zip files
	mostBinary    = 30 << 20 // bytes of the test binary
)

// userTest is the first test of a Go user.
const userTest = `package shop

import (
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

func TestDelivery(t *testing.T) {
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/order", nil)
	u.Settle()
	for _, path := range []string{"/_understudy/", "/_understudy", "/_understudy/ui/messages", "/_understudy/docs/", "/_understudy/metrics"} {
		r, err := http.Get(u.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d of a part that is not attached, want 404", path, r.StatusCode)
		}
	}
}
`

// TestAGoTestIsLight builds the test of a module outside of this one.
func TestAGoTestIsLight(t *testing.T) {
	t.Parallel()
	effort.Long(t, "it links a program")
	dir := outside(t)
	modules := strings.Fields(inModule(t, dir, "list", "-deps", "-test", "-f", "{{with .Module}}{{if .Version}}{{.Path}}@{{.Version}}{{end}}{{end}}", "./..."))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	if n := len(modules); n > mostModules {
		t.Errorf("a test links %d modules, want at most %d: %v", n, mostModules, modules)
	}
	var bytes int64
	for _, m := range modules {
		if !strings.HasPrefix(m, "github.com/understudy-mock/") {
			bytes += zipSize(t, dir, m)
		}
	}
	if bytes > mostDownloads {
		t.Errorf("their downloads have %d bytes, want at most %d", bytes, mostDownloads)
	}
	inModule(t, dir, "test", "-c", "-o", "shop.test", ".")
	info, err := os.Stat(filepath.Join(dir, "shop.test"))
	expect.NoError(t, err)
	if info.Size() > mostBinary {
		t.Errorf("the test binary has %d bytes, want at most %d", info.Size(), mostBinary)
	}
	t.Logf("%d modules, downloads of %d bytes, a test binary of %d bytes", len(modules), bytes, info.Size())
	inModule(t, dir, "test", ".")
}

// outside is a module of its own with a test that uses this one.
func outside(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	expect.NoError(t, err)
	sums, err := os.ReadFile("../go.sum")
	expect.NoError(t, err)
	for name, text := range map[string]string{
		"go.mod":       fmt.Sprintf("module shop.test\n\ngo 1.26\n\nrequire github.com/understudy-mock/understudy v0.0.0\n\nreplace github.com/understudy-mock/understudy => %s\n", root),
		"go.sum":       string(sums),
		"shop_test.go": userTest,
	} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	inModule(t, dir, "mod", "tidy")
	return dir
}

// inModule runs a go command in a folder and returns what it prints.
func inModule(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}

// zipSize is the size of the download of a module.
func zipSize(t *testing.T, dir, module string) int64 {
	t.Helper()
	name := strings.TrimSpace(inModule(t, dir, "mod", "download", "-json", module))
	_, name, _ = strings.Cut(name, `"Zip": "`)
	name, _, _ = strings.Cut(name, `"`)
	info, err := os.Stat(name)
	expect.NoError(t, err)
	return info.Size()
}
