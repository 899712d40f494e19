package release

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// command runs a command and returns what it prints.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// unpacked unpacks an archive of the release, and returns its folder.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	folder, _ := dist(t)
	to := t.TempDir()
	for path, text := range contents(t, filepath.Join(folder, name)) {
		path = filepath.Join(to, filepath.FromSlash(path))
		expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		expect.NoError(t, os.WriteFile(path, text, 0o755))
	}
	return to
}

// The formula is valid Ruby, and installs the archive of each platform.
func TestReleaseHomebrew(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	formula := filepath.Join(folder, "tap/Formula/understudy.rb")
	command(t, ".", nil, "ruby", "-wc", formula)
	sums := string(read(t, filepath.Join(folder, "SHA256SUMS")))
	for _, platform := range []string{"darwin-amd64", "darwin-arm64", "linux-amd64", "linux-arm64"} {
		name := "understudy-" + version + "-" + platform
		to := t.TempDir()
		said := command(t, ".", nil, "ruby", "formula.rb", formula, platform, filepath.Join(unpacked(t, name+".tar.gz"), name), to)
		_, sum, _ := strings.Cut(said, "sha256 ")
		sum, _, _ = strings.Cut(sum, "\n")
		expect.Contains(t, "SHA256SUMS", sums, sum+"  "+name+".tar.gz\n")
		expect.Contains(t, "the formula", said, "url https://github.com/understudy-mock/understudy/releases/download/v"+version+"/"+name+".tar.gz\n")
		expect.Contains(t, "the formula", said, "version "+version+"\n")
		for _, file := range []string{"bin/understudy", "bin/understudy-conform", "share/man/man1/understudy.1", "share/zsh/_understudy", "etc/bash_completion.d/understudy"} {
			_, err := os.Stat(filepath.Join(to, file))
			expect.Nil(t, "what was installed", err)
		}
	}
}

// The manifest names the folder and the programs that the archives have.
func TestReleaseScoop(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	var manifest struct {
		Version, License, Homepage string
		Bin                        []string
		Architecture               map[string]struct {
			URL, Hash string
			Folder    string `json:"extract_dir"`
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(read(t, filepath.Join(folder, "tap/bucket/understudy.json"))))
	expect.NoError(t, decoder.Decode(&manifest))
	expect.Equal(t, "the version", manifest.Version, version)
	expect.Equal(t, "the processors", strings.Join(slices.Sorted(maps.Keys(manifest.Architecture)), " "), "64bit arm64")
	sums := string(read(t, filepath.Join(folder, "SHA256SUMS")))
	for _, a := range manifest.Architecture {
		name := strings.TrimPrefix(a.URL, "https://github.com/understudy-mock/understudy/releases/download/v"+version+"/")
		expect.Contains(t, "SHA256SUMS", sums, a.Hash+"  "+name+"\n")
		files := contents(t, filepath.Join(folder, name))
		for _, program := range manifest.Bin {
			expect.True(t, program+" in "+name, files[a.Folder+"/"+program] != nil)
		}
	}
}

// nixpkgs stands for the package collection, which needs the network.
const nixpkgs = `rec {
  pkgs = {
    stdenvNoCC.mkDerivation = d: d;
    fetchurl = f: f;
    installShellFiles = "installShellFiles";
    lib.licenses.asl20 = "asl20";
  };
  legacyPackages = { aarch64-darwin = pkgs; aarch64-linux = pkgs; x86_64-darwin = pkgs; x86_64-linux = pkgs; };
}`

// The flake evaluates to a package for each system, with the right archive.
func TestReleaseNix(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	if first([]string{"nix-instantiate"}) == "" {
		t.Skip("nix-instantiate is not installed (Debian: nix-bin)")
	}
	expression := fmt.Sprintf("((import %s).outputs { self = {}; nixpkgs = %s; }).packages", filepath.Join(folder, "tap/flake.nix"), nixpkgs)
	state := t.TempDir()
	said := command(t, state, []string{"NIX_STATE_DIR=" + state, "NIX_STORE_DIR=" + state + "/store", "NIX_LOG_DIR=" + state}, "nix-instantiate", "--eval", "--strict", "--json", "--readonly-mode", "--expr", expression)
	_, said, _ = strings.Cut(said, "{") // after warnings
	var systems map[string]struct {
		Default struct {
			Version string
			Src     struct{ URL, SHA256 string }
		}
	}
	if err := json.Unmarshal([]byte("{"+said), &systems); err != nil {
		t.Fatal(err, said)
	}
	sums := string(read(t, filepath.Join(folder, "SHA256SUMS")))
	expect.Equal(t, "the systems", len(systems), 4)
	for system, s := range systems {
		expect.Equal(t, "the version for "+system, s.Default.Version, version)
		name := strings.TrimPrefix(s.Default.Src.URL, "https://github.com/understudy-mock/understudy/releases/download/v"+version+"/")
		expect.Contains(t, "SHA256SUMS", sums, s.Default.Src.SHA256+"  "+name+"\n")
	}
}

// A module proxy that has the files of this commit gives programs of the version.
func TestReleaseGo(t *testing.T) {
	t.Parallel()
	_, version := dist(t)
	const module = "github.com/understudy-mock/understudy"
	proxy, gopath := moduleProxy(t, module, version), t.TempDir()
	usual := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	env := []string{
		"GOPROXY=file://" + proxy + ",file://" + usual + "/cache/download", "GOMODCACHE=" + gopath + "/mod", "GOBIN=" + gopath + "/bin",
		"GONOSUMDB=" + module, "GOFLAGS=-trimpath -modcacherw", "GOWORK=off", "CGO_ENABLED=0", "GOSUMDB=off", "GOTOOLCHAIN=local",
	}
	command(t, gopath, env, "go", "install", module+"/cmd/...@v"+version)
	for _, program := range []string{"understudy", "understudy-conform"} {
		expect.Contains(t, "the version of "+program, command(t, gopath, nil, filepath.Join(gopath, "bin", program), "--version"), version)
	}
}

// moduleProxy is a folder with the module in the form of a module proxy.
func moduleProxy(t *testing.T, module, version string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	expect.NoError(t, err)
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	files := strings.Split(strings.TrimSpace(command(t, root, nil, "git", "ls-files")), "\n")
	inOther := func(name string) bool { // below the go.mod of another module
		return slices.ContainsFunc(files, func(f string) bool {
			folder, ok := strings.CutSuffix(f, "/go.mod")
			return ok && strings.HasPrefix(name, folder+"/")
		})
	}
	for _, name := range files {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() || inOther(name) {
			continue
		}
		w, err := z.Create(module + "@v" + version + "/" + name)
		expect.NoError(t, err)
		expect.NoError(t, expect.ErrorOf(w.Write(read(t, filepath.Join(root, name)))))
	}
	expect.NoError(t, z.Close())
	folder := filepath.Join(t.TempDir(), module, "@v")
	expect.NoError(t, os.MkdirAll(folder, 0o755))
	about := fmt.Sprintf(`{"Version":"v%s","Time":%q}`, version, time.Unix(0, 0).UTC().Format(time.RFC3339))
	for name, text := range map[string][]byte{
		"list": []byte("v" + version + "\n"), "v" + version + ".info": []byte(about),
		"v" + version + ".mod": read(t, filepath.Join(root, "go.mod")), "v" + version + ".zip": packed.Bytes(),
	} {
		expect.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	return strings.TrimSuffix(folder, "/"+module+"/@v")
}

// publish runs a part of packaging/publish.sh with tools of this test before all others.
func publish(t *testing.T, part string, tools map[string]string, env ...string) string {
	t.Helper()
	folder, version := dist(t)
	bin := t.TempDir()
	for name, script := range tools {
		expect.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	return command(t, ".", append(env, "PATH="+bin+":"+os.Getenv("PATH")), "../publish.sh", part, folder, "v"+version)
}

// The release is a draft, with every file that formula, manifest, flake and install.sh name.
func TestReleaseDraft(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	said := publish(t, "draft", map[string]string{"gh": `[ "$2" != view ] || exit 1; for a; do echo "$1 $2: $a"; done`})
	expect.Contains(t, "the call of gh", said, "release create: --draft\n")
	for _, name := range []string{"Formula/understudy.rb", "bucket/understudy.json"} {
		for _, m := range regexp.MustCompile(`/download/v[^/]*/([^"]*)"`).FindAllSubmatch(read(t, filepath.Join(folder, "tap", name)), -1) {
			expect.Contains(t, "the files of the release", said, "/"+string(m[1])+"\n")
		}
	}
	for _, name := range []string{"SHA256SUMS", "NOTICE", "understudy-" + version + "-chart.tgz", "understudy-" + version + "-linux-arm64.tar"} {
		expect.Contains(t, "the files of the release", said, "/"+name+"\n")
	}
	again := publish(t, "draft", map[string]string{"gh": `echo "$1 $2"`})
	expect.Lacks(t, "the calls of gh for a draft that exists", again, "release create")
}

// The last step publishes the draft, and asks the module proxy for the version.
func TestReleaseAnnounce(t *testing.T) {
	t.Parallel()
	_, version := dist(t)
	proxy := moduleProxy(t, "github.com/understudy-mock/understudy", version)
	said := publish(t, "announce", map[string]string{"gh": `echo "$@"`}, "PROXY=file://"+proxy, "GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw", "GOSUMDB=off")
	expect.Contains(t, "the call of gh", said, "release edit v"+version+" --draft=false")
	expect.Contains(t, "the answer of the module proxy", said, "github.com/understudy-mock/understudy v"+version)
}

// The repository with the formula gets one commit, also when the step runs again.
func TestReleaseTap(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	if strings.Contains(version, "-") {
		t.Skip("a prerelease is not in the tap")
	}
	tap := filepath.Join(t.TempDir(), "tap.git")
	work := t.TempDir()
	command(t, ".", nil, "git", "init", "--quiet", "--bare", "--initial-branch=main", tap)
	command(t, work, nil, "git", "clone", "--quiet", tap, ".")
	command(t, work, nil, "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "--message=first")
	command(t, work, nil, "git", "push", "--quiet", "origin", "HEAD:main")
	publish(t, "tap", nil, "TAP=file://"+tap)
	expect.Contains(t, "the second run", publish(t, "tap", nil, "TAP=file://"+tap), "the tap has "+version)
	expect.Equal(t, "the commits", command(t, ".", nil, "git", "-C", tap, "log", "--format=%s", "main"), "understudy "+version+"\nfirst\n")
	expect.Equal(t, "the formula", command(t, ".", nil, "git", "-C", tap, "show", "main:Formula/understudy.rb"), string(read(t, filepath.Join(folder, "tap/Formula/understudy.rb"))))
}
