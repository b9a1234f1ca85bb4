package engine

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Op is a gorgonia.Op that the engine runs itself instead of through Op.Do. Nodes whose Ops share a Core and have the
// same children are siblings: one call computes all of them.
type Op interface {
	gorgonia.Op
	Core() *Core
	Output() int // which output of the Core this node is
}

// Core is the computation of one node, or of the sibling nodes of an operator with several outputs. It has no state:
// buffers belong to the Program that runs it.
//
// Exactly one of Kernel and Func is set. Kernel fills outputs that the caller has allocated; Func returns new values, and
// is for what has no flat storage (strings, sequences). It may keep its arguments: the engine passes copies of what is in
// its own memory.
type Core struct {
	Name   string // for errors and traces: "Conv conv1"
	Out    []Spec // one per output; the shapes are not changed once the Core is in use
	Kernel Kernel
	Func   func(x *Exec, in []gorgonia.Value) ([]gorgonia.Value, error)

	// Slots places the node's children: child k is input Slots[k] of the kernel, inputs that no
	// child fills are nil. Nil means child k is input k.
	Slots  []int
	Inputs int // number of kernel inputs; 0 means the number of children

	// InPlace lists the inputs whose memory output 0 may take over when nothing else reads them
	// and dtype and size agree, in order of preference. The kernel must be right when out[0] and
	// that input are one; no other operand is then in that memory.
	InPlace []int
	// View says that output 0 holds exactly the elements of input 0 in the same order (Reshape):
	// the engine may give both one memory and skip the kernel.
	View bool
	// Key, if not "", identifies the computation: two Cores with equal keys and the same children
	// are computed once. It spells out every attribute that matters. The key "sum" is taken by the
	// plain sum of the inputs, which the engine may compute itself if their shapes are equal.
	Key string

	// Rematerialize says how output 0 is computed a second time, if that costs little.
	Rematerialize *Rematerialization

	// Bilinear says that there are two inputs and no element of output 0 is larger than the product of their
	// Euclidean norms: a product of matrices, a gradient with respect to the weights of a convolution. The kernel does
	// not fail.
	Bilinear bool

	// Patterns describe the computation to those that may run as one with it. The engine does not look at them.
	Patterns []Pattern
	// Fuse is asked where output 0 of a core is read by another alone and nobody else wants it. It returns a core
	// that computes both, of which the engine fills in Name, Out and Inputs, or nil. The inputs of that core are
	// those of Self, then those of Next without the slot; its outputs those of Next, then those of Self without
	// the first. nil: the core is never the first of two.
	Fuse func(m Meeting) *Core
	// KeepsSides says of a core that Fuse returned that it also computes the other outputs of Self; else it serves
	// only where nobody wants them.
	KeepsSides bool
}

// Pattern describes what a core computes, so that it can be fused with others.
type Pattern interface{ PatternName() string }

// Meeting is a pair of cores that may be fused: input Slot of Next is output 0 of Self.
type Meeting struct {
	Self, Next *Core
	Slot       int
	Sides      bool // somebody wants other outputs of Next than the first
	Last       bool // all cores have been asked without it before
}

// Addition is the pattern of a sum, by one of Gorgonia's own operators, of two tensors of the same type and shape as the
// result.
type Addition struct{ DType tensor.Dtype }

// PatternName is "addition".
func (Addition) PatternName() string { return "addition" }

// Reshaping is the pattern of a core whose output 0 is input 0 with another shape.
type Reshaping struct{ DType tensor.Dtype }

// PatternName is "reshaping".
func (Reshaping) PatternName() string { return "reshaping" }

// Rematerialization computes output 0 of a core again, with identical results: if it is read both early and late in a
// program, it need not be kept in memory in between, see Options.Lean.
type Rematerialization struct {
	Kernel Kernel // of the inputs of the core and, after them, the outputs in Needs
	Needs  []int
	Spares []int // inputs of the core that it does not read: they are nil
}

// Spec is the element type and the concrete shape of one output.
type Spec struct {
	DType tensor.Dtype
	Shape tensor.Shape // nil or empty: rank 0
}

// Kernel computes out from in. All tensors are contiguous and row-major; rank 0 is a tensor
// of shape (). An absent optional input is nil, an output nobody uses is nil.
// Kernels must not keep references to their arguments or return them, and leave inputs as they are but
// for what Core.InPlace and Exec.MayOverwrite allow.
type Kernel func(x *Exec, out, in []*tensor.Dense) error
