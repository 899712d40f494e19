package packaging

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// devcontainerVersion is the version of the tool that packs features.
const devcontainerVersion = "0.89.0"

// feature has the keys of the specification that the file uses.
type feature struct {
	ID, Version, Name, Description, DocumentationURL, LicenseURL string

	Options map[string]struct {
		Type, Default, Description string
		Proposals                  []string
	}
}

// TestPackagingFeature checks the description of the feature against the specification: the
// tool that packs it checks only three keys.
func TestPackagingFeature(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	text, err := os.ReadFile("devcontainer/understudy/devcontainer-feature.json")
	expect.NoError(t, err)
	var f feature
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	expect.NoError(t, decoder.Decode(&f))
	expect.Equal(t, "the id of the feature", f.ID, "understudy")
	expect.Equal(t, "the type of the option version", f.Options["version"].Type, "string")
	expect.Equal(t, "the default of the option version", f.Options["version"].Default, "latest")
}

// TestPackagingDevcontainer packs the feature with the tool of the development container
// specification, and installs from the package as an engine does.
func TestPackagingDevcontainer(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	programs.Need(t, "the development container feature is NOT packed", "npm")
	tool, err := filepath.Abs("../.tmp/devcontainer-" + devcontainerVersion)
	expect.NoError(t, err)
	cli := filepath.Join(tool, "node_modules/.bin/devcontainer")
	if _, err := os.Stat(cli); err != nil {
		npm := exec.CommandContext(t.Context(), "npm", "install", "--prefix", tool, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "@devcontainers/cli@"+devcontainerVersion)
		if out, err := npm.CombinedOutput(); err != nil {
			programs.SkipLoud(t, "npm install: "+string(out)+": the development container feature is NOT packed")
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if printed, err := exec.CommandContext(t.Context(), cli, "features", "package", "--output-folder", out, "devcontainer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	folder := filepath.Join(t.TempDir(), "bin")
	install := step{dir: t.TempDir(), script: "tar -xf '" + out + "/devcontainer-feature-understudy.tgz'\nsh ./install.sh\n'" + folder + "/understudy' version"}
	install.env = []string{"VERSION=latest", "INSTALL_DIR=" + folder, "UNDERSTUDY_RELEASES=" + released(t, "")}
	if printed, err := install.bash(t); err != nil || strings.Count(printed, "understudy ") < 2 {
		t.Errorf("%v\n%s", err, printed)
	}
}
