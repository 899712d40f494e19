package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// TestClientReadmePyright checks the types of the README's test in Python as editors do. It
// uses the published client and the sources of the package.
func TestClientReadmePyright(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the types of the README's test in Python are NOT checked", "npm", "python3")
	const packages = "testdata/pages"
	install(t, packages)
	settings, err := json.Marshal(map[string]any{
		"include":    []string{"first"},
		"extraPaths": []string{abs(t, "../../packaging/pypi/src"), installPython(t, packages)},
	})
	expect.NoError(t, err)
	dir := t.TempDir()
	expect.NoError(t, os.CopyFS(filepath.Join(dir, "first"), os.DirFS("../../examples/first")))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "pyrightconfig.json"), settings, 0o600))
	runClient(t, dir, nil, abs(t, packages+"/node_modules/.bin/pyright"), "--project", dir)
}
