// Command graft-mpi is graft with MPI linked in: started by mpirun, several processes train together.
//
//	mpirun -n 2 graft-mpi train digits.onnx --data digits/ -o trained.onnx
package main

import (
	"github.com/graft-ml/graft/internal/cli"
	"github.com/graft-ml/graft/mpi"
	"github.com/graft-ml/graft/train"
)

func main() {
	cli.MainWith(cli.Options{
		Connect: func() (train.Communicator, error) {
			c, err := mpi.Connect()
			if err != nil {
				return nil, err // not a nil *mpi.Comm, which is not a nil Communicator
			}
			return c, nil
		},
		Launched: mpi.Launched,
	})
}
