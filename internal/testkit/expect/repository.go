package expect

import (
	"io/fs"
	"os"
)

// Tops are the files and folders in the root folder of the repository, sorted, without those
// whose names start with a period.
var Tops = []string{
	"AGENTS.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "GOVERNANCE.md", "LICENSE", "Makefile", "README.md", "SECURITY.md",
	"cmd", "conformance", "docs", "engine", "examples", "features", "fixtures", "go.mod", "go.sum", "internal", "mockserver", "packaging", "skills", "spec",
}

// Repository is the repository, whose root folder is root, for tests that read all of it. It
// has only Tops. The list that the system returns of the root folder has the times of .git and
// of bin, which change with each build: go test would never take the result of a test that
// reads it from its cache.
func Repository(root string) fs.FS { return repository{os.DirFS(root)} }

type repository struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (r repository) ReadDir(name string) (list []fs.DirEntry, err error) {
	if name != "." {
		return fs.ReadDir(r.FS, name)
	}
	for _, top := range Tops {
		info, err := fs.Stat(r.FS, top)
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	return list, nil
}

// Stat implements fs.StatFS: it does not open the root folder.
func (r repository) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }
