package house

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/understudy-mock/understudy/internal/effort"
	"github.com/understudy-mock/understudy/internal/expect"
)

// extent is how large a package is, without tests and generated code.
type extent struct{ lines, exported int }

// TestGrowth reports what has grown by more than a tenth since the last tag. It never fails:
// numbers advise, they do not decide.
func TestGrowth(t *testing.T) {
	t.Parallel()
	effort.Long(t, "compares with the last tag")
	now := extents(t, expect.Repository(root))
	lines := 0
	for _, e := range now {
		lines += e.lines
	}
	t.Logf("%d lines in %d packages, without tests and generated code", lines, len(now))
	tag, err := exec.CommandContext(t.Context(), "git", "describe", "--tags", "--abbrev=0").Output()
	if err != nil {
		t.Log("there is no tag to compare with")
		return
	}
	before := extents(t, archived(t, strings.TrimSpace(string(tag))))
	for _, line := range grown(before, now) {
		t.Log(line)
	}
}

func TestGrown(t *testing.T) {
	t.Parallel()
	before := map[string]extent{"engine": {1000, 100}, "spec": {1000, 100}, "docs": {10, 1}}
	got := grown(before, map[string]extent{"engine": {1101, 100}, "spec": {1100, 111}, "docs": {10, 1}, "new": {50, 2}})
	want := []string{"engine: 1101 lines, 1000 before", "spec: 111 exported names, 100 before", "new: 50 lines, 0 before", "new: 2 exported names, 0 before"}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("report: got %q, want %q", got, want)
	}
}

// grown lists what is larger by more than a tenth.
func grown(before, now map[string]extent) (lines []string) {
	for _, pkg := range slices.Sorted(maps.Keys(now)) {
		for _, c := range []struct {
			what    string
			was, is int
		}{{"lines", before[pkg].lines, now[pkg].lines}, {"exported names", before[pkg].exported, now[pkg].exported}} {
			if c.is*10 > c.was*11 {
				lines = append(lines, fmt.Sprintf("%s: %d %s, %d before", pkg, c.is, c.what, c.was))
			}
		}
	}
	return lines
}

func extents(t *testing.T, root fs.FS) map[string]extent {
	t.Helper()
	tree, err := readTree(root)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]extent{}
	for i := range tree {
		s := &tree[i]
		if !s.product() {
			continue
		}
		e := all[path.Dir(s.path)]
		e.lines += strings.Count(s.text, "\n")
		for _, d := range s.syntax.Decls {
			e.exported += exported(d)
		}
		all[path.Dir(s.path)] = e
	}
	return all
}

// exported counts the names that a declaration exports, and methods.
func exported(d ast.Decl) (n int) {
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.FuncDecl:
			if x.Name.IsExported() {
				n++
			}
			return false
		case *ast.TypeSpec:
			if x.Name.IsExported() {
				n++
			}
			return false
		case *ast.ValueSpec:
			for _, name := range x.Names {
				if name.IsExported() {
					n++
				}
			}
			return false
		}
		return true
	})
	return n
}

// archived is the tree of a tag.
func archived(t *testing.T, tag string) fs.FS {
	t.Helper()
	archive := exec.CommandContext(t.Context(), "git", "archive", "--format=tar", tag)
	archive.Dir = root
	out, err := archive.Output()
	if err != nil {
		t.Fatalf("git archive %s: %v", tag, err)
	}
	tree := fstest.MapFS{}
	for r := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tree
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			tree[h.Name] = &fstest.MapFile{Data: text}
		}
	}
}
