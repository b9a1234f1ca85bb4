//go:build linux || darwin

// Package mpitest starts ranks for tests: the test binary itself, under the launcher of each MPI that Debian has.
package mpitest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/oracle"
)

// A Launcher is one of the MPI implementations that tests run on.
type Launcher struct {
	Name    string
	Command []string
	Library string // which it goes with
	Package string // of Debian
}

// Launchers are Debian's.
var Launchers = []Launcher{
	{"openmpi", []string{"mpirun.openmpi", "--oversubscribe", "--allow-run-as-root"}, "Open MPI", "openmpi-bin"},
	{"mpich", []string{"mpiexec.hydra"}, "MPICH", "mpich"},
}

// Need skips the test where a program is missing, or fails it where oracles are required.
func Need(t testing.TB, program, install string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if oracle.Required() {
		t.Fatalf("required: %s is missing: apt-get install %s", program, install)
	}
	t.Skipf("%s is missing: apt-get install %s", program, install)
}

// Each runs a test with each implementation and the given numbers of ranks.
func Each(t *testing.T, ranks []int, test func(t *testing.T, l Launcher, n int)) {
	for _, l := range Launchers {
		for _, n := range ranks {
			t.Run(fmt.Sprintf("%s-%d", l.Name, n), func(t *testing.T) {
				Need(t, l.Command[0], l.Package)
				test(t, l, n)
			})
		}
	}
}

// Limit is how long the processes of one test may take; longer ones are considered hanging.
const Limit = time.Minute

// A Run is a job that a test started.
type Run struct {
	Out    string // standard output and error of all ranks, and of the launcher
	Status int
}

// Start starts n ranks of this test binary with arguments. Each variable is NAME=value.
func (l Launcher) Start(t *testing.T, n int, args []string, variables ...string) *Job {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return l.StartEach(t, [][]string{append([]string{"-n", strconv.Itoa(n), binary}, args...)}, variables...)
}

// StartEach starts the given parts of the launcher's command line, each with its own number of ranks and program.
func (l Launcher) StartEach(t *testing.T, parts [][]string, variables ...string) *Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	all := append([]string{}, l.Command[1:]...)
	for i, part := range parts {
		if i > 0 {
			all = append(all, ":")
		}
		all = append(all, part...)
	}
	cmd := exec.CommandContext(ctx, l.Command[0], all...)
	cmd.Env = append(os.Environ(), variables...)
	cmd.WaitDelay = 5 * time.Second
	j := &Job{cmd: cmd, ctx: ctx, cancel: cancel, lines: make(chan struct{}, 1)}
	cmd.Stdout, cmd.Stderr = j, j
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	return j
}

// A Job is a running launcher.
type Job struct {
	cmd    *exec.Cmd
	ctx    context.Context
	cancel func()

	mu    sync.Mutex
	out   strings.Builder
	lines chan struct{} // has something when more has been written
}

// Write takes the output of all ranks and of the launcher.
func (j *Job) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case j.lines <- struct{}{}:
	default:
	}
	return j.out.Write(b)
}

// Output returns what has been written so far.
func (j *Job) Output() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.String()
}

// Await returns when the output has a text n times.
func (j *Job) Await(t *testing.T, text string, n int) {
	t.Helper()
	for strings.Count(j.Output(), text) < n {
		select {
		case <-j.lines:
		case <-j.ctx.Done():
			t.Fatalf("%q did not come %d times:\n%s", text, n, j.Output())
		}
	}
}

// Interrupt is ctrl-C in the launcher's terminal.
func (j *Job) Interrupt() { j.cmd.Process.Signal(os.Interrupt) }

// Wait waits for all to end. A job that takes longer than Limit hangs, and fails the test.
func (j *Job) Wait(t *testing.T) Run {
	t.Helper()
	defer j.cancel()
	j.cmd.Wait() // its error is the status, and more
	if j.ctx.Err() != nil {
		t.Fatalf("%s did not end within %v:\n%s", strings.Join(j.cmd.Args, " "), Limit, j.Output())
	}
	return Run{j.Output(), j.cmd.ProcessState.ExitCode()}
}

// Succeed runs n ranks, which must go well, and returns their output.
func (l Launcher) Succeed(t *testing.T, n int, args []string, variables ...string) string {
	t.Helper()
	r := l.Start(t, n, args, variables...).Wait(t)
	if r.Status != 0 {
		t.Fatalf("status %d:\n%s", r.Status, r.Out)
	}
	return r.Out
}
