// Command npm writes the npm packages: understudy-mock with the launcher and the helper for
// tests, and a package with the programs for each platform.
//
//	go run ./packaging/npm --dist dist --out dist/npm --version 1.2.3
//
// The programs come from packaging/build, in the folder of --dist. The same input gives the
// same bytes.
package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// name is the name of the launcher's package, and the prefix of the packages of the
// platforms.
const name = "understudy-mock"

// platforms are the platforms with a package: the names of Go and of Node. Sorted.
var platforms = []platform{
	{"darwin", "amd64", "darwin", "x64"},
	{"darwin", "arm64", "darwin", "arm64"},
	{"linux", "amd64", "linux", "x64"},
	{"linux", "arm64", "linux", "arm64"},
	{"windows", "amd64", "win32", "x64"},
	{"windows", "arm64", "win32", "arm64"},
}

type platform struct{ goos, goarch, os, cpu string }

// name is the name of the package.
func (p *platform) name() string { return name + "-" + p.os + "-" + p.cpu }

// folder is the folder of the programs below --dist.
func (p *platform) folder() string { return p.goos + "-" + p.goarch }

func (p *platform) exe() string {
	if p.goos == "windows" {
		return ".exe"
	}
	return ""
}

// binaries are the programs in the package of every platform.
var binaries = []string{"understudy", "understudy-conform"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("npm: ")
	dist := flag.String("dist", "dist", "the folder with a folder of binaries for each platform")
	out := flag.String("out", "dist/npm", "where to write the packages")
	version := flag.String("version", "", "the version, such as 1.2.3")
	root := flag.String("root", ".", "the root of the repository")
	only := flag.String("platform", "", "this platform only, such as linux/amd64")
	flag.Parse()
	written, err := build(&order{*root, *dist, *out, semver(*version), *only})
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range written {
		_, _ = fmt.Fprintln(os.Stdout, file) // there may be no reader
	}
}

// order describes what to build.
type order struct{ root, dist, out, version, only string }

// build writes the packages, the launcher first, and returns the names of the files.
func build(o *order) (written []string, err error) {
	if err := os.MkdirAll(o.out, 0o750); err != nil {
		return nil, err
	}
	launcher, err := o.launcher()
	if err != nil {
		return nil, err
	}
	packages := map[string][]file{name: launcher}
	names := []string{name}
	for _, p := range platforms {
		if o.only != "" && o.only != p.goos+"/"+p.goarch {
			continue
		}
		files, err := o.platform(&p)
		if err != nil {
			return nil, err
		}
		packages[p.name()] = files
		names = append(names, p.name())
	}
	if len(names) == 1 {
		return nil, fmt.Errorf("platform %q: unknown", o.only)
	}
	for _, n := range names {
		target := filepath.Join(o.out, n+"-"+o.version+".tgz")
		if err := pack(target, packages[n]); err != nil {
			return nil, err
		}
		written = append(written, target)
	}
	return written, nil
}

// plainVersion matches the versions that npm accepts.
var plainVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// semver turns the output of `git describe` into a version.
func semver(version string) string {
	version = strings.TrimPrefix(version, "v")
	if plainVersion.MatchString(version) {
		return version
	}
	return "0.0.0-dev." + "g" + regexp.MustCompile(`[^0-9A-Za-z-]+`).ReplaceAllString(version, "-")
}

// file is a file of a package.
type file struct {
	path string
	mode int64
	text []byte
}

// launcher returns the files of the package without programs. It adds the version and the
// platforms to package.json.
func (o *order) launcher() ([]file, error) {
	content := os.DirFS(filepath.Join(o.root, "packaging/npm", name))
	manifest, err := fs.ReadFile(content, "package.json")
	if err != nil {
		return nil, err
	}
	var about struct{ Files []string }
	if err := json.Unmarshal(manifest, &about); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	var wanted []string
	for _, p := range platforms {
		wanted = append(wanted, fmt.Sprintf("    %q: %q", p.name(), o.version))
	}
	text := strings.Replace(string(manifest), `"version": "0.0.0"`, fmt.Sprintf(`"version": %q`, o.version), 1)
	text = strings.TrimSuffix(text, "\n}\n") + ",\n  \"optionalDependencies\": {\n" + strings.Join(wanted, ",\n") + "\n  }\n}\n"
	files, err := o.legal()
	if err != nil {
		return nil, err
	}
	files = append(files, file{"package.json", 0o644, []byte(text)})
	example, err := os.ReadFile(filepath.Join(o.root, "examples/javascript/node.test.mjs"))
	if err != nil {
		return nil, err
	}
	files = append(files, file{"example/order.test.mjs", 0o644, example})
	for _, part := range append([]string{"README.md"}, about.Files...) {
		err := fs.WalkDir(content, part, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(content, at)
			files = append(files, file{at, mode(part), text})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// legal are the licence, and those of what the programs contain.
func (o *order) legal() (files []file, err error) {
	for _, from := range []string{filepath.Join(o.root, "LICENSE"), filepath.Join(o.dist, "NOTICE")} {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		files = append(files, file{filepath.Base(from), 0o644, text})
	}
	return files, nil
}

// mode is the mode of the files in a part of the package.
func mode(part string) int64 {
	if part == "bin" {
		return 0o755
	}
	return 0o644
}

// manifest is the package.json of a platform.
type manifest struct {
	Name            string            `json:"name"`
	Version         string            `json:"version"`
	Description     string            `json:"description"`
	License         string            `json:"license"`
	Type            string            `json:"type"`
	Repository      map[string]string `json:"repository"`
	OS              []string          `json:"os"`
	CPU             []string          `json:"cpu"`
	PreferUnplugged bool              `json:"preferUnplugged"` // the package must be unpacked: a file in an archive cannot be executed
}

// platform returns the files of the package for one platform.
func (o *order) platform(p *platform) ([]file, error) {
	about, err := json.MarshalIndent(manifest{
		p.name(), o.version, fmt.Sprintf("The binaries of %s for %s on %s.", name, p.os, p.cpu), "Apache-2.0", "commonjs",
		map[string]string{"type": "git", "url": "git+https://github.com/understudy-mock/understudy.git"}, []string{p.os}, []string{p.cpu}, true,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	files, err := o.legal()
	if err != nil {
		return nil, err
	}
	readme := fmt.Sprintf("# %s\n\nThe binaries of [%s](https://www.npmjs.com/package/%s) for %s on %s. Install that package: it depends on this one.\n", p.name(), name, name, p.os, p.cpu)
	files = append(files, file{"package.json", 0o644, append(about, '\n')}, file{"README.md", 0o644, []byte(readme)})
	for _, b := range binaries {
		text, err := os.ReadFile(filepath.Join(o.dist, p.folder(), b+p.exe()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{path.Join("bin", b+p.exe()), 0o755, text})
	}
	return files, nil
}

// packed is the modification time of every file, the same as npm writes.
var packed = time.Date(1985, time.October, 26, 8, 15, 0, 0, time.UTC)

// pack writes an archive in the form of npm: every file is below package/.
func pack(target string, files []file) (err error) {
	w, err := os.Create(target)
	if err != nil {
		return err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: "package/" + f.path, Mode: f.mode, Size: int64(len(f.text)), ModTime: packed, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := t.Write(f.text); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}
