package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// callerVersion is the variable with which a program tells the one that it starts
// its own version.
const callerVersion = "UNDERSTUDY_CALLER_VERSION"

// Sibling finds another program of this repository: beside this one, links
// resolved, else on the PATH.
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

// HandOver replaces this process by another program, with the same streams. What
// it returns is an error of the start, or, where processes cannot be replaced,
// the exit code.
func HandOver(name, version string, args []string) error {
	path, err := Sibling(name)
	if err != nil {
		return err
	}
	return become(path, append([]string{path}, args...), append(os.Environ(), callerVersion+"="+version))
}

// OtherVersion is the line that warns of two programs of different versions; "":
// they are of one.
func OtherVersion(version, sibling, other string) string {
	if version == other {
		return ""
	}
	return fmt.Sprintf("understudy: WARNING: understudy is version %s, but %s is version %s: install both from one release", version, sibling, other)
}

// Caller is the version of the program that has handed over; "": a user started
// this one.
func Caller() string { return os.Getenv(callerVersion) }
