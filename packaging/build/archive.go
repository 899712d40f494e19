package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// stamp is the modification time of every file in an archive: the earliest time that zip
// supports.
var stamp = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// texts are the other files of an archive: copied, or printed by the first program. Sorted.
var texts = []struct {
	name  string
	from  func(o *options) string // the file to copy; nil: it is printed
	print []string                // arguments
}{
	{"LICENSE", func(o *options) string { return filepath.Join(o.source, "LICENSE") }, nil},
	{"NOTICE", func(o *options) string { return filepath.Join(o.out, "NOTICE") }, nil},
	{"README.md", func(o *options) string { return filepath.Join(o.source, "packaging/build/README.md") }, nil},
	{"completions/understudy.bash", nil, []string{"completion", "bash"}},
	{"completions/understudy.fish", nil, []string{"completion", "fish"}},
	{"completions/understudy.zsh", nil, []string{"completion", "zsh"}},
	{"man/man1/understudy.1", nil, []string{"man"}},
}

// entry is a file of an archive.
type entry struct {
	name string
	mode os.FileMode
	text []byte
}

// release writes the archives, the bills of materials and the checksums.
func (o *options) release(out io.Writer) error {
	shared, err := o.shared()
	if err != nil {
		return err
	}
	sums := map[string][]byte{} // file name -> text
	for _, p := range o.platforms {
		entries := slices.Clone(shared)
		for _, program := range programs {
			text, err := os.ReadFile(filepath.Join(o.out, p.String(), p.file(program)))
			if err != nil {
				return err
			}
			entries = append(entries, entry{p.file(program), 0o755, text})
			if sums[program+"-"+p.String()+".cdx.json"], err = o.bill(program, p, text); err != nil {
				return err
			}
		}
		folder := "understudy-" + strings.TrimPrefix(o.version, "v") + "-" + p.String()
		pack, suffix := tarball, ".tar.gz"
		if p.os == "windows" {
			pack, suffix = zipped, ".zip"
		}
		if sums[folder+suffix], err = pack(folder, entries); err != nil {
			return err
		}
	}
	return o.write(sums, out)
}

// write replaces the files of another version by new ones, and writes the list of their
// checksums.
func (o *options) write(files map[string][]byte, out io.Writer) error {
	for _, suffix := range []string{".tar.gz", ".zip", ".cdx.json"} {
		old, err := filepath.Glob(filepath.Join(o.out, "understudy-*"+suffix))
		if err != nil {
			return err
		}
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(files[name]), name) // never fails: in memory
	}
	files["SHA256SUMS"] = list.Bytes()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(o.out, name), files[name], 0o644); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%s  %.1f MB\n", filepath.Join(o.out, name), float64(len(files[name]))/1e6) // there may be no reader
	}
	return nil
}

// shared returns the files that every archive has.
func (o *options) shared() ([]entry, error) {
	folder, err := os.MkdirTemp("", "understudy-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of the temporary folder
	here := platform{runtime.GOOS, runtime.GOARCH}
	binary := filepath.Join(o.out, here.String(), here.file(programs[0]))
	if !slices.Contains(o.platforms, here) {
		binary = filepath.Join(folder, here.file(programs[0]))
		if err := o.goBuild(here, "build", "-o", folder+string(filepath.Separator)); err != nil {
			return nil, err
		}
	}
	var list []entry
	for _, t := range texts {
		var text []byte
		if t.from != nil {
			text, err = os.ReadFile(t.from(o))
		} else {
			text, err = exec.Command(binary, t.print...).Output()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		list = append(list, entry{t.name, 0o644, text})
	}
	return list, nil
}

// tarball packs files below a folder. It contains neither times nor owners of this machine.
func tarball(folder string, entries []entry) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		err := w.WriteHeader(&tar.Header{Name: path.Join(folder, e.name), Mode: int64(e.mode), Size: int64(len(e.text)), ModTime: stamp, Format: tar.FormatUSTAR})
		if err == nil {
			_, err = w.Write(e.text)
		}
		if err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), z.Close())
	return b.Bytes(), err
}

// zipped packs files below a folder, for Windows.
func zipped(folder string, entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		header := &zip.FileHeader{Name: path.Join(folder, e.name), Method: zip.Deflate, Modified: stamp}
		header.SetMode(e.mode)
		part, err := w.CreateHeader(header)
		if err == nil {
			_, err = part.Write(e.text)
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
