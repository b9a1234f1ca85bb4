// Package cli is the command line: its commands, their flags and their output. Programs that link additional packages
// call MainWith.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/terminal"
	"github.com/graft-ml/graft/train"
)

// Options are the optional parts that a program links into the command line.
type Options struct {
	// Connect joins the processes that train together. If nil, a process trains alone.
	Connect func() (train.Communicator, error)
	// Launched returns the rank of this process, the number of processes and how many of them are on this machine, before
	// Connect. It is nil if Connect is.
	Launched func() (rank, size, local int)
	// Runtimes are the constructors of the runtimes of --runtime, by name.
	Runtimes map[string]func(RuntimeSettings) (Runtime, error)
}

// interrupted is the exit status of a command that was ended by a signal, the one that shells report for ctrl-C.
const interrupted = 130

// Main runs the command line of the process and exits: with status 0 on success, 1 on failure, 130 after a signal.
func Main() { MainWith(Options{}) }

// MainWith is Main with the parts of o linked in.
func MainWith(o Options) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ctrl-C ends the process at once
	p := newProcess(o)
	context.AfterFunc(ctx, func() { p.hurry(ctx) })
	disk.Waiting = func(what string) { fmt.Fprintln(os.Stderr, "graft: waiting for", terminal.Escape(what)) }
	err := bySignal(ctx, p.root().ExecuteContext(ctx))
	p.end(err)
	switch {
	case err == nil, errors.Is(err, errElsewhere):
		os.Exit(0)
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		os.Exit(interrupted)
	}
	os.Exit(1)
}

// bySignal returns the error of a command that a signal ended, which says just that a context was canceled, with the name of the signal.
func bySignal(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || !strings.HasSuffix(err.Error(), context.Canceled.Error()) {
		return err
	}
	return plain{context.Cause(ctx).Error(), err}
}

// errSilent makes the command exit with status 1 after it has printed the reason.
var errSilent = errors.New("failed")
