package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/terminal"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/spf13/cobra"
)

// A process runs the command line: on its own, or as one of several that train together.
type process struct {
	Options
	comm train.Communicator // nil: not connected
	say  sync.Once          // the error

	mu                sync.Mutex // guards the fields below, for hurry
	rank, size, local int        // from the launcher, then from comm
	finishes          bool       // after a signal the command ends by itself
	dir               string     // folder of the checkpoints
}

func newProcess(o Options) *process {
	p := &process{Options: o, size: 1, local: 1}
	if o.Connect != nil {
		p.rank, p.size, p.local = o.Launched()
	}
	return p
}

// first reports whether this process prints and writes.
func (p *process) first() bool { return p.rank == 0 }

// root returns the command line. Of several processes, only the first one prints.
func (p *process) root() *cobra.Command {
	root := p.commands()
	root.SetOut(terminal.Writer(os.Stdout))
	root.SetErr(terminal.Writer(os.Stderr))
	if !p.first() {
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
	}
	return root
}

// forSeveral are the commands that several processes may run. All except train only print.
var forSeveral = []string{"graft", "train", "version", "help", "completion"}

// errElsewhere makes the process exit with status 0, since the first one reports the error.
var errElsewhere = errors.New("see the message of the first process")

// alone returns an error if several processes were started for a command that runs in one.
func (p *process) alone(cmd *cobra.Command) error {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	if slices.Contains(forSeveral, cmd.Name()) {
		return nil
	}
	return p.single(cmd.Name())
}

// single returns the error for an action of a single process if several were started, otherwise nil.
func (p *process) single(what string) error {
	switch {
	case p.size == 1:
		return nil
	case !p.first():
		return errElsewhere
	}
	return fmt.Errorf("%s runs in one process, %d were started: only train runs in several", what, p.size)
}

// connect joins the processes. Those on one machine share its memory evenly, unless --memory is set, and its processors, unless
// the launcher has bound each process to its own.
func (p *process) connect(cmd *cobra.Command) error {
	if p.Connect == nil || p.comm != nil {
		return nil
	}
	c, err := p.Connect()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.comm, p.rank, p.size = c, c.Rank(), c.Size()
	p.mu.Unlock()
	if !p.first() {
		cmd.Root().SetOut(io.Discard)
		cmd.Root().SetErr(io.Discard)
	}
	if p.local > 1 {
		if !cmd.Flags().Changed("memory") {
			limitMemory(max(1, nn.MemoryLeft()/int64(p.local)))
		}
		if os.Getenv("GOMAXPROCS") == "" && !bound() {
			runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/p.local))
		}
	}
	return nil
}

// others returns the communicator with the other processes, nil if there are none.
func (p *process) others() train.Communicator {
	if p.size == 1 {
		return nil
	}
	return p.comm
}

// bound reports whether the launcher has bound this process to processors of its own.
func bound() bool {
	allowed := func(process string) string {
		b, _ := os.ReadFile("/proc/" + process + "/status") // systems without this file have no binding
		for line := range bytes.Lines(b) {
			if list, ok := bytes.CutPrefix(line, []byte("Cpus_allowed_list:")); ok {
				return string(list)
			}
		}
		return ""
	}
	return allowed("self") != allowed(fmt.Sprint(os.Getppid()))
}

// end prints the error of a failed command, and disconnects this process from the others.
func (p *process) end(err error) {
	var all *train.RankError // returned by every rank
	switch {
	case err != nil && p.comm != nil && p.size > 1 && !errors.As(err, &all):
		p.say.Do(func() { p.comm.Abort(plainError(err)) })
		return
	case err != nil && !errors.Is(err, errSilent) && !errors.Is(err, errElsewhere):
		p.say.Do(func() { fmt.Fprintln(os.Stderr, p.line(err)) })
	}
	if c, ok := p.comm.(io.Closer); ok {
		if e := c.Close(); err == nil && e != nil {
			fmt.Fprintln(os.Stderr, p.line(e))
			os.Exit(1)
		}
	}
}

// line returns an error in its printed form.
func (p *process) line(err error) string {
	text := terminal.Escape(terminal.Brief(err.Error()))
	if p.size == 1 {
		return "graft: " + text
	}
	own := fmt.Sprintf("rank %d: ", p.rank)
	return fmt.Sprintf("graft: rank %d of %d: %s", p.rank, p.size, strings.TrimPrefix(text, own))
}

// Time limits of an interrupted process. Launchers that end a run of several kill the processes after a second, schedulers after about a minute.
const (
	grace    = 100 * time.Millisecond // for a command that neither trains nor serves to end
	patience = 500 * time.Millisecond // for the current step of all ranks to end
	waiting  = 50 * time.Second       // then until the process exits, if the step does not end: another rank may be gone
)

// hurry ends a process that was interrupted, unless it trains or serves: what has been written is whole at any time. If it trains with others,
// hurry reports the interruption, and exits if the other ranks do not finish the step.
func (p *process) hurry(ctx context.Context) {
	time.Sleep(grace)
	if p.endAlone(ctx) {
		return
	}
	time.Sleep(patience - grace)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say.Do(func() {
		err := fmt.Errorf("%w: the ranks end after the current step", context.Cause(ctx))
		if p.first() && p.dir != "" && train.HasCheckpoint(p.dir) {
			err = fmt.Errorf("%w; %s", err, goesOn(p.dir))
		}
		fmt.Fprintln(os.Stderr, p.line(err))
	})
	time.Sleep(waiting)
	os.Exit(interrupted)
}

// endAlone exits if this is the only process and neither trains nor serves. It reports whether it is the only one.
func (p *process) endAlone(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size == 1 && p.dir == "" && !p.finishes {
		p.say.Do(func() { fmt.Fprintln(os.Stderr, p.line(context.Cause(ctx))) })
		disk.End()
		os.Exit(interrupted)
	}
	return p.size == 1
}

// finish lets the command end by itself after a signal. p may be nil.
func (p *process) finish() {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.finishes = true
	}
}

// goesOn describes how to resume an interrupted run.
func goesOn(dir string) string {
	return dir + " holds a checkpoint: the same command with --resume continues"
}
