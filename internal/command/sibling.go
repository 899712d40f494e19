package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// callerVersion is the environment variable in which a program passes its version to the
// program that it starts.
const callerVersion = "UNDERSTUDY_CALLER_VERSION"

// Sibling finds another program of this repository: in the folder of this one, with symbolic
// links resolved, otherwise on the PATH.
func Sibling(name string) (string, error) {
	file := name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	folder := ""
	if own, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(own); err == nil {
			own = resolved
		}
		folder = filepath.Dir(own)
		if found, err := exec.LookPath(filepath.Join(folder, file)); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", Usage("%s not found in %s or on the PATH: install it from the release of this understudy, or build both with `make build`", name, folder)
	}
	return found, nil
}

// HandOver replaces this process by another program, with the same streams. It returns an
// error when the start fails. Where processes cannot be replaced, it returns after the end of
// the program, with its exit code.
func HandOver(name, version string, args []string) error {
	path, err := Sibling(name)
	if err != nil {
		return err
	}
	return become(path, append([]string{path}, args...), append(os.Environ(), callerVersion+"="+version))
}

// OtherVersion is a warning that two programs have different versions, "" when they have the
// same.
func OtherVersion(version, sibling, other string) string {
	if version == other {
		return ""
	}
	return fmt.Sprintf("understudy: WARNING: understudy is version %s, but %s is version %s: install both from one release", version, sibling, other)
}

// Caller is the version of the program that has started this one with HandOver, "" when a
// user has started it.
func Caller() string { return os.Getenv(callerVersion) }
