package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// published is a registry on loopback that keeps what `npm publish` sends.
type published struct {
	mu       sync.Mutex
	about    map[string]map[string]any // package -> document
	archives map[string][]byte         // file name -> content
	order    []string                  // packages, in the order of publishing
	others   string                    // registry with all other packages; "": there are none
}

func newPublished(others string) *published {
	return &published{about: map[string]map[string]any{}, archives: map[string][]byte{}, others: others}
}

// ServeHTTP answers for the packages, and 404 or a redirect for all others.
func (p *published) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/")
	if archive, ok := p.archives[path.Base(name)]; ok {
		_, _ = w.Write(archive) // the client may have disconnected
		return
	}
	if r.Method == http.MethodPut {
		p.add(w, r)
		return
	}
	about, ok := p.about[name]
	switch {
	case !ok && p.others != "" && !strings.HasPrefix(name, "understudy-mock"):
		http.Redirect(w, r, p.others+r.URL.EscapedPath(), http.StatusFound)
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(about) // the client may have disconnected
}

// add keeps a package.
func (p *published) add(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		Name        string                    `json:"name"`
		Tags        map[string]string         `json:"dist-tags"`
		Versions    map[string]map[string]any `json:"versions"`
		Attachments map[string]struct {
			Data string `json:"data"`
		} `json:"_attachments"`
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, ok := p.about[sent.Name]; ok {
		http.Error(w, `{"error":"a version cannot be published twice"}`, http.StatusForbidden)
		return
	}
	for file, a := range sent.Attachments {
		p.archives[path.Base(file)], _ = base64.StdEncoding.DecodeString(a.Data) // an empty archive fails the test
	}
	times := map[string]string{}
	for version, manifest := range sent.Versions {
		dist, _ := manifest["dist"].(map[string]any)
		dist["tarball"] = "http://" + r.Host + "/" + sent.Name + "/-/" + sent.Name + "-" + version + ".tgz"
		times[version] = "2020-01-01T00:00:00.000Z" // some clients wait until a version is a day old
	}
	p.about[sent.Name] = map[string]any{"name": sent.Name, "dist-tags": sent.Tags, "versions": sent.Versions, "time": times}
	p.order = append(p.order, sent.Name)
	_, _ = w.Write([]byte(`{"ok":true}`)) // the client may have disconnected
}

// TestRelease publishes the packages of a release as the workflow does, and installs them by
// name with every client.
func TestRelease(t *testing.T) {
	t.Parallel()
	dist, version := os.Getenv("RELEASE"), strings.TrimPrefix(os.Getenv("RELEASE_VERSION"), "v")
	if dist == "" || version == "" {
		t.Skip("RELEASE is not set: make release-check VERSION=v1.2.3")
	}
	tools := installTools(t)
	server := newPublished("")
	registry := httptest.NewServer(server)
	t.Cleanup(registry.Close)
	home := t.TempDir()
	settings := "//" + strings.TrimPrefix(registry.URL, "http://") + "/:_authToken=none\nregistry=" + registry.URL + "/\n"
	for _, name := range []string{".npmrc", "npmrc"} {
		expect.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(settings), 0o600))
	}
	env := append(outside(), "HOME="+home, "npm_config_userconfig="+home+"/npmrc", "npm_config_registry="+registry.URL+"/", "npm_config_cache="+home+"/cache",
		"npm_config_yes=true", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false", "COREPACK_ENABLE_STRICT=0",
		"YARN_NPM_REGISTRY_SERVER="+registry.URL, "YARN_UNSAFE_HTTP_WHITELIST=127.0.0.1", "YARN_GLOBAL_FOLDER="+home+"/yarn", "YARN_ENABLE_TELEMETRY=0",
		"npm_config_store_dir="+home+"/pnpm", "BUN_INSTALL_CACHE_DIR="+home+"/bun", "DENO_DIR="+home+"/deno", "NPM_CONFIG_REGISTRY="+registry.URL+"/", "PATH="+tools.path(".bin")+":"+os.Getenv("PATH"))
	command := func(t *testing.T, dir, script string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "sh", "-ec", script)
		c.Dir, c.Env = dir, env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	root, err := filepath.Abs("..")
	expect.NoError(t, err)
	publish := root + "/publish.sh npm '" + dist + "' v" + version
	command(t, home, publish)
	if t.Failed() {
		t.FailNow()
	}
	t.Run("the launcher is published after the packages that it needs", func(t *testing.T) {
		if got := server.order; len(got) != 1+len(platforms) || got[len(got)-1] != name {
			t.Errorf("published: %v", got)
		}
	})
	t.Run("a prerelease does not become the latest", func(t *testing.T) {
		tags, _ := server.about[name]["dist-tags"].(map[string]string)
		if got := tags["latest"] != ""; got == strings.Contains(version, "-") {
			t.Errorf("the tags of %s: %v", version, tags)
		}
	})
	t.Run("a second run publishes nothing", func(t *testing.T) {
		if out := command(t, home, publish); strings.Count(out, " is published") != 1+len(platforms) {
			t.Errorf("printed %s", out)
		}
	})
	wanted := name
	if strings.Contains(version, "-") {
		wanted += "@next" // nobody gets a prerelease without asking for it
	}
	for client, script := range map[string]string{
		"npm":                  "npm install understudy-mock && npx understudy version",
		"npx":                  "npx understudy-mock version",
		"yarn 1":               "echo '{}' >package.json; node " + tools.path("yarn/bin/yarn.js") + " add --silent understudy-mock && node_modules/.bin/understudy version",
		"yarn 4":               "echo '{}' >package.json; touch yarn.lock; yarn() { node " + tools.path("@yarnpkg/cli-dist/bin/yarn.js") + " \"$@\"; }; yarn add understudy-mock && yarn understudy version",
		"yarn 4, node_modules": "echo '{}' >package.json; touch yarn.lock; export YARN_NODE_LINKER=node-modules; yarn() { node " + tools.path("@yarnpkg/cli-dist/bin/yarn.js") + " \"$@\"; }; yarn add understudy-mock && yarn understudy version",
		"pnpm":                 "echo '{}' >package.json; pnpm() { node " + tools.path("pnpm/bin/pnpm.cjs") + " \"$@\"; }; pnpm add understudy-mock && pnpm exec understudy version",
		"bun":                  "echo '{}' >package.json; bun add understudy-mock && bun run understudy version",
		"deno":                 "deno run --allow-all npm:understudy-mock version",
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			if out := command(t, t.TempDir(), strings.ReplaceAll(script, name, wanted)); !strings.Contains(out, "understudy v"+version) {
				t.Errorf("printed %s, want version %s", out, version)
			}
		})
	}
	for _, p := range platforms {
		t.Run("npm chooses the package for "+p.os+" on "+p.cpu, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command(t, dir, "npm install --os="+p.os+" --cpu="+p.cpu+" "+wanted)
			found, err := filepath.Glob(dir + "/node_modules/understudy-mock-*/bin/understudy" + p.exe())
			if err != nil || len(found) != 1 || !strings.Contains(found[0], p.name()+"/") {
				t.Errorf("installed: %v, %v, want %s", found, err, p.name())
			}
		})
	}
}

// TestReleaseTools installs what TestRelease needs, which then runs without a network.
func TestReleaseTools(t *testing.T) {
	if os.Getenv("TOOLS") == "" {
		t.Skip("TOOLS is not set")
	}
	installTools(t)
}
