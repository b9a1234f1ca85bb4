// Package cli is the command line: its commands, their flags and their output. Programs that link additional packages
// call MainWith.
package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/graft-ml/graft/train"
)

// Options are what a command links in.
type Options struct {
	// Connect joins the processes that train together. Nil: a process trains alone.
	Connect func() (train.Communicator, error)
	// Launched returns the number of this process, how many there are and how many of them on this machine, before Connect.
	// Nil with Connect.
	Launched func() (rank, size, local int)
	// Runtimes make the runtimes of --runtime, by name.
	Runtimes map[string]func(RuntimeSettings) (Runtime, error)
}

// interrupted is the exit status of a command that a signal ended, as shells have it for ctrl-C.
const interrupted = 130

// Main runs the command line of the process and ends it: with 0 when all went well, 1 when something failed, 130 when a
// signal ended it.
func Main() { MainWith(Options{}) }

// MainWith is Main with something linked in.
func MainWith(o Options) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ctrl-C ends the process at once
	p := newProcess(o)
	context.AfterFunc(ctx, func() { p.hurry(ctx) })
	err := p.root().ExecuteContext(ctx)
	p.end(err)
	switch {
	case err == nil, errors.Is(err, errElsewhere):
		os.Exit(0)
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		os.Exit(interrupted)
	}
	os.Exit(1)
}

// errSilent makes the command exit with 1 after it has said why.
var errSilent = errors.New("failed")
