//go:build !windows

package command

import (
	"fmt"
	"syscall"
)

// become replaces this process: the other program has its id, its streams and
// its signals, and its exit code is the only one.
func become(path string, args, env []string) error {
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, args, env))
}
