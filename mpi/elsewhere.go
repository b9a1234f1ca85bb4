//go:build !linux && !darwin

package mpi

import (
	"errors"
	"runtime"

	"github.com/graft-ml/graft/train"
)

// A Comm is MPI's world communicator, which is not available on this system.
type Comm struct{ train.Communicator }

// Connect returns an error on this system.
func Connect() (*Comm, error) {
	return nil, errors.New("mpi: not supported on " + runtime.GOOS + "; Linux and macOS are")
}

// Library names the MPI library.
func (c *Comm) Library() string { return "" }

// Close ends MPI.
func (c *Comm) Close() error { return nil }
