// Command build writes the programs of a release. The other packages take them from its
// output:
//
//	go run ./packaging/build --version v1.0.0
//
// It writes
//
//	OUT/linux-amd64/understudy      and the other programs, for each platform
//	OUT/NOTICE                      the licences of what they contain, for every package
//
// and with --archives also
//
//	OUT/understudy-1.0.0-linux-amd64.tar.gz   programs, manual page, completions; .zip for Windows
//	OUT/understudy-linux-amd64.cdx.json       the modules in each binary (CycloneDX 1.6)
//	OUT/SHA256SUMS                            of all these, for `sha256sum -c`
//
// The same source and version give the same bytes in any folder. It publishes and signs
// nothing.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platforms are the platforms of a release, as GOOS and GOARCH. Sorted.
var platforms = []platform{
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// programs are the commands below cmd that every package has. The first one prints the manual
// page and the completions.
var programs = []string{"understudy", "understudy-conform"}

// maxBinary is the largest size of a program after gzip -9, in bytes. SQLite and the client
// of JetStream, which --data needs, take 2,200,000 of them.
const maxBinary = 17_000_000

// platform is an operating system and an architecture.
type platform struct{ os, arch string }

// String is the platform in the names of folders and files.
func (p platform) String() string { return p.os + "-" + p.arch }

// file is the file name of a program.
func (p platform) file(program string) string {
	if p.os == "windows" {
		return program + ".exe"
	}
	return program
}

// options are the flags.
type options struct {
	source    string // the repository
	out       string
	version   string
	platforms []platform
	archives  bool
	licenses  map[string]license // by the path of the module
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(args []string, out, errs io.Writer) error {
	o := options{source: "."}
	var names string
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.source, "source", ".", "`folder` with the repository")
	flags.StringVar(&o.out, "out", "dist", "`folder` to write to")
	flags.StringVar(&names, "platform", "", "only these, such as linux/amd64,windows/arm64")
	flags.StringVar(&o.version, "version", "devel", "version that the binaries print")
	flags.BoolVar(&o.archives, "archives", false, "write archives, checksums and bills of materials as well")
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if err == nil && (o.version == "" || strings.ContainsAny(o.version, " \t\n'\"/")) { // it is part of file names
		err = fmt.Errorf("--version: invalid value %q: must be a version such as v1.0.0", o.version)
	}
	if err == nil {
		o.platforms, err = parsePlatforms(names)
	}
	if err == nil {
		o.out, err = filepath.Abs(o.out)
	}
	if err != nil {
		return err
	}
	for _, p := range o.platforms {
		if err := o.build(p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := o.notice(); err != nil || !o.archives {
		return err
	}
	for _, p := range o.platforms {
		if err := o.checkSizes(p, out); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return o.release(out)
}

// parsePlatforms reads a list; an empty one means all.
func parsePlatforms(names string) ([]platform, error) {
	if names == "" {
		return platforms, nil
	}
	var list []platform
	for name := range strings.SplitSeq(names, ",") {
		system, arch, _ := strings.Cut(name, "/")
		p := platform{system, arch}
		if !slices.Contains(platforms, p) {
			return nil, fmt.Errorf("--platform: invalid value %q: must be one of %v, with / in place of -", name, platforms)
		}
		list = append(list, p)
	}
	return list, nil
}

// build writes the programs for a platform.
func (o *options) build(p platform) error {
	folder := filepath.Join(o.out, p.String())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return o.goBuild(p, "build", "-o", folder+string(filepath.Separator))
}

// checkSizes prints the sizes of the programs for a platform and compares them with maxBinary.
func (o *options) checkSizes(p platform, out io.Writer) error {
	for _, program := range programs {
		path := filepath.Join(o.out, p.String(), p.file(program))
		raw, packed, err := sizes(path)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%s  %.1f MB, %.1f MB compressed\n", path, float64(raw)/1e6, float64(packed)/1e6) // there may be no reader
		if packed > maxBinary {
			return fmt.Errorf("%s: %d bytes after gzip -9: must be at most %d", program, packed, maxBinary)
		}
	}
	return nil
}

// commit is the commit of the source, "" outside a repository.
func (o *options) commit() string {
	c := exec.Command("git", "rev-parse", "HEAD")
	c.Dir = o.source
	id, err := c.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// goBuild builds all programs with the flags of a release.
func (o *options) goBuild(p platform, args ...string) error {
	_, err := o.goCommand(p, append(args, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+o.version+" -X main.commit="+o.commit())...)
	return err
}

// goCommand runs `go` on all programs. It does not use GOFLAGS and the architecture levels of
// this machine.
func (o *options) goCommand(p platform, args ...string) ([]byte, error) {
	for _, program := range programs {
		args = append(args, "./cmd/"+program)
	}
	c := exec.Command("go", args...)
	c.Dir = o.source
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	var said bytes.Buffer
	c.Stderr = &said
	text, err := c.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, &said)
	}
	return text, err
}

// sizes are the size of a file and its size after gzip -9, in bytes.
func sizes(path string) (raw, packed int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	var count counter
	z, err := gzip.NewWriterLevel(&count, gzip.BestCompression)
	if err != nil {
		return 0, 0, err
	}
	raw, err = io.Copy(z, f)
	err = errors.Join(err, z.Close())
	return raw, count.n, err
}

// counter counts what is written to it.
type counter struct{ n int64 }

// Write counts.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
