// Command understudy is the stand-in server and its control client. It starts the contract
// test suite, which is a separate program.
//
//	understudy serve
//	understudy conform --target target.yaml
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the build.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := runProgram(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
