package packaging

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// engine imitates a container engine for Testcontainers: it has the part of the Docker API
// that Testcontainers uses, and its containers are processes of the real program.
type engine struct {
	binary string
	t      *testing.T

	mu         sync.Mutex
	containers map[string]*container
	unknown    []string // requests without a handler
	started    int
}

// container is a process with the settings of its creation.
type container struct {
	ID     string
	Config struct {
		Image        string
		Env, Cmd     []string
		Labels       map[string]string
		ExposedPorts map[string]any
	}
	created time.Time
	process *exec.Cmd
	log     *bytes.Buffer
	ended   chan struct{}
	port    string // on this machine
}

// newEngine starts an engine that stops with the test, and returns its address.
func newEngine(t *testing.T, binary string) (e *engine, address string) {
	t.Helper()
	e = &engine{binary: binary, t: t, containers: map[string]*container{}}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(r *http.Request) (int, any){
		"GET /_ping": func(*http.Request) (int, any) { return 200, "OK" },
		"GET /info": func(*http.Request) (int, any) {
			return 200, fields{"OSType": "linux", "OperatingSystem": "test", "ServerVersion": "28.0.0", "Labels": []string{}}
		},
		"GET /version": func(*http.Request) (int, any) {
			return 200, fields{"ApiVersion": "1.48", "Version": "28.0.0", "Os": "linux", "Arch": "amd64"}
		},
		"GET /images/json":                           func(*http.Request) (int, any) { return 200, []any{} },
		"GET /images/{name}/json":                    e.image,
		"GET /images/{owner}/{name}/json":            e.image,
		"GET /images/{registry}/{owner}/{name}/json": e.image,
		"GET /networks":                              func(*http.Request) (int, any) { return 200, []any{fields{"Name": "bridge", "Id": "bridge"}} },
		"GET /networks/{name}":                       func(*http.Request) (int, any) { return 200, fields{"Name": "bridge", "Id": "bridge"} },
		"GET /containers/json":                       func(*http.Request) (int, any) { return 200, []any{} },
		"POST /containers/create":                    e.create,
		"POST /containers/{id}/start":                e.start,
		"GET /containers/{id}/json":                  e.inspect,
		"GET /containers/{id}/logs":                  e.logs,
		"POST /containers/{id}/stop":                 e.stop,
		"POST /containers/{id}/kill":                 e.stop,
		"POST /containers/{id}/wait":                 e.stop,
		"DELETE /containers/{id}":                    e.remove,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			status, answer := handle(r)
			e.answer(w, status, answer)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.unknown = append(e.unknown, r.Method+" "+r.URL.Path)
		e.answer(w, http.StatusNotImplemented, fields{"message": "not part of this engine: " + r.Method + " " + r.URL.Path})
	})
	version := regexp.MustCompile(`^/v\d+\.\d+/`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = version.ReplaceAllString(r.URL.Path, "/")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.Close()
		for id := range e.containers {
			t.Errorf("container %s was not removed", id)
			e.end(id)
		}
	})
	return e, server.URL
}

// fields is a JSON object.
type fields = map[string]any

func (e *engine) answer(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Api-Version", "1.48")
	w.Header().Set("Ostype", "linux")
	if text, ok := answer.(string); ok {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may have disconnected
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// image describes an image that need not be pulled.
func (e *engine) image(*http.Request) (int, any) {
	return 200, fields{"Id": "sha256:" + strings.Repeat("0", 64), "RepoTags": []string{}, "Os": "linux", "Architecture": "amd64", "Config": fields{}}
}

func (e *engine) create(r *http.Request) (int, any) {
	c := &container{created: time.Now(), log: &bytes.Buffer{}, ended: make(chan struct{})}
	if err := json.NewDecoder(r.Body).Decode(&c.Config); err != nil {
		return 400, fields{"message": err.Error()}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started++
	c.ID = fmt.Sprintf("%064x", e.started)
	e.containers[c.ID] = c
	return 201, fields{"Id": c.ID, "Warnings": []string{}}
}

// start starts the entrypoint and the default command of the image on a free port, with the
// environment of the container.
func (e *engine) start(r *http.Request) (int, any) {
	c := e.find(r)
	if c == nil {
		return missing()
	}
	ready := filepath.Join(e.t.TempDir(), "ready.json")
	args := c.Config.Cmd
	if len(args) == 0 {
		args = []string{"serve"}
	}
	c.process = exec.Command(e.binary, append(args, "--addr", "127.0.0.1:0", "--ready-file", ready)...)
	c.process.Env = append([]string{"PATH=" + os.Getenv("PATH")}, c.Config.Env...)
	c.process.Stdout, c.process.Stderr = c.log, c.log
	if err := c.process.Start(); err != nil {
		return 500, fields{"message": err.Error()}
	}
	go func() {
		_ = c.process.Wait() // inspect reports the exit code
		close(c.ended)
	}()
	for {
		select {
		case <-c.ended:
			return 204, nil // an engine also reports success when the process ends at once
		case <-time.After(5 * time.Millisecond):
		}
		if text, err := os.ReadFile(ready); err == nil {
			if m := regexp.MustCompile(`"url":"http://127\.0\.0\.1:(\d+)"`).FindSubmatch(text); m != nil {
				c.port = string(m[1])
				return 204, nil
			}
		}
	}
}

func (e *engine) inspect(r *http.Request) (int, any) {
	c := e.find(r)
	if c == nil {
		return missing()
	}
	state := fields{"Status": "created", "Running": false, "ExitCode": 0, "StartedAt": c.created, "FinishedAt": "0001-01-01T00:00:00Z"}
	if c.process != nil {
		state["Status"], state["Running"], state["Pid"] = "running", true, c.process.Process.Pid
		select {
		case <-c.ended:
			state["Status"], state["Running"], state["ExitCode"] = "exited", false, c.process.ProcessState.ExitCode()
		default:
		}
	}
	ports := fields{}
	for port := range c.Config.ExposedPorts {
		ports[port] = []any{fields{"HostIp": "127.0.0.1", "HostPort": cmp.Or(c.port, "0")}}
	}
	return 200, fields{
		"Id": c.ID, "Name": "/understudy", "Created": c.created, "State": state, "Image": c.Config.Image, "Config": c.Config,
		"HostConfig":      fields{"PortBindings": ports, "NetworkMode": "bridge"},
		"NetworkSettings": fields{"Ports": ports, "Networks": fields{"bridge": fields{"NetworkID": "bridge", "IPAddress": "127.0.0.1"}}},
	}
}

func (e *engine) logs(r *http.Request) (int, any) {
	if e.find(r) == nil {
		return missing()
	}
	return 200, ""
}

func (e *engine) stop(r *http.Request) (int, any) {
	c := e.find(r)
	if c == nil {
		return missing()
	}
	if c.process != nil {
		_ = c.process.Process.Signal(syscall.SIGTERM) // it may have ended
		<-c.ended
	}
	return 204, nil
}

func (e *engine) remove(r *http.Request) (int, any) {
	c := e.find(r)
	if c == nil {
		return missing()
	}
	e.end(c.ID)
	return 204, nil
}

func (e *engine) end(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.containers[id]; c.process != nil {
		_ = c.process.Process.Kill() // it may have ended
		<-c.ended
	}
	delete(e.containers, id)
}

func (e *engine) find(r *http.Request) *container {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.containers[r.PathValue("id")]
}

func missing() (int, any) { return 404, fields{"message": "no such container"} }

// TestPackagingTestcontainers runs the unchanged examples against the engine.
func TestPackagingTestcontainers(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	for _, c := range []struct {
		name, tool string
		commands   []string
	}{
		{"testcontainers-go", "go", []string{"go vet .", "go test -count=1 ."}},
		{"testcontainers-node", "npm", []string{"npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error", "npm run --silent check", "npm test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			programs.Need(t, "examples/"+c.name+" is NOT run", "go", "npm")
			e, address := newEngine(t, filepath.Join(binaries(t), "understudy"))
			for _, command := range c.commands {
				ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(limit))
				defer cancel()
				run := exec.CommandContext(ctx, "bash", "-c", command)
				run.Dir = filepath.Join("../examples", c.name)
				run.Env = append(os.Environ(), "DOCKER_HOST="+strings.Replace(address, "http://", "tcp://", 1),
					"TESTCONTAINERS_RYUK_DISABLED=true", "UNDERSTUDY_IMAGE=ghcr.io/understudy-mock/understudy:0.0.1")
				if out, err := run.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", command, err, out)
				}
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.started != 1 || len(e.unknown) > 0 {
				t.Errorf("%d containers were created, want 1; the engine did not answer %q", e.started, e.unknown)
			}
		})
	}
}
