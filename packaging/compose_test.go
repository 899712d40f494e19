package packaging

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// composeService has the keys of a service that the tests use.
type composeService struct {
	Command     []string
	Environment map[string]string
	Volumes     []string
}

// defaulted matches a variable with a default in a Compose file.
var defaulted = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

// start runs a service as a process until the test ends, and returns its output.
func (s *composeService) start(t *testing.T, command string, args []string, env ...string) *bufio.Scanner {
	t.Helper()
	run := exec.Command(command, args...)
	run.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range s.Environment {
		run.Env = append(run.Env, name+"="+defaulted.ReplaceAllString(value, "$1"))
	}
	run.Env = append(run.Env, env...) // the last value applies
	out, err := run.StdoutPipe()
	expect.NoError(t, err)
	run.Stderr = os.Stderr
	expect.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		if err := run.Wait(); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	})
	return bufio.NewScanner(out)
}

// found is the first match in the output of a process.
func found(t *testing.T, lines *bufio.Scanner, pattern string) string {
	t.Helper()
	for wanted := regexp.MustCompile(pattern); lines.Scan(); {
		if m := wanted.FindStringSubmatch(lines.Text()); m != nil {
			return m[1]
		}
	}
	t.Fatalf("%s was not printed", pattern)
	return ""
}

// TestPackagingCompose runs the services of examples/compose as processes with the
// environment of the file. A rewrite and an address replace the host names of the services,
// which Compose would resolve.
func TestPackagingCompose(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	programs.Need(t, "examples/compose is NOT run", "node")
	var file struct{ Services map[string]*composeService }
	read(t, "../examples/compose/compose.yaml", &file)
	stand, shop := file.Services["understudy"], file.Services["shop"]
	banner := stand.start(t, filepath.Join(binaries(t), "understudy"), []string{"serve", "--addr", "127.0.0.1:0", "--log-level", "error"},
		"UNDERSTUDY_DATA="+filepath.Join(t.TempDir(), "state"))
	at := found(t, banner, `It listens at (http://[\d.:]+), and these are the addresses of --advertise`)
	for name, value := range shop.Environment {
		shop.Environment[name] = strings.ReplaceAll(value, stand.Environment["UNDERSTUDY_ADVERTISE"], at)
	}
	app := found(t, shop.start(t, "node", []string{"../examples/compose/app/shop.mjs"}, "PORT=0"), `port (\d+)`)
	expect.Equal(expect.Now(t), "rewrites", call(t, "PUT", at+"/_understudy/rewrites", stand.token(), `{"http://shop:3000": "http://127.0.0.1:`+app+`"}`, nil), 200)
	shopURL := "http://127.0.0.1:" + app
	if status := call(t, "POST", shopURL+"/orders", "", `{"item": "tea"}`, nil); status/100 != 2 {
		t.Fatalf("order: %d", status)
	}
	expect.Equal(expect.Now(t), "await", call(t, "POST", at+"/_understudy/await", stand.token(), `{"on": "deliveries", "count": 1, "status": 200, "timeout": "60s"}`, nil), 200)

	t.Run("the order arrives, with a signature that the shop accepts", func(t *testing.T) {
		var orders []map[string]string
		if call(t, "GET", shopURL+"/orders", "", "", &orders); len(orders) != 1 || orders[0]["item"] != "tea" {
			t.Errorf("orders %v", orders)
		}
	})
	t.Run("a request without a signature is refused", func(t *testing.T) {
		expect.Equal(t, "status", call(t, "POST", shopURL+"/fulfil", "", `{"item": "forged"}`, nil), 401)
	})
	t.Run("every file of a volume exists", func(t *testing.T) {
		for _, service := range file.Services {
			for _, volume := range service.Volumes {
				if local, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(local, ".") {
					if _, err := os.Stat(filepath.Join("../examples/compose", local)); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}

// token is the control token of the service.
func (s *composeService) token() string {
	return defaulted.ReplaceAllString(s.Environment["UNDERSTUDY_CONTROL_TOKEN"], "$1")
}
