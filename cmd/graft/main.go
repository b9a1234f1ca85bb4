// Command graft runs, trains, changes and verifies ONNX models. `graft help` lists what it can do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the exit status of a command that a signal ended, as shells have it for ctrl-C.
const interrupted = 130

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ctrl-C ends the process at once
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintln(os.Stderr, "graft:", err)
	}
	if ctx.Err() != nil {
		os.Exit(interrupted)
	}
	os.Exit(1)
}

// errSilent makes the command exit with 1 after it has said why.
var errSilent = errors.New("failed")
