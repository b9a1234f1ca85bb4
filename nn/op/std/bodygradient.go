package std

import (
	"errors"

	"github.com/graft-ml/graft/nn/op"
)

// BodyGradient describes the gradient of an If, Loop or Scan to code that writes it as operators that files can hold. The
// inputs of the gradient are those of the operator, followed by the gradients of its outputs. It returns the gradients of
// those inputs from First on for which Asked is true.
type BodyGradient struct {
	Bodies   []op.Subgraph               // the subgraphs
	First    int                         // first input with a gradient
	Inputs   int                         // of the operator
	Captured []int                       // position of the first captured value of each body
	Train    bool                        // see op.Scope
	Random   bool                        // a subgraph draws random numbers
	Asked    func(t op.Type, i int) bool // whether the gradient of input i, of type t, is needed

	Branches bool   // the operator runs one of two bodies
	States   int    // number of values that are passed from one iteration to the next
	FirstIn  int    // position of the first of them among the inputs of the operator
	Scanned  int    // number of inputs after them of which a body gets slices
	InAxis   []int  // axes along which Scan slices its inputs
	OutAxis  []int  // axes along which it stacks its outputs
	InBack   []bool // inputs read from the last slice to the first
	OutBack  []bool // outputs written from the last slice to the first
}

// BodyGradientOf describes a call of the gradient operator of an If, Loop or Scan. ok is false for other calls.
func BodyGradientOf(c *op.Call) (b BodyGradient, ok bool, err error) {
	if c == nil {
		return b, false, nil
	}
	asked := func(f bodyFlags) func(t op.Type, i int) bool {
		return func(t op.Type, i int) bool { return op.Differentiable(t) && !f.apart(i) }
	}
	switch cfg := c.Config.(type) {
	case ifGradConfig:
		then := len(cfg.If.Then.Captured())
		return BodyGradient{
			Bodies: []op.Subgraph{cfg.If.Then, cfg.If.Else}, First: 1, Inputs: 1 + cfg.Captured, Captured: []int{1, 1 + then},
			Train: cfg.Train, Random: cfg.Keyed, Asked: asked(cfg.Flags), Branches: true,
		}, true, nil
	case loopGradConfig:
		n := cfg.Loop.Body.Inputs() - 2
		scans := cfg.Outputs - n
		return BodyGradient{
			Bodies: []op.Subgraph{cfg.Loop.Body}, First: 2, Inputs: cfg.Inputs, Captured: []int{2 + n}, Train: cfg.Train, Random: cfg.Keyed,
			Asked: asked(cfg.Flags), States: n, FirstIn: 2, OutAxis: make([]int, scans), OutBack: make([]bool, scans),
		}, true, nil
	case scanGradConfig:
		forward := *c
		forward.Config, forward.In, forward.Outputs, forward.Version = cfg.Scan, c.In[:cfg.Inputs], cfg.Outputs, cfg.Version
		s, err := scanningOf(&forward)
		if err == nil && s.batch {
			err = errors.New("version 8 of Scan has a batch axis")
		}
		if err != nil {
			return b, true, err
		}
		return BodyGradient{
			Bodies: []op.Subgraph{s.body}, Inputs: cfg.Inputs, Captured: []int{s.states + s.scanned}, Train: cfg.Train, Random: cfg.Keyed,
			Asked: asked(cfg.Flags), States: s.states, Scanned: s.scanned, InAxis: s.inAxis, OutAxis: s.outAxis, InBack: s.inBack, OutBack: s.outBack,
		}, true, nil
	}
	return b, false, nil
}
