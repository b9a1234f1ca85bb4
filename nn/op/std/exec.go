package std

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/op"
)

// pool returns the worker pool of the run; nil: one thread.
func pool(x *op.Exec) *kernel.Pool { return (*engine.Exec)(x).Pool() }

// scratch adapts x to the scratch parameter of the functions in package kernel.
func scratch[T kernel.Float](x *op.Exec) func(n int) []T {
	return engine.Scratch[T]((*engine.Exec)(x))
}
