package programs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

// natsModule is the path of the NATS server program, in the version of go.mod.
const natsModule = "github.com/nats-io/nats-server/v2"

// natsBuilt builds nats-server once for all tests of a package, in the folder of the
// commands.
var natsBuilt = sync.OnceValue(func() error {
	if err := built(); err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", folder, natsModule)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// BuildNATS builds nats-server and returns its path.
func BuildNATS(t TB) string {
	t.Helper()
	if err := natsBuilt(); err != nil {
		t.Fatalf("go build %s: %v", natsModule, err)
	}
	return filepath.Join(folder, "nats-server")
}

// Node is a member of a cluster, as a separate process.
type Node struct {
	Name string // name in the cluster
	URL  string // for clients
	Process
}

// Cluster starts a JetStream cluster of n members, each with its own folder. They sync each
// message to disk. They are killed at the end of the test.
func Cluster(t TB, n int) []*Node {
	t.Helper()
	binary, dir := BuildNATS(t), t.TempDir()
	list := make([]*Node, n)
	routes := make([]string, n)
	clients, peers := FreeAddresses(t, n), FreeAddresses(t, n)
	for i := range list {
		routes[i] = "nats://" + peers[i]
	}
	for i := range list {
		name := fmt.Sprintf("n%d", i+1)
		config := filepath.Join(dir, name+".conf")
		text := fmt.Sprintf("server_name: %s\nlisten: %q\njetstream { store_dir: %q, max_file_store: 100GB, sync_interval: always }\n", name, clients[i], filepath.Join(dir, name))
		if n > 1 {
			text += fmt.Sprintf("cluster { name: fleet, listen: %q, routes: [%s] }\n", peers[i], strings.Join(routes, ", "))
		}
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list[i] = &Node{Name: name, URL: "nats://" + clients[i], Process: Process{Args: []string{binary, "-c", config}}}
		list[i].Start(t)
	}
	for i, n := range list {
		if !Answers(clients[i]) {
			t.Fatalf("nats-server does not listen at %s:\n%s", clients[i], n.Log())
		}
	}
	return list
}

// Answers waits until something listens at an address. It gives up after about 20 seconds.
func Answers(address string) bool {
	const tries = 1000
	for range tries {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn.Close() == nil
		}
		_ = clock.Pause(context.Background(), 20*time.Millisecond) // never ends early
	}
	return false
}

// A range of ports below those that systems assign to connections: a member of a cluster that
// is started again must find its port free.
const firstPort, lastPort = 10_000, 32_000

// FreeAddresses returns n different free addresses of this machine.
func FreeAddresses(t TB, n int) []string {
	t.Helper()
	var list []string
	for tries := 0; len(list) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort)))
		if err != nil && tries < 1000 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // when all are chosen
		list = append(list, l.Addr().String())
	}
	return list
}
