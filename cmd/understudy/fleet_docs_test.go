package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// fleetPage is docs/operating.md with free addresses of this machine.
type fleetPage struct {
	t    *testing.T
	dir  string
	text string
}

// Every command of "Several servers" runs: the fleet on one machine, and the fleet on several,
// whose addresses are replaced by addresses of this machine.
func TestFleetPage(t *testing.T) {
	effort.Long(t, "starts a cluster")
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	programs.Need(t, "the commands of docs/operating.md are NOT tested", "curl")
	p := &fleetPage{t: t, dir: t.TempDir(), text: string(readFile(t, "../../docs/operating.md"))}
	p.freeAddresses()
	blocks := p.blocks("sh")
	expect.Equal(expect.Now(t), "docs/operating.md", len(blocks), 4)
	t.Run("three servers and a cluster on one machine", func(t *testing.T) {
		p.t = t
		p.start(blocks[0] + "wait\n")
		expect.Contains(t, "the fleet", p.until(blocks[1], `"wiki"`), `"members":[`)
		expect.Contains(t, "the receipts", p.until(blocks[2], `"messageId"`), `"messageId"`)
	})
	t.Run("a server on each of several machines", func(t *testing.T) {
		p.t = t
		secrets := "NATS_PASSWORD=pass SECRET=secret CONTROL_TOKEN=control; export NATS_PASSWORD SECRET CONTROL_TOKEN\n"
		conf := p.blocks("conf")[0]
		for i, n := range []string{"1", "2", "3"} {
			own := strings.NewReplacer("n1", "n"+n, "nats-data", "real"+n, p.address("10.0.0.1:4222"), p.address("10.0.0."+n+":4222"), `listen: "`+p.address("10.0.0.1:6222"), `listen: "`+p.address("10.0.0."+n+":6222"))
			name := filepath.Join(p.dir, "real"+n+".conf")
			if err := os.WriteFile(name, []byte(own.Replace(conf)), 0o600); err != nil {
				t.Fatal(i, err)
			}
			p.start(secrets + "exec nats-server -c " + name + "\n")
		}
		p.start(secrets + "sleep 5\n" + blocks[3] + "wait\n")
		address := "http://" + p.address("10.0.0.1:8080")
		got := p.until("curl -sS -H 'Authorization: Bearer control' "+address+"/_understudy/fleet\n", `"shop"`)
		expect.Contains(t, "the fleet", got, `"url":"`+address+`"`)
	})
}

// pageAddress matches an address in the page.
var pageAddress = regexp.MustCompile(`(127\.0\.0\.1|10\.0\.0\.\d):\d{4}`)

// freeAddresses replaces the addresses of the page by free ones.
func (p *fleetPage) freeAddresses() {
	known := map[string]string{}
	found := pageAddress.FindAllString(p.text, -1)
	free := programs.FreeAddresses(p.t, len(found))
	for i, at := range found {
		if known[at] == "" {
			known[at] = free[i]
		}
	}
	p.text = pageAddress.ReplaceAllStringFunc(p.text, func(at string) string { return known[at] })
	for at, to := range known { // -p takes only a port
		if port, ok := strings.CutPrefix(at, "127.0.0.1:"); ok {
			p.text = strings.ReplaceAll(p.text, " -p "+port+" ", " -p "+strings.TrimPrefix(to, "127.0.0.1:")+" ")
		}
	}
	p.text += "\n<!--"
	for at, to := range known {
		p.text += " " + at + "=" + to + " "
	}
}

// address is the address that replaces an address of the page.
func (p *fleetPage) address(at string) string {
	_, rest, _ := strings.Cut(p.text, " "+at+"=")
	to, _, _ := strings.Cut(rest, " ")
	return to
}

// blocks are the code blocks of the page in a language.
func (p *fleetPage) blocks(language string) (list []string) {
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(p.text, -1) {
		if m[1] == language {
			list = append(list, m[2])
		}
	}
	return list
}

func (p *fleetPage) shell(script string) *exec.Cmd {
	c := exec.Command("sh", "-eu", "-c", script)
	c.Dir = p.dir
	c.Env = []string{"HOME=" + p.dir, "PATH=" + filepath.Dir(programs.BuildNATS(p.t)) + ":" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its servers are in its process group, and are killed with it
	return c
}

// once runs commands that end by themselves. If they hang, it kills them and all processes
// that they have started.
func (p *fleetPage) once(script string) ([]byte, error) {
	c := p.shell(script)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		return nil, err
	}
	within := time.AfterFunc(effort.Wait(time.Minute), func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	defer within.Stop()
	err := c.Wait()
	return out.Bytes(), err
}

// start runs commands, some of them until the end of the test.
func (p *fleetPage) start(script string) {
	p.t.Helper()
	c := p.shell(script)
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	expect.NoError(p.t, c.Start())
	p.t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // the whole group
		_ = c.Wait()                                      // it was killed
		if p.t.Failed() {
			p.t.Logf("%s\n%s", script, tail(log.String()))
		}
	})
}

// until repeats commands until they succeed and print a text, and returns their output.
func (p *fleetPage) until(script, want string) string {
	p.t.Helper()
	for deadline := time.Now().Add(effort.Wait(time.Minute)); ; pause(200 * time.Millisecond) {
		out, err := p.once(script)
		if err == nil && strings.Contains(string(out), want) {
			return string(out)
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s\ngot %v: %s, want %s", script, err, out, want)
		}
	}
}
