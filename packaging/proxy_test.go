package packaging

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// TestPackagingProxy runs the reverse proxies of docs/security.md, without TLS: behind
// them, everyone can publish with a token, and nobody has the control API without one.
func TestPackagingProxy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool    string
		site    *regexp.Regexp // the address that clients use
		address string
		around  string
		args    []string
	}{
		{"nginx", regexp.MustCompile(`listen 443 ssl;|ssl_certificate\w* .*;`), "listen ADDRESS;",
			"daemon off; pid DIR/pid; error_log DIR/log; events {}\nhttp { access_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;\nSITE}\n",
			[]string{"-e", "stderr", "-c"}},
		{"caddy", regexp.MustCompile(`queue\.example\.com`), "http://ADDRESS", "{\n\tadmin off\n}\nSITE", []string{"run", "--adapter", "caddyfile", "--config"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			programs.Need(t, "its configuration in docs/security.md is NOT run", c.tool)
			sites := fenced(t, "../docs/security.md", c.tool)
			expect.Equal(expect.Now(t), "configurations in the page", len(sites), 1)
			server, dir, at := filepath.Join(binaries(t), "understudy"), t.TempDir(), programs.FreeAddresses(t, 2)
			for i, flags := range [][]string{nil, {"--control-token", "secret"}} {
				s := programs.Serve(t, server, append(flags, "--account", "team:own", "--stub", "https://app.test/*=200")...)
				site := replaced(t, sites[0], "127.0.0.1:8080", strings.TrimPrefix(s.URL, "http://"))
				first := true
				site = c.site.ReplaceAllStringFunc(site, func(string) string {
					defer func() { first = false }()
					if first {
						return strings.ReplaceAll(c.address, "ADDRESS", at[i])
					}
					return ""
				})
				config := filepath.Join(dir, "config")
				text := strings.NewReplacer("DIR", dir, "SITE", site).Replace(c.around)
				expect.NoError(t, os.WriteFile(config, []byte(text), 0o600))
				proxy := programs.Process{Args: append(append([]string{"env", "HOME=" + dir, c.tool}, c.args...), config)}
				proxy.Start(t)
				if !programs.Answers(at[i]) {
					t.Fatalf("%s does not listen at %s:\n%s", c.tool, at[i], proxy.Log())
				}
				base := "http://" + at[i]
				expect.Equal(t, "publish", call(t, "POST", base+"/v2/publish/https://app.test/hook", "own", "{}", nil), http.StatusOK)
				expect.Equal(t, "the control API without a token", call(t, "GET", base+"/_understudy/deliveries", "", "", nil), http.StatusUnauthorized)
				expect.Equal(t, "the page without a token", call(t, "GET", base+"/_understudy/", "", "", nil), http.StatusUnauthorized)
				expect.Equal(t, "a probe", call(t, "GET", base+"/_understudy/readyz", "", "", nil), http.StatusOK)
				if flags != nil {
					expect.Equal(t, "the control API with the token", call(t, "GET", base+"/_understudy/deliveries", "secret", "", nil), http.StatusOK)
				}
			}
		})
	}
}
