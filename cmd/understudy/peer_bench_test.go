package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// peer is a published stand-in, in the compared version. It answers a POST with a fixed
// answer: it delivers nothing.
type peer struct {
	name    string
	install []string // a command in the folder of all peers
	needs   string   // a file that the command creates in the folder
	run     func(b *testing.B, folder, port string) []string
	request string
}

// allPeers are sorted by name.
var allPeers = []peer{
	{
		"Prism 5.16.0", npmInstall("@stoplight/prism-cli@5.16.0"), "node_modules/.bin/prism",
		func(b *testing.B, folder, port string) []string {
			document, err := filepath.Abs("../../spec/openapi.json")
			expect.NoError(b, err)
			return []string{filepath.Join(folder, "node_modules/.bin/prism"), "mock", "--host", "127.0.0.1", "--port", port, "--multiprocess=false", "--verboseLevel", "error", document}
		},
		fmt.Sprintf(publishText, "/v2/publish/https%3A%2F%2Fe.test%2Fhook", "") + `"` + strings.Repeat("x", 126) + `"`,
	},
	{
		"stripe-mock 0.203.0", []string{"go", "install", "github.com/stripe/stripe-mock@v0.203.0"}, "stripe-mock",
		func(_ *testing.B, folder, port string) []string {
			return []string{filepath.Join(folder, "stripe-mock"), "-http-addr", "127.0.0.1:" + port}
		},
		"POST /v1/customers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk_test_1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 6\r\n\r\nname=x",
	},
	{
		"WireMock 3.13.2", npmInstall("wiremock@3.13.2"), "node_modules/wiremock/build/wiremock-standalone-3.13.2.jar",
		func(b *testing.B, folder, port string) []string {
			root := b.TempDir()
			const mapping = `{"request":{"method":"POST","urlPathPattern":"/v2/publish/.*"},"response":{"status":200,"headers":{"Content-Type":"application/json"},"body":"{\"messageId\":\"msg_1\"}"}}`
			expect.NoError(b, os.MkdirAll(filepath.Join(root, "mappings"), 0o700))
			expect.NoError(b, os.WriteFile(filepath.Join(root, "mappings", "publish.json"), []byte(mapping), 0o600))
			return []string{"java", "-jar", filepath.Join(folder, "node_modules/wiremock/build/wiremock-standalone-3.13.2.jar"), "--bind-address", "127.0.0.1", "--port", port, "--root-dir", root}
		},
		fmt.Sprintf(publishText, "/v2/publish/https://e.test/hook", "") + strings.Repeat("x", 128),
	},
}

func npmInstall(pkg string) []string {
	return []string{"npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", ".", pkg}
}

// peers starts the peers that can be installed, and reports why others cannot. PEERS=no skips
// all.
func peers(b *testing.B) (all []*subject) {
	b.Helper()
	if os.Getenv("PEERS") == "no" {
		return nil
	}
	folder, err := filepath.Abs("../../.tmp/peers")
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	expect.NoError(b, err)
	for _, p := range allPeers {
		s, err := p.start(b, folder)
		if err != nil {
			fmt.Fprintf(os.Stderr, "not compared: %s: %v\n", p.name, err)
			continue
		}
		all = append(all, accepted(b, s, benchConnections, func(to []byte, _ int) []byte { return append(to, p.request...) }))
	}
	return all
}

// start installs a peer if necessary, and waits until it answers.
func (p *peer) start(b *testing.B, folder string) (*subject, error) {
	b.Helper()
	if _, err := os.Stat(filepath.Join(folder, p.needs)); err != nil {
		c := exec.CommandContext(b.Context(), p.install[0], p.install[1:]...)
		c.Dir, c.Env = folder, append(os.Environ(), "GOBIN="+folder, "GOFLAGS=")
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %.200s", err, out)
		}
	}
	address := programs.FreeAddresses(b, 1)[0]
	_, port, _ := net.SplitHostPort(address)
	process := &programs.Process{Args: p.run(b, folder, port)}
	if _, err := exec.LookPath(process.Args[0]); err != nil {
		return nil, err
	}
	process.Start(b)
	const tries = 300 // 100 ms apart
	for range tries {
		l := &lane{address: address}
		err := l.connect()
		if err == nil {
			err = l.exchange([]byte(p.request))
			_ = l.conn.Close() // only for this request
		}
		if err == nil {
			return &subject{name: p.name, url: "http://" + address, pid: process.PID()}, nil
		}
		if process.Ended() {
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	return nil, fmt.Errorf("it does not answer:\n%.500s", process.Log())
}
