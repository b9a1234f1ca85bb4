// Package cli is the command line: its verbs, their flags and what they print. Commands that link something in beside
// it are a main function that calls Main.
package cli

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

// Main runs the command line of the process and ends it: with 0 when all went well, 1 when something failed, 130 when a
// signal ended it.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ctrl-C ends the process at once
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		os.Exit(0)
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
