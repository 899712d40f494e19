package receiver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tunnelLimit is how long a tunnel may take to print its public URL.
const tunnelLimit = 60 * time.Second

// tunnel is a command of the target file that makes the receiver reachable.
type tunnel struct {
	cmd  *exec.Cmd
	done chan struct{} // closed at the end of its output
}

// startTunnel starts the command and waits until it prints its public URL.
func startTunnel(ctx context.Context, command, pattern string, port int) (*tunnel, string, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, "", fmt.Errorf("receiver.tunnel.url_pattern: %w", err)
	}
	t := &tunnel{cmd: shell(ctx, strings.ReplaceAll(command, "{port}", strconv.Itoa(port))), done: make(chan struct{})}
	out, in := io.Pipe()
	t.cmd.Stdout, t.cmd.Stderr = in, in
	if err := t.cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("receiver.tunnel.command: %w", err)
	}
	found := make(chan string, 1)
	go func() {
		defer close(t.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if address := expression.FindString(lines.Text()); address != "" {
				select {
				case found <- address:
				default: // only the first URL counts
				}
			}
		}
		_, _ = io.Copy(io.Discard, out) // lines that are too long
	}()
	exited := make(chan error, 1)
	go func() {
		err := t.cmd.Wait()
		_ = in.Close() // so that the reader ends
		exited <- err
	}()
	limit, cancel := context.WithTimeout(ctx, tunnelLimit)
	defer cancel()
	select {
	case address := <-found:
		return t, strings.TrimRight(address, "/"), nil
	case err := <-exited:
		return nil, "", fmt.Errorf("the tunnel ended (%w) before it printed a URL that matches %s", err, pattern)
	case <-limit.Done():
		t.stop()
		return nil, "", fmt.Errorf("the tunnel printed no URL that matches %s within %s", pattern, tunnelLimit)
	}
}

// stop ends the command and its children, and waits for its output to end.
func (t *tunnel) stop() {
	endTree(t.cmd)
	<-t.done
}
