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
	Output() int // index of the output of the Core that this node is
}

// Core is the computation of one node, or of the sibling nodes of an operator with several outputs. It has no state:
// buffers belong to the Program that runs it.
//
// Exactly one of Kernel and Func is set. Kernel fills outputs that the caller has allocated; Func returns new values,
// and is for types without flat storage (strings, sequences). It may keep its arguments: the engine passes copies of
// values in its own memory.
type Core struct {
	Name   string // for errors and traces: "Conv conv1"
	Out    []Spec // one per output; the shapes are not changed once the Core is in use
	Kernel Kernel
	Func   func(x *Exec, in []gorgonia.Value) ([]gorgonia.Value, error)

	// Slots maps the node's children to inputs: child k is input Slots[k] of the kernel; inputs without a child are
	// nil. If Slots is nil, child k is input k.
	Slots  []int
	Inputs int // number of kernel inputs; 0 means the number of children

	// InPlace lists, in order of preference, the inputs whose memory output 0 may reuse if nothing else reads them
	// and dtype and size agree. The kernel must be correct if out[0] and that input share memory; no other operand is
	// then in that memory.
	InPlace []int
	// View means that output 0 holds exactly the elements of input 0 in the same order (Reshape): the engine may let
	// both share memory and skip the kernel.
	View bool
	// Key, if not "", identifies the computation: two Cores with equal keys and the same children are computed once.
	// It contains every attribute that affects the result. The key "sum" is reserved for the plain sum of the inputs,
	// which the engine may compute itself if their shapes are equal.
	Key string

	// Rematerialize computes output 0 a second time; nil if that is expensive.
	Rematerialize *Rematerialization

	// Bilinear means that there are two inputs and no element of output 0 is larger than the product of their
	// Euclidean norms: a product of matrices, or a gradient with respect to the weights of a convolution. The kernel
	// cannot fail.
	Bilinear bool

	// Patterns describe the computation to cores that may be fused with it. The engine does not interpret them.
	Patterns []Pattern
	// Fuse is called if output 0 of a core has a single reader and is not requested. It returns a core that computes
	// both, for which the engine sets Name, Out and Inputs, or nil. The inputs of that core are those of Self, then
	// those of Next without the slot; its outputs are those of Next, then those of Self without the first. nil: the
	// core is never the first of two.
	Fuse func(m Meeting) *Core
	// KeepsSides: a core that Fuse returned also computes the other outputs of Self; otherwise it can only be used if
	// these are not read.
	KeepsSides bool
}

// Pattern describes what a core computes, so that it can be fused with others.
type Pattern interface{ PatternName() string }

// Meeting is a pair of cores that may be fused: input Slot of Next is output 0 of Self.
type Meeting struct {
	Self, Next *Core
	Slot       int
	Sides      bool // other outputs of Next than the first are read
	Last       bool // all cores have been tried without it before
}

// Addition is the pattern of a sum computed by Gorgonia's Add, of two tensors of the same type and shape as the
// result.
type Addition struct{ DType tensor.Dtype }

// PatternName is "addition".
func (Addition) PatternName() string { return "addition" }

// Reshaping is the pattern of a core whose output 0 is input 0 with another shape.
type Reshaping struct{ DType tensor.Dtype }

// PatternName is "reshaping".
func (Reshaping) PatternName() string { return "reshaping" }

// Rematerialization computes output 0 of a core again, with identical results: a value that is read both early and
// late in a program then need not be kept in memory in between, see Options.Lean.
type Rematerialization struct {
	Kernel Kernel // reads the inputs of the core, followed by the outputs in Needs
	Needs  []int
	Spares []int // inputs of the core that it does not read: they are nil
}

// Spec is the element type and the concrete shape of one output.
type Spec struct {
	DType tensor.Dtype
	Shape tensor.Shape // nil or empty: rank 0
}

// Kernel computes out from in. All tensors are contiguous and row-major; a tensor of rank 0 has shape (). Absent
// optional inputs and unused outputs are nil. Kernels must not keep references to their arguments or return them, and
// must not change inputs except as Core.InPlace and Exec.MayOverwrite allow.
type Kernel func(x *Exec, out, in []*tensor.Dense) error
