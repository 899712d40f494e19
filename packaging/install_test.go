package packaging

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// released serves a release with one archive for this machine, with the given checksum or the
// correct one.
func released(t *testing.T, sum string) string {
	t.Helper()
	binary, err := os.ReadFile(filepath.Join(binaries(t), "understudy"))
	expect.NoError(t, err)
	var archive bytes.Buffer
	packed, _ := gzip.NewWriterLevel(&archive, gzip.BestSpeed) // the level is valid
	files := tar.NewWriter(packed)
	for name, content := range map[string][]byte{"understudy": binary, "completions/understudy": []byte("not the binary")} {
		mode := map[bool]int64{true: 0o755, false: 0o644}[name == "understudy"]
		expect.NoError(t, files.WriteHeader(&tar.Header{Name: "understudy_9.9.9/" + name, Mode: mode, Size: int64(len(content))}))
		expect.NoError(t, expect.ErrorOf(files.Write(content)))
	}
	expect.NoError(t, files.Close())
	expect.NoError(t, packed.Close())
	if sum == "" {
		sum = fmt.Sprintf("%x", sha256.Sum256(archive.Bytes()))
	}
	name := fmt.Sprintf("understudy_9.9.9_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	sums := fmt.Sprintf("%s  understudy_9.9.9_plan9_mips.tar.gz\n%s  %s\n", strings.Repeat("0", 64), sum, name)
	mux := http.NewServeMux()
	for _, from := range []string{"/latest/download/", "/download/v9.9.9/"} {
		mux.HandleFunc(from+"SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, sums) })
		mux.HandleFunc(from+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestPackagingInstall(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	script, err := filepath.Abs("install.sh")
	expect.NoError(t, err)
	right, wrong := released(t, ""), released(t, strings.Repeat("f", 64))
	for _, c := range []struct{ name, releases, version, want string }{
		{"the latest release", right, "latest", ""},
		{"a version", right, "9.9.9", ""},
		{"a tag", right, "v9.9.9", ""},
		{"a version that does not exist", right, "1.1.1", "cannot download " + right + "/download/v1.1.1/SHA256SUMS"},
		{"another checksum", wrong, "latest", "the checksum differs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "bin")
			install := step{dir: t.TempDir(), script: "sh '" + script + "'", env: []string{"VERSION=" + c.version, "INSTALL_DIR=" + folder, "UNDERSTUDY_RELEASES=" + c.releases}}
			out, err := install.bash(t)
			if c.want == "" {
				if err != nil {
					t.Errorf("the installation: got %v, want exit status 0\n%s", err, out)
				}
				if want := "understudy "; !strings.HasPrefix(out, want) {
					t.Errorf("the output: got %q, want it to begin with %q", out, want)
				}
				return
			}
			expect.True(t, "an installation that fails", err != nil)
			_, err = os.Stat(filepath.Join(folder, "understudy"))
			expect.True(t, "no program in the folder", err != nil)
			expect.Contains(t, "the output", out, c.want)
		})
	}
	t.Run("the archives of a release", func(t *testing.T) {
		t.Parallel()
		dist := os.Getenv("DIST")
		if _, err := os.Stat(filepath.Join(dist, "SHA256SUMS")); err != nil {
			t.Skip("DIST has none: make verify")
		}
		server := httptest.NewServer(http.StripPrefix("/latest/download/", http.FileServer(http.Dir(dist))))
		defer server.Close()
		folder := filepath.Join(t.TempDir(), "bin")
		install := step{dir: t.TempDir(), script: "sh '" + script + "'\n'" + folder + "/understudy-conform' --version", env: []string{"INSTALL_DIR=" + folder, "UNDERSTUDY_RELEASES=" + server.URL}}
		if out, err := install.bash(t); err != nil || !strings.Contains(out, "understudy-conform ") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("the action installs with it and adds the folder to the PATH", func(t *testing.T) {
		t.Parallel()
		r := newRunner(t)
		r.env["UNDERSTUDY_RELEASES"] = right
		expect.NoError(t, r.use(t, map[string]string{"port": "0"}))
		expect.Equal(t, "PATH", r.path, filepath.Join(r.temp, "understudy/bin"))
		if err := r.use(t, map[string]string{"command": "stop"}); err != nil {
			t.Error(err)
		}
	})
	t.Run("the development container feature has the same script", func(t *testing.T) {
		t.Parallel()
		one, err := os.ReadFile("install.sh")
		expect.Nil(t, "reading the script", err)
		other, err := os.ReadFile("devcontainer/understudy/install.sh")
		expect.Nil(t, "reading its copy", err)
		expect.True(t, "a copy with the same bytes as packaging/install.sh (copy it)", bytes.Equal(one, other))
	})
}
