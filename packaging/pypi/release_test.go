package pypi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// index is a package index in a folder: it keeps what twine uploads as files, and lists them
// as PEP 503 describes.
func index(t *testing.T, folder string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /legacy/", func(w http.ResponseWriter, r *http.Request) {
		sent, header, err := r.FormFile("content")
		if err == nil {
			var text []byte
			if text, err = io.ReadAll(sent); err == nil {
				err = os.WriteFile(filepath.Join(folder, filepath.Base(header.Filename)), text, 0o600)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("GET /simple/understudy-mock/", func(w http.ResponseWriter, _ *http.Request) {
		files, _ := filepath.Glob(folder + "/*.whl") // the pattern is valid
		w.Header().Set("Content-Type", "text/html")
		for _, f := range files {
			_, _ = fmt.Fprintf(w, "<a href=\"/files/%s\">%s</a>\n", filepath.Base(f), filepath.Base(f)) // the client may have disconnected
		}
	})
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(folder))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestRelease uploads the wheels of a release as the workflow does, and installs them by name
// with every client.
func TestRelease(t *testing.T) {
	t.Parallel()
	dist, version := os.Getenv("RELEASE"), os.Getenv("RELEASE_VERSION")
	if dist == "" || version == "" {
		t.Skip("RELEASE is not set: make release-check VERSION=v1.2.3")
	}
	tools, _ := installTools(t)
	uploaded := t.TempDir()
	url := index(t, uploaded)
	env := append(os.Environ(), "HOME="+t.TempDir(), "PATH="+tools+"/bin:"+os.Getenv("PATH"), "TWINE_REPOSITORY_URL="+url+"/legacy/", "TWINE_USERNAME=a", "TWINE_PASSWORD=b",
		"PIP_INDEX_URL="+url+"/simple/", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_CACHE_DIR=1", "PIP_PRE=1", "UV_INDEX_URL="+url+"/simple/", "UV_NO_CACHE=1", "UV_PRERELEASE=allow", "UV_OFFLINE=0", "PYTHONDONTWRITEBYTECODE=1")
	command := func(t *testing.T, script string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "sh", "-ec", script)
		c.Dir, c.Env = t.TempDir(), env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	scripts, err := filepath.Abs("..")
	expect.NoError(t, err)
	command(t, "twine check --strict '"+dist+"'/wheels/*.whl")
	command(t, scripts+"/publish.sh pypi '"+dist+"' "+version)
	if files, err := filepath.Glob(uploaded + "/*.whl"); err != nil || len(files) != 6 {
		t.Fatalf("uploaded: %v, %v, want 6 wheels", files, err)
	}
	for client, script := range map[string]string{
		"pip":  "python3 -m venv venv && venv/bin/pip install --quiet understudy-mock && venv/bin/understudy version",
		"uvx":  "uvx --python python3 understudy-mock version",
		"uv":   "uv venv --quiet --python python3 && uv pip install --quiet understudy-mock && .venv/bin/understudy version",
		"pipx": "pipx run --python python3 understudy-mock version",
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			if out := command(t, script); !strings.Contains(out, "understudy "+version) {
				t.Errorf("printed %s, want version %s", out, version)
			}
		})
	}
	for _, platform := range []string{"macosx_12_0_arm64", "macosx_12_0_x86_64", "manylinux_2_17_aarch64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64", "win_amd64", "win_arm64"} {
		t.Run("pip finds a wheel for "+platform, func(t *testing.T) {
			t.Parallel()
			command(t, "python3 -m pip download --quiet --no-deps --only-binary=:all: --dest . --platform "+platform+" understudy-mock")
		})
	}
}

// TestReleaseTools installs what TestRelease needs, which then runs without a network.
func TestReleaseTools(t *testing.T) {
	if os.Getenv("TOOLS") == "" {
		t.Skip("TOOLS is not set")
	}
	installTools(t)
}
