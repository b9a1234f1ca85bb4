//go:build linux || darwin

package mpi

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/graft-ml/graft/mpi/internal/mpitest"
)

// roleVariable names the role that a process has which a test started: a key of roles.
const roleVariable = "GRAFT_MPI_TEST_ROLE"

// roles are what the ranks of tests do. What they return is printed, and is status 3.
var roles = map[string]func(c *Comm) error{}

func TestMain(m *testing.M) {
	name := os.Getenv(roleVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	role := roles[name]
	c, err := Connect()
	if err == nil && role == nil {
		err = errors.New("no role " + name)
	}
	if err == nil {
		err = role(c)
	}
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "role:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

// start starts n ranks of this test binary in a role.
func start(t *testing.T, l mpitest.Launcher, n int, role string, variables ...string) *mpitest.Job {
	t.Helper()
	return l.Start(t, n, nil, append(variables, roleVariable+"="+role)...)
}

// succeed runs n ranks in a role, which must go well.
func succeed(t *testing.T, l mpitest.Launcher, n int, role string, variables ...string) string {
	t.Helper()
	return l.Succeed(t, n, nil, append(variables, roleVariable+"="+role)...)
}

// say prints a line in one write, so that lines of several ranks do not mix.
func say(format string, args ...any) { io.WriteString(os.Stdout, fmt.Sprintf(format+"\n", args...)) }
