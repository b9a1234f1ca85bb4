package op

import "github.com/graft-ml/graft/nn/op/trait"

// Scheduling declares what the engine may do to run an operator faster or in less memory: fuse it with
// others, reuse memory, skip or repeat computations. None of it changes results, and the zero value is
// valid for every operator.
type Scheduling struct {
	InPlace []int // inputs whose memory output 0 may take over
	View    bool  // output 0 is input 0 with another shape

	// Patterns describe the call to the rules by which several calls run as one kernel, see Set.Fusions. nil as a function or
	// as its result: the call is not fused.
	Patterns func(c *Call) []Pattern

	// Rematerialize returns how output 0 can be computed a second time instead of being stored; nil as a
	// function or as its result:
	// it cannot.
	Rematerialize func(c *Call) *Rematerialization
	// Cheap: Rematerialize by the kernel itself.
	Cheap bool

	// Rows declares that the rows of output 0 are computed independently, so that only those that are read
	// need to be computed. nil as a function or as its result: they are not.
	Rows func(c *Call) *trait.Rows

	// Bilinear reports whether no element of output 0 of a call with two inputs exceeds the product of their Euclidean norms.
	// Gradients of that form may be computed after all others are known to be finite, if NoError is set. nil: no call.
	Bilinear func(c *Call) bool
	// NoError: the kernel never returns an error or panics, whatever the numbers are. Only such kernels may run once a training
	// step has begun to change parameters.
	NoError bool
}
