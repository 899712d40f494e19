package main

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
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

// outward delivers to names whose addresses the file of host names determines, in a network
// without anything else.
const outward = `
set -e
mount --bind hosts /etc/hosts
ip link set lo up
"$BINARY" run --addr 127.0.0.1:0 --outbound loopback-only --log-level error -- sh -c '
  port=${UNDERSTUDY_URL##*:}
  for host in app.test app.localhost localhost 192.0.2.1 [::ffff:192.0.2.1]; do
    "$BINARY" ctl --url $UNDERSTUDY_URL publish --retries 0 http://$host:$port/_understudy/sink/status/200 x >/dev/null
  done
  "$BINARY" ctl --url $UNDERSTUDY_URL settle >/dev/null
  curl -sS "$UNDERSTUDY_URL/_understudy/deliveries"'
`

// TestOutboundChecksTheAddress: a name proves nothing, because the resolver of the machine
// decides where it leads.
func TestOutboundChecksTheAddress(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "-rnm", "sh", "-c", "mount --bind /etc/hosts /etc/hosts && ip link set lo up && curl --version").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no namespaces, ip or curl here: %v: %s", err, out)
	}
	cmd := exec.Command("unshare", "-rnm", "sh", "-c", outward)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "BINARY="+build(t))
	expect.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "hosts"), []byte("127.0.0.1 localhost app.test\n192.0.2.1 app.localhost\n"), 0o644))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list struct {
		Entries []struct {
			URL, Error string
			Response   struct{ Status int }
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]bool{}
	for _, e := range list.Entries {
		at, _ := url.Parse(e.URL)
		got[at.Hostname()] = e.Response.Status == 200
		if e.Response.Status == 0 && !strings.Contains(e.Error, "192.0.2.1 is not a loopback address of this machine") {
			t.Errorf("%s: got the error %q", at.Hostname(), e.Error)
		}
	}
	want := map[string]bool{"app.test": true, "app.localhost": false, "localhost": true, "192.0.2.1": false, "::ffff:192.0.2.1": false}
	if !maps.Equal(got, want) {
		t.Errorf("delivered: got %v, want %v", got, want)
	}
}
