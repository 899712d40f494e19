//go:build !windows

package command

import (
	"fmt"
	"syscall"
)

// become replaces this process by another program, which keeps the process id, the streams
// and the signals. It returns only when that fails.
func become(path string, args, env []string) error {
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, args, env))
}
