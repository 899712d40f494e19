package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/sqlite"
	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/fleet"
	"github.com/understudy-mock/understudy/mockserver/fleet/jetstream"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/spec/mask"
)

// dataPlace is the value of --data: a folder, or the servers of a cluster.
type dataPlace string

// urlScheme matches the scheme of a URL. A single letter is a drive of Windows.
var urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)

// hostPorts matches servers without a scheme, which would name a folder.
var hostPorts = regexp.MustCompile(`^(([^/@\s]+@)?([\w.-]+|\[[\da-fA-F:]+\]):\d{1,5}(, *|$))+$`)

// UnmarshalText refuses an empty value, such as an unset shell variable: the server would not
// keep its state. An empty UNDERSTUDY_DATA means no flag.
func (d *dataPlace) UnmarshalText(text []byte) error {
	*d = dataPlace(strings.TrimSpace(string(text)))
	if *d == "" {
		if value, set := os.LookupEnv("UNDERSTUDY_DATA"); set && strings.TrimSpace(value) == "" {
			return nil
		}
		return d.invalid()
	}
	if hostPorts.MatchString(string(*d)) {
		meant := mask.Text("nats://" + string(*d))
		given := strings.TrimPrefix(meant, "nats://")
		return fmt.Errorf("invalid value %q: has no scheme: did you mean %s? A folder of that name is ./%s", given, meant, given)
	}
	if !urlScheme.MatchString(string(*d)) {
		return nil
	}
	scheme, _, _ := strings.Cut(string(*d), "://")
	servers := strings.Split(string(*d), ",")
	for i, server := range servers {
		if server = strings.TrimSpace(server); !strings.Contains(server, "://") { // as in nats://a:4222,b:4222
			server = scheme + "://" + server
		}
		at, err := url.Parse(server)
		if err != nil || !slices.Contains([]string{"nats", "tls"}, at.Scheme) || at.Hostname() == "" || strings.Trim(at.Path, "/") != "" || !isCluster(*d) {
			return d.invalid()
		}
		servers[i] = server
	}
	*d = dataPlace(strings.Join(servers, ","))
	return nil
}

// invalid refuses the value, without the passwords in it.
func (d *dataPlace) invalid() error {
	scheme, _, _ := strings.Cut(string(*d), ":/")
	shown, hint := mask.Text(string(*d)), similar.DidYouMean(scheme, []string{"nats", "tls"})
	if strings.Contains(strings.ReplaceAll(shown, mask.Hidden+"@", ""), "@") { // a password that no URL may have
		shown = serverCredentials.ReplaceAllString(shown, "${1}"+mask.Hidden+"@")
		hint = "; special characters of a password must be percent-encoded, such as %2F for /"
	}
	return fmt.Errorf("invalid value %q: must be a folder, or the servers of a cluster, such as nats://a:4222,nats://b:4222 (tls:// with TLS)%s", shown, hint)
}

// serverCredentials matches the credentials of all servers, whatever their characters.
var serverCredentials = regexp.MustCompile(`(/+).*@`)

// dataFlags refuses flags that have no effect without --data, or contradict it.
func (c *ServeCmd) dataFlags() error {
	cluster := isCluster(c.Data)
	switch {
	case c.DataAcceptLoss && (c.Data == "" || cluster):
		return usageError("--data-accept-loss: must be used with --data DIR")
	case c.FleetSecret != "" && !cluster:
		return usageError("--fleet-secret: must be used with --data nats://")
	case c.FleetURL != "" && !cluster:
		return usageError("--fleet-url: must be used with --data nats://")
	case c.DataReplicas != 0 && !cluster:
		return usageError("--data-replicas: must be used with --data nats://")
	case c.DataReplicas < 0 || c.DataReplicas > maxReplicas:
		return usageError("--data-replicas: invalid value %d: must be an integer from 1 to %d", c.DataReplicas, maxReplicas)
	case c.Data != "" && c.Snapshot != "":
		return usageError("--data and --snapshot: must not be used together; `ctl snapshot load FILE` puts a snapshot into a server with --data")
	case cluster:
		return c.fleetFlags()
	}
	return nil
}

// maxReplicas is the largest number of copies in a cluster.
const maxReplicas = 5

// openData opens the store of --data. It returns nil without --data.
func (c *ServeCmd) openData(ctx context.Context, log *slog.Logger, warn func(string)) (store.Store, error) {
	switch {
	case c.Data == "":
		return nil, nil
	case isCluster(c.Data):
		front, err := c.front()
		if err != nil {
			return nil, err
		}
		st, err := jetstream.Open(ctx, jetstream.Config{Servers: string(c.Data), Replicas: c.DataReplicas, Log: log})
		if err != nil {
			return nil, usageError("--data: %s", mask.Text(err.Error())) // the error contains the URLs
		}
		c.fleet = fleet.New(fleet.Config{Store: st, Secret: c.FleetSecret, Front: front, Log: log})
		return st, nil
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Dir: string(c.Data), AcceptLoss: c.DataAcceptLoss, Log: log, Warn: warn})
	if err != nil {
		return nil, usageError("--data: %w", err)
	}
	return st, nil
}

// front is the URL of the fleet as a whole, nil without --fleet-url.
func (c *ServeCmd) front() (*url.URL, error) {
	if c.FleetURL == "" {
		return nil, nil
	}
	at, err := mockserver.ParseAdvertise(c.FleetURL)
	if err != nil {
		return nil, usageError("--fleet-url: %w", err)
	}
	return at, nil
}

// isCluster reports whether --data names a cluster and not a folder.
func isCluster(data dataPlace) bool {
	return strings.HasPrefix(string(data), "nats://") || strings.HasPrefix(string(data), "tls://")
}

// fleetFlags requires what servers on several machines need: a URL at which the others reach
// this one, and a secret, because a forwarded request states the address of its client.
func (c *ServeCmd) fleetFlags() error {
	for _, addr := range []string{c.Addr, c.ListenRegion, c.ListenManagement, c.ListenVector} {
		if addr == "" || gate.LocalHost(addr) {
			continue
		}
		switch host, _, err := net.SplitHostPort(addr); {
		case c.FleetSecret == "":
			return usageError("--data nats:// with a listener off loopback, %s: needs --fleet-secret TEXT, the same for all servers of the fleet", addr)
		case c.Advertise == "" && err == nil && (host == "" || net.ParseIP(host).IsUnspecified()):
			return usageError("--data nats:// with a listener on all interfaces, %s: needs --advertise URL, by which the other servers of the fleet reach this one", addr)
		}
	}
	return nil
}

// closeData closes the store.
func (c *ServeCmd) closeData() error {
	if c.store == nil {
		return nil
	}
	st := c.store
	c.store = nil
	return st.Close()
}
