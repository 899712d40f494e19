package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// neighbour calls a server at an IPv6 link-local address, in a separate network namespace.
const neighbour = `
set -e
ip link set lo up
ip link add va type veth peer name vb
ip link set vb up
ip addr add fe80::1234/64 dev va nodad
ip link set va up
"$BINARY" serve --addr '[::]:0' --ready-file ready >/dev/null 2>log &
while ! test -s ready; do kill -0 $!; done
port=$(sed 's/.*"url":"[^"]*:\([0-9]*\)".*/\1/' ready)
ask() { curl -sS -g -o /dev/null -w '%{http_code} ' --max-time 10 "$@"; }
ask "http://[fe80::1234%25va]:$port/_understudy/clock"
ask "http://[fe80::1234%25va]:$port/_understudy/clock" -H 'Host: localhost'
ask "http://[fe80::1234%25va]:$port/_understudy/sink/status/200"
ask "http://[fe80::1234%25va]:$port/_understudy/health"
ask "http://[::1]:$port/_understudy/clock"
kill $!
wait $! || true
grep -c 'WARNING: \[::\]' log
`

// TestALinkLocalNeighbourIsNotLocal: a link-local address has a zone and is not an address of
// loopback.
func TestALinkLocalNeighbourIsNotLocal(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "-rn", "sh", "-c", "ip link set lo up && ip link add va type veth peer name vb && curl --version").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no network namespaces, ip or curl here (mockserver's tests use addresses that are made up): %v: %s", err, out)
	}
	cmd := exec.Command("unshare", "-rn", "sh", "-c", neighbour)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "BINARY="+build(t))
	out, err := cmd.CombinedOutput()
	log, _ := os.ReadFile(filepath.Join(cmd.Dir, "log"))
	if got, want := strings.TrimSpace(string(out)), "401 401 401 200 200 1"; err != nil || got != want {
		t.Errorf("got %s, want %s: %v\n%s", got, want, err, log)
	}
}
