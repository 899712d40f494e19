package packaging

import (
	"os"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// sentence says what Understudy is.
const sentence = "A local server for QStash and Workflow applications, and a contract test suite for that interface"

// A search for the service finds the same sentence in the README, in each package
// and on the site.
func TestPackagesSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"../README.md", "npm/understudy-mock/package.json", "pypi/pyproject.toml", "helm/understudy/Chart.yaml",
		"devcontainer/understudy/devcontainer-feature.json", "site/mkdocs.yml",
	} {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		expect.Contains(t, file, string(text), sentence)
	}
}
