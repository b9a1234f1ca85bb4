package mpi_test

import (
	"fmt"
	"os"

	"github.com/graft-ml/graft/mpi"
)

// A program that mpirun starts several times: each process adds its number, and all get the sum.
func Example() {
	c, err := mpi.Connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	x := []float32{float32(c.Rank())}
	if err := c.AllReduce(x); err != nil {
		c.Abort(err)
	}
	if c.Rank() == 0 {
		fmt.Println("sum of the ranks:", x[0])
	}
	if err := c.Close(); err != nil {
		c.Abort(err)
	}
}
