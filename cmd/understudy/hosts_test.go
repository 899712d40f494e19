package main

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// TestTheHostsLine checks when the banner has a line for the hosts file.
func TestTheHostsLine(t *testing.T) {
	t.Parallel()
	const intro = " For programs on this machine, add this line to /etc/hosts:\n\n"
	for name, c := range map[string]struct{ advertised, listens, want string }{
		"a name on the port of HTTPS":        {"https://queue.test", "https://127.0.0.1:443", intro + "127.0.0.1 queue.test"},
		"a name and a port":                  {"http://queue.test:8080", "http://[::1]:8080", intro + "::1 queue.test"},
		"a name that needs no line":          {"https://localhost:8443", "https://127.0.0.1:8443", ""},
		"an address":                         {"http://192.0.2.1:8080", "http://127.0.0.1:8080", ""},
		"the port of a proxy or a container": {"https://queue.test", "http://127.0.0.1:8080", ""},
		"a listener off loopback":            {"https://queue.test", "https://192.0.2.1:443", ""},
	} {
		expect.Equal(t, name, hostsHint(c.advertised, c.listens), c.want)
	}
}

// TestEnvWorksAtTheAdvertisedName uses the name of the machine, which many machines have in
// their hosts file. The control API has no token.
func TestEnvWorksAtTheAdvertisedName(t *testing.T) {
	t.Parallel()
	name, err := os.Hostname()
	expect.NoError(t, err)
	if list, err := net.DefaultResolver.LookupHost(t.Context(), name); err != nil || len(list) != 1 || list[0] != "127.0.0.1" {
		programs.SkipHere(t, "the name of this machine is not an alias of 127.0.0.1: `env` at an advertised name is NOT tested")
	}
	binary := build(t)
	server := serve(t, binary, "--advertise", "http://"+name+":18080")
	listens, err := url.Parse(server.ListensAt)
	expect.NoError(t, err)
	listens.Host = net.JoinHostPort(name, listens.Port())
	out, err := exec.CommandContext(t.Context(), binary, "env", "--url", listens.String(), "--dotenv").CombinedOutput()
	if err != nil {
		t.Fatalf("env: %v\n%s", err, out)
	}
	expect.Contains(t, "env", string(out), "\nUNDERSTUDY_TOKEN=")
	expect.Contains(t, "env", string(out), "UNDERSTUDY_URL=http://"+name+":18080\n")
}
