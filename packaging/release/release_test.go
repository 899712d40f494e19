package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// dist is the folder of the release, and version its version without v.
func dist(t *testing.T) (folder, version string) {
	t.Helper()
	folder, version = os.Getenv("RELEASE"), strings.TrimPrefix(os.Getenv("RELEASE_VERSION"), "v")
	if folder == "" || version == "" {
		t.Skip("RELEASE is not set: make release-check VERSION=v1.2.3")
	}
	return folder, version
}

// platforms are the platforms of a release with their names in npm and in wheels. Sorted.
var platforms = []struct{ name, npm, wheel string }{
	{"darwin-amd64", "darwin-x64", "macosx_12_0_x86_64"},
	{"darwin-arm64", "darwin-arm64", "macosx_12_0_arm64"},
	{"linux-amd64", "linux-x64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{"linux-arm64", "linux-arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
	{"windows-amd64", "win32-x64", "win_amd64"},
	{"windows-arm64", "win32-arm64", "win_arm64"},
}

// packages are the files that contain programs: with the name of their platform and the
// largest size in bytes.
func packages(version string) map[string]int64 {
	files := map[string]int64{}
	const most = 26_000_000 // both programs, compressed
	for _, p := range platforms {
		suffix := ".tar.gz"
		if strings.HasPrefix(p.name, "windows") {
			suffix = ".zip"
		}
		files["understudy-"+version+"-"+p.name+suffix] = most
		files["npm/understudy-mock-"+p.npm+"-"+version+".tgz"] = most
		files["wheels/understudy_mock-"+pythonic(version)+"-py3-none-"+p.wheel+".whl"] = most
	}
	return files
}

// pythonic is a version as PEP 440 writes it.
func pythonic(version string) string {
	return regexp.MustCompile(`-(alpha|beta|rc)\.?(\d+)`).ReplaceAllStringFunc(version, func(s string) string {
		return strings.NewReplacer("-", "", ".", "", "alpha", "a", "beta", "b").Replace(s)
	})
}

// A release has exactly these files, so that nothing of another version is published.
func TestReleaseFiles(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	want := slices.Collect(maps.Keys(packages(version)))
	for _, p := range platforms {
		want = append(want, "understudy-"+p.name+".cdx.json", "understudy-conform-"+p.name+".cdx.json")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		want = append(want, "image/understudy-"+version+"-linux-"+arch+".tar", "image/understudy-conform-"+version+"-linux-"+arch+".tar")
	}
	want = append(want, "NOTES", "NOTICE", "SHA256SUMS", "npm/understudy-mock-"+version+".tgz",
		"understudy-"+version+"-chart.tgz", "understudy-"+version+"-kubernetes.yaml",
		"tap/Formula/understudy.rb", "tap/README.md", "tap/bucket/understudy.json", "tap/flake.nix")
	var got []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path) // path is below folder
		if top, _, _ := strings.Cut(name, "/"); d.IsDir() || name == "image/layout" || strings.HasPrefix(name, "image/layout/") || isPlatform(top) {
			return err
		}
		got = append(got, filepath.ToSlash(name))
		return err
	})
	expect.NoError(t, err)
	slices.Sort(want)
	slices.Sort(got)
	expect.Equal(t, "the files", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func isPlatform(name string) bool {
	for _, p := range platforms {
		if p.name == name {
			return true
		}
	}
	return false
}

// contents are the files of a package.
func contents(t *testing.T, path string) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	found := map[string][]byte{}
	if strings.HasSuffix(path, ".zip") || strings.HasSuffix(path, ".whl") {
		z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		expect.NoError(t, err)
		for _, f := range z.File {
			r, err := f.Open()
			expect.NoError(t, err)
			if found[f.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		return found
	}
	plain, err := gzip.NewReader(bytes.NewReader(text))
	expect.NoError(t, err)
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		expect.NoError(t, err)
		if found[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// named returns the file of a package with this last part of its path, "" if it has none.
func named(files map[string][]byte, name string) []byte {
	for path, text := range files {
		if path == name || strings.HasSuffix(path, "/"+name) {
			return text
		}
	}
	return nil
}

// Each package has the licence, the licences of what its programs contain, and these
// programs, byte for byte; and it is not too large.
func TestReleasePackages(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	notice, err := os.ReadFile(filepath.Join(folder, "NOTICE"))
	expect.NoError(t, err)
	license, err := os.ReadFile("../../LICENSE")
	expect.NoError(t, err)
	for name, most := range packages(version) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := contents(t, filepath.Join(folder, name))
			expect.True(t, "the NOTICE of the release", bytes.Equal(named(files, "NOTICE"), notice))
			expect.True(t, "the LICENSE of the repository", bytes.Equal(named(files, "LICENSE"), license))
			for _, program := range []string{"understudy", "understudy-conform"} {
				built, platform := binary(t, folder, name, program)
				expect.True(t, program+" for "+platform, bytes.Equal(named(files, filepath.Base(built)), read(t, built)))
			}
			info, err := os.Stat(filepath.Join(folder, name))
			expect.NoError(t, err)
			expect.True(t, fmt.Sprintf("at most %d bytes instead of %d", most, info.Size()), info.Size() <= most)
		})
	}
	t.Run("the launcher for npm", func(t *testing.T) {
		t.Parallel()
		files := contents(t, filepath.Join(folder, "npm/understudy-mock-"+version+".tgz"))
		expect.True(t, "the NOTICE of the release", bytes.Equal(named(files, "NOTICE"), notice))
	})
}

// binary is the program for the platform of a package.
func binary(t *testing.T, folder, pack, program string) (path, platform string) {
	t.Helper()
	for _, p := range platforms {
		if strings.Contains(pack, p.name+".") || strings.Contains(pack, "mock-"+p.npm+"-") || strings.Contains(pack, "-"+p.wheel+".") {
			if strings.HasPrefix(p.name, "windows") {
				program += ".exe"
			}
			return filepath.Join(folder, p.name, program), p.name
		}
	}
	t.Fatalf("%s is for no platform", pack)
	return "", ""
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	return text
}

// The README of an archive has no links into a checkout, which its readers do not have.
func TestReleaseReadme(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	link := regexp.MustCompile(`\]\(([^)]*)\)|(?:src|srcset|href)="([^"]*)"`)
	for name := range packages(version) {
		files := contents(t, filepath.Join(folder, name))
		text := append(named(files, "README.md"), named(files, "METADATA")...)
		expect.True(t, name+" with a README", len(text) > 0)
		for _, m := range link.FindAllSubmatch(text, -1) {
			to := string(m[1]) + string(m[2])
			expect.True(t, fmt.Sprintf("%s: the link %q with a host", name, to), strings.HasPrefix(to, "https://"))
		}
	}
}

// Each program is for its operating system and processor.
func TestReleaseFormats(t *testing.T) {
	t.Parallel()
	folder, _ := dist(t)
	for _, p := range platforms {
		for _, program := range []string{"understudy", "understudy-conform"} {
			path, _ := binary(t, folder, p.name+".", program)
			got, err := format(path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			expect.Equal(t, "the format of "+program+" for "+p.name, got, map[string]string{
				"darwin-amd64": "CpuAmd64", "darwin-arm64": "CpuArm64", "linux-amd64": "EM_X86_64 static", "linux-arm64": "EM_AARCH64 static",
				"windows-amd64": "8664", "windows-arm64": "aa64",
			}[p.name])
		}
	}
}

// format is the processor of a program, in the words of its format.
func format(path string) (string, error) {
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return f.Machine.String() + " dynamic", nil
			}
		}
		return f.Machine.String() + " static", nil
	}
	if f, err := macho.Open(path); err == nil {
		defer f.Close()
		return f.Cpu.String(), nil
	}
	f, err := pe.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return fmt.Sprintf("%x", f.Machine), nil
}

// A program starts where this machine can run it: here, and for Linux on arm64 under emulation.
// Wine 8 cannot start programs of Go 1.26, and no emulator starts those for macOS.
func TestReleaseStarts(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	for platform, emulator := range map[string][]string{
		runtime.GOOS + "-" + runtime.GOARCH: {"env"}, "linux-arm64": {"qemu-aarch64-static", "qemu-aarch64"},
	} {
		for _, program := range []string{"understudy", "understudy-conform"} {
			t.Run(program+" for "+platform, func(t *testing.T) {
				t.Parallel()
				path, _ := binary(t, folder, platform+".", program)
				with := first(emulator)
				if with == "" {
					t.Skipf("none of %v is installed", emulator)
				}
				out, err := exec.CommandContext(t.Context(), with, path, "--version").CombinedOutput()
				if err != nil || !strings.Contains(string(out), version) {
					t.Errorf("%s: %v: printed %s", with, err, out)
				}
			})
		}
	}
}

// first is the first of the tools that is installed.
func first(tools []string) string {
	for _, tool := range tools {
		if path, err := exec.LookPath(tool); err == nil {
			return path
		}
	}
	return ""
}

// All checksums are right, also those in the formula, the manifest and the flake.
func TestReleaseChecksums(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	sums := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(folder, "SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		expect.Equal(t, "the checksum of "+name, sum, fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(folder, name)))))
		sums[name] = sum
	}
	for name := range packages(version) {
		if !strings.Contains(name, "/") {
			expect.True(t, name+" in SHA256SUMS", sums[name] != "")
		}
	}
	for name, archives := range map[string]int{"Formula/understudy.rb": 4, "bucket/understudy.json": 2, "flake.nix": 4} {
		text := string(read(t, filepath.Join(folder, "tap", name)))
		expect.Lacks(t, name, text, "@")
		found := 0
		for archive, sum := range sums {
			if strings.Contains(text, sum) {
				found++
				expect.True(t, archive+" for "+name, strings.HasSuffix(archive, ".zip") == (archives == 2))
			}
		}
		expect.Equal(t, "the archives of "+name, found, archives)
	}
}

// The chart and the manifests for kubectl name the version, and no namespace.
func TestReleaseKubernetes(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	var chart struct{ Name, Version, AppVersion string }
	files := contents(t, filepath.Join(folder, "understudy-"+version+"-chart.tgz"))
	expect.NoError(t, yaml.Unmarshal(bytes.ReplaceAll(files["understudy/Chart.yaml"], []byte("appVersion"), []byte("appversion")), &chart))
	expect.Equal(t, "the version of the chart", chart.Version, version)
	expect.Equal(t, "the version of the image in the chart", chart.AppVersion, version)
	text := string(read(t, filepath.Join(folder, "understudy-"+version+"-kubernetes.yaml")))
	expect.Contains(t, "the manifests", text, `image: "ghcr.io/understudy-mock/understudy:`+version+`"`)
	expect.Equal(t, "the labels with the version", strings.Count(text, `app.kubernetes.io/version: "`+version+`"`), 3)
	expect.Lacks(t, "the manifests", text, "namespace: ")
}

// Each bill of materials has the licences of its components.
func TestReleaseBills(t *testing.T) {
	t.Parallel()
	folder, _ := dist(t)
	bills, err := filepath.Glob(filepath.Join(folder, "*.cdx.json"))
	if err != nil || len(bills) != 2*len(platforms) {
		t.Fatalf("%d bills, %v", len(bills), err)
	}
	notice := string(read(t, filepath.Join(folder, "NOTICE")))
	for _, name := range bills {
		var bill struct {
			Components []struct {
				Name, Version string
				Licenses      []struct{ License struct{ ID string } }
			}
		}
		expect.NoError(t, json.Unmarshal(read(t, name), &bill))
		expect.True(t, filepath.Base(name)+" with components", len(bill.Components) > 10)
		for _, c := range bill.Components {
			expect.True(t, c.Name+" with a licence", len(c.Licenses) > 0)
			expect.Contains(t, "NOTICE", notice, "\n"+c.Name+" "+c.Version+" (")
		}
	}
}

// The changelog has a section for a version whose tag is at this commit. Before the tag, the
// notes are those of the changes since the last release.
func TestReleaseNotes(t *testing.T) {
	t.Parallel()
	folder, version := dist(t)
	notes := string(read(t, filepath.Join(folder, "NOTES")))
	expect.True(t, "notes that are not empty", len(notes) > 20)
	tags, err := exec.CommandContext(t.Context(), "git", "tag", "--points-at", "HEAD").Output()
	if err != nil {
		t.Skip("not a checkout")
	}
	if slices.Contains(strings.Fields(string(tags)), "v"+version) {
		expect.Contains(t, "CHANGELOG.md", string(read(t, "../../CHANGELOG.md")), "\n## ["+version+"] - ")
	}
}
