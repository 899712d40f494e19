package house

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// packageRows are the packages that a row of the table in CONTRIBUTING.md describes.
var packageRows = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")

// TestHousePackages compares the table of packages in CONTRIBUTING.md with the packages of
// the module.
func TestHousePackages(t *testing.T) {
	t.Parallel()
	for _, problem := range packageProblems(t, expect.Repository(root)) {
		t.Error(problem)
	}
}

func TestHousePackagesBreach(t *testing.T) {
	t.Parallel()
	got := packageProblems(t, fstest.MapFS{
		"CONTRIBUTING.md": {Data: []byte("| package | purpose |\n|---|---|\n| `engine`, `gone` | x |\n")},
		"engine/flow.go":  {}, "spec/spec.go": {}, "spec/a_test.go": {},
	})
	if want := []string{"CONTRIBUTING.md: package spec is not in the table", "CONTRIBUTING.md: package gone does not exist"}; !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

// packageProblems finds packages without a row, and rows without a folder.
func packageProblems(t *testing.T, root fs.FS) (problems []string) {
	t.Helper()
	text, err := fs.ReadFile(root, "CONTRIBUTING.md")
	expect.NoError(t, err)
	var listed []string
	for _, row := range packageRows.FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			listed = append(listed, strings.Trim(name, "`"))
		}
	}
	for _, name := range packagesOf(t, root) {
		if !slices.Contains(listed, name) {
			problems = append(problems, "CONTRIBUTING.md: package "+name+" is not in the table")
		}
	}
	for _, name := range listed {
		if _, err := fs.Stat(root, name); err != nil {
			problems = append(problems, "CONTRIBUTING.md: package "+name+" does not exist")
		}
	}
	return problems
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
	expect.NoError(t, err)
	slices.Sort(packages)
	return slices.Compact(packages)
}
