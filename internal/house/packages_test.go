package house

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packageRows are the packages that a row of the table in CONTRIBUTING.md describes.
var packageRows = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")

// TestHousePackages compares the table of packages in CONTRIBUTING.md with the packages of
// the module.
func TestHousePackages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range packageRows.FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			listed = append(listed, strings.Trim(name, "`"))
		}
	}
	packages := packagesOf(t, os.DirFS("../.."))
	for _, name := range packages {
		if !slices.Contains(listed, name) {
			t.Errorf("CONTRIBUTING.md: package %s is not in the table", name)
		}
	}
	for _, name := range listed {
		if _, err := os.Stat(path.Join("../..", name)); err != nil {
			t.Errorf("CONTRIBUTING.md: package %s does not exist", name)
		}
	}
}

// packagesOf lists the folders with Go code that is neither a test, an example nor test data.
func packagesOf(t *testing.T, root fs.FS) (packages []string) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name != "." && strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "dist", "examples", "node_modules", "testdata"}, d.Name())):
			return fs.SkipDir
		case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			packages = append(packages, path.Dir(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}
