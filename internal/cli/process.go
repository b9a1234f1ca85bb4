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

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/spf13/cobra"
)

// A process is one of those that run a command line: the only one, or one of several that train together.
type process struct {
	Options
	comm train.Communicator // nil: not connected
	say  sync.Once          // the error

	mu                sync.Mutex // of what hurry reads
	rank, size, local int        // as the launcher says, then as comm does
	dir               string     // where the checkpoints are
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

// root returns the command line. Of several processes the first alone prints.
func (p *process) root() *cobra.Command {
	root := p.commands()
	if !p.first() {
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
	}
	return root
}

// forSeveral are the commands that several processes may run. All but train do no more than print.
var forSeveral = []string{"train", "version", "help", "completion"}

// errElsewhere makes the process end well, since the first one says what is wrong.
var errElsewhere = errors.New("see the message of the first process")

// alone refuses a command that several processes would each run for themselves.
func (p *process) alone(cmd *cobra.Command) error {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	if slices.Contains(forSeveral, cmd.Name()) {
		return nil
	}
	return p.single(cmd.Name())
}

// single is the error of what one process does, where several were started.
func (p *process) single(what string) error {
	switch {
	case p.size == 1:
		return nil
	case !p.first():
		return errElsewhere
	}
	return fmt.Errorf("%s runs in one process, %d were started: only train runs in several", what, p.size)
}

// connect joins the processes. They share what a machine has: its memory, unless --memory says how much each may use, and
// its processors, unless the launcher has given each its own.
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
			nn.LimitMemory(max(1, nn.MemoryLeft()/int64(p.local)))
		}
		if os.Getenv("GOMAXPROCS") == "" && !bound() {
			runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/p.local))
		}
	}
	return nil
}

// others joins this process to the others; nil: there are none.
func (p *process) others() train.Communicator {
	if p.size == 1 {
		return nil
	}
	return p.comm
}

// bound reports whether the launcher has bound this process to processors of its own.
func bound() bool {
	allowed := func(process string) string {
		b, _ := os.ReadFile("/proc/" + process + "/status") // elsewhere there is no such file, and no binding
		for line := range bytes.Lines(b) {
			if list, ok := bytes.CutPrefix(line, []byte("Cpus_allowed_list:")); ok {
				return string(list)
			}
		}
		return ""
	}
	return allowed("self") != allowed(fmt.Sprint(os.Getppid()))
}

// end says why the command failed, and tells the other processes that this one is done.
func (p *process) end(err error) {
	var all *train.RankError // which every rank returns
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

// line returns an error as it is printed.
func (p *process) line(err error) string {
	if p.size == 1 {
		return "graft: " + err.Error()
	}
	own := fmt.Sprintf("rank %d: ", p.rank)
	return fmt.Sprintf("graft: rank %d of %d: %s", p.rank, p.size, strings.TrimPrefix(err.Error(), own))
}

// What a process of several does when a signal interrupts it: launchers that end a run give processes a second before they kill
// them, schedulers, a minute or so before the time limit.
const (
	patience = 500 * time.Millisecond // for the step under way to end, until the process says that it was interrupted
	waiting  = 50 * time.Second       // until it ends, if the step does not: another rank may not be there any more
)

// hurry says that a signal interrupted a process of several, and ends it when the other ranks do not come to the end of the step.
func (p *process) hurry(ctx context.Context) {
	time.Sleep(patience)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size == 1 {
		return
	}
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

// goesOn says how a run that was interrupted goes on.
func goesOn(dir string) string {
	return dir + " holds a checkpoint: the same command with --resume continues"
}
