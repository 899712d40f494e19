package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// containerVariable makes the test binary act as the first process of a container.
const containerVariable = "OCI_TEST_CONTAINER"

// limit is the time limit for everything in the container.
const limit = 60 * time.Second

func TestMain(m *testing.M) {
	if text := os.Getenv(containerVariable); text != "" {
		if err := inContainer(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// incompressible returns n bytes that do not compress, the same every time.
func incompressible(n int) []byte {
	content := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
	return content
}

// unpack writes the files of an image to a folder, and returns their owners.
func unpack(t *testing.T, image v1.Image) (root string, owners map[string]int) {
	t.Helper()
	root, owners = t.TempDir(), map[string]int{}
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root, owners
		}
		if err != nil {
			t.Fatal(err)
		}
		owners[header.Name] = header.Uid
		path := filepath.Join(root, header.Name)
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else {
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, content)
		}
		if err := os.Chmod(path, header.FileInfo().Mode()); err != nil { // independent of the umask
			t.Fatal(err)
		}
	}
}

// actual is a folder with the programs of this platform, from a release in DIST or built
// here. The programs of the other platform are fakes.
func actual(t *testing.T) string {
	t.Helper()
	dist := pretended(t)
	own := filepath.Join(dist, "linux-"+runtime.GOARCH)
	if err := os.RemoveAll(own); err != nil {
		t.Fatal(err)
	}
	if release := os.Getenv("DIST"); release != "" {
		if err := os.CopyFS(own, os.DirFS(filepath.Join(release, "linux-"+runtime.GOARCH))); err != nil {
			t.Fatal(err)
		}
		return dist
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=0.0.1", "-o", own+"/", "./cmd/...")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dist
}

// isolated starts the first process of a container as the user of the image, in separate
// namespaces. Until it drops its capabilities, it may set up the network and change the root.
func isolated() *syscall.SysProcAttr {
	const netAdmin, sysChroot = 12, 18
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: nonroot, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: nonroot, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{netAdmin, sysChroot},
		Pdeathsig:   syscall.SIGKILL,
	}
}

// TestContainer unpacks the image and starts its entrypoint as an engine does: with a
// separate root and network, the user of the image, and no capabilities.
func TestContainer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("containers are Linux")
	}
	probe := exec.CommandContext(t.Context(), "true")
	probe.SysProcAttr = isolated()
	if err := probe.Run(); err != nil { // a kernel or an outer container refuses it to all users
		why := fmt.Sprintf("namespaces cannot be made here (%v): the image is NOT started", err)
		fmt.Fprintln(os.Stderr, "SKIPPED: "+why)
		t.Skip(why)
	}
	found := images(t, made(t, actual(t)))
	t.Run("the stand-in delivers and keeps its state", func(t *testing.T) {
		t.Parallel()
		root, out, err := start(t, found["0.0.1 linux/"+runtime.GOARCH], nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		saved, err := os.ReadFile(filepath.Join(root, "data/state.json"))
		if err != nil {
			t.Fatalf("reading the state in /data: got %v, want no error", err)
		}
		if !json.Valid(saved) {
			t.Errorf("the state in /data: got %.300s, want JSON", saved)
		}
		if want := "from inside"; !bytes.Contains(saved, []byte(want)) {
			t.Errorf("the state in /data: got %.300s, want it to contain %q", saved, want)
		}
	})
	t.Run("the suite reads its target file and cannot reach the target", func(t *testing.T) {
		t.Parallel()
		target := "apiVersion: conformance/v1\ntarget:\n  name: none\n  urls: {base: http://127.0.0.1:1}\n"
		_, out, err := start(t, found["0.0.1-conform linux/"+runtime.GOARCH], map[string]string{"data/conformance.yaml": target})
		if err == nil || !strings.Contains(out, "exit status 3") {
			t.Errorf("%v, want exit status 3\n%s", err, out)
		}
	})
}

// start unpacks an image with additional files, starts its entrypoint, and waits for the end.
func start(t *testing.T, image v1.Image, files map[string]string) (root, out string, err error) {
	t.Helper()
	root, _ = unpack(t, image)
	for name, text := range files {
		put(t, filepath.Join(root, name), []byte(text))
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(container{Root: root, Config: config.Config})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	first := exec.CommandContext(ctx, self)
	first.SysProcAttr = isolated()
	first.Env = []string{containerVariable + "=" + string(text)}
	printed, err := first.CombinedOutput()
	return root, string(printed), err
}

// container is the data for the first process.
type container struct {
	Root   string
	Config v1.Config

	nothing *os.File // standard input of every process
}

// inContainer is the main function of the first process.
func inContainer(text string) error {
	var c container
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	runtime.LockOSThread()                 // capabilities belong to a thread, and child processes inherit those of their thread
	processes, err := os.OpenRoot("/proc") // the image has no /proc
	if err != nil {
		return err
	}
	if c.nothing, err = os.Open(os.DevNull); err != nil { // the image has no devices; an engine adds them
		return err
	}
	if err := c.enter(); err != nil {
		return err
	}
	if c.Config.Healthcheck == nil { // the process ends by itself
		out, err := c.command(c.Config.Cmd...).CombinedOutput()
		fmt.Printf("%s", out)
		return err
	}
	server := c.command(c.Config.Cmd...)
	server.Env = append(server.Env, "UNDERSTUDY_SNAPSHOT=state.json")
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		return err
	}
	if err = c.use(); err == nil {
		err = powerless(processes, server.Process.Pid)
	}
	_ = server.Process.Signal(syscall.SIGTERM) // the StopSignal of the image
	if stopped := server.Wait(); err == nil && stopped != nil {
		err = fmt.Errorf("stop: %w", stopped)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log.String())
	}
	fmt.Println(log.String())
	health := c.healthcheck()
	if out, _ := health.CombinedOutput(); health.ProcessState == nil || health.ProcessState.ExitCode() != 3 { // ProcessState is nil when the command was not started
		return fmt.Errorf("healthcheck of a stopped server: %v, want exit code 3: %s", health.ProcessState, out)
	}
	return nil
}

// enter sets up the network, changes the root, and drops the capabilities of child processes.
func (c *container) enter() error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	request := struct { // struct ifreq of the kernel
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); err != 0 {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := syscall.Chroot(c.Root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	const ambient, clearAll = 47, 4 // PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL: children have no capabilities
	if _, _, err := syscall.Syscall6(syscall.SYS_PRCTL, ambient, clearAll, 0, 0, 0, 0); err != 0 {
		return fmt.Errorf("capabilities: %w", err)
	}
	return os.Chdir(c.Config.WorkingDir)
}

// command is the entrypoint of the image with arguments.
func (c *container) command(args ...string) *exec.Cmd {
	return c.process(append(slices.Clone(c.Config.Entrypoint), args...))
}

// healthcheck is the command with which an engine checks the server.
func (c *container) healthcheck() *exec.Cmd { return c.process(c.Config.Healthcheck.Test[1:]) }

func (c *container) process(words []string) *exec.Cmd {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Config.WorkingDir, c.Config.Env, c.nothing
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// use waits until the server is healthy, then publishes and waits for the delivery.
func (c *container) use() error {
	for end := time.Now().Add(limit); ; {
		out, err := c.healthcheck().CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("healthcheck: %w: %s", err, out)
		}
	}
	environment, err := c.command("env", "--json").Output()
	if err != nil {
		return fmt.Errorf("env: %w", err)
	}
	var vars map[string]string
	if err := json.Unmarshal(environment, &vars); err != nil {
		return err
	}
	base := vars["UNDERSTUDY_URL"]
	if base != "http://127.0.0.1:8080" {
		return fmt.Errorf("UNDERSTUDY_URL is %q", base)
	}
	if _, err := post(base+"/v2/publish/"+base+"/_understudy/sink/status/200", vars["UNDERSTUDY_TOKEN"], `"from inside"`); err != nil {
		return err
	}
	answer, err := post(base+"/_understudy/await", "", `{"on": "deliveries", "status": 200, "count": 1, "timeout": "`+limit.String()+`"}`)
	if err != nil {
		return err
	}
	fmt.Println("delivered:", answer)
	return nil
}

// powerless reports an error unless a process is the user of the image and has no capabilities.
func powerless(processes *os.Root, pid int) error {
	status, err := processes.ReadFile(strconv.Itoa(pid) + "/status")
	if err != nil {
		return err
	}
	for _, want := range []string{"CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapAmb:\t0000000000000000", fmt.Sprintf("Uid:\t%d\t%[1]d", nonroot)} {
		if !bytes.Contains(status, []byte(want)) {
			return fmt.Errorf("the server: want %s in\n%s", want, status)
		}
	}
	return nil
}

func post(url, token, body string) (string, error) {
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("POST %s: %s: %s", url, answer.Status, text)
	}
	return string(text), err
}
