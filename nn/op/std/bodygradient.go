package std

import (
	"errors"

	"github.com/graft-ml/graft/nn/op"
)

// BodyGradient is the gradient of If, Loop or Scan as those see it who write it out in operators of files. The inputs of the
// gradient are those of the operator, then the gradients of its outputs; it gives those of its inputs from First on that
// Asked holds for.
type BodyGradient struct {
	Bodies   []op.Body // the subgraphs
	First    int
	Inputs   int   // of the operator
	Captured []int // where the values that each body captures begin
	Train    bool  // see op.Scope
	Random   bool  // a subgraph draws random numbers
	Asked    func(t op.Type, i int) bool

	Branches bool   // the operator takes one of two bodies
	States   int    // values that a body carries
	FirstIn  int    // the first of them among the inputs of the operator
	Scanned  int    // inputs after them that a body gets slice by slice
	InAxis   []int  // axes along which Scan cuts its inputs
	OutAxis  []int  // axes along which it joins its outputs
	InBack   []bool // inputs that are read from the end
	OutBack  []bool // outputs that are written from the end
}

// BodyGradientOf describes a call of a gradient operator of If, Loop or Scan. ok: it is one.
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
			Bodies: []op.Body{cfg.If.Then, cfg.If.Else}, First: 1, Inputs: 1 + cfg.Captured, Captured: []int{1, 1 + then},
			Train: cfg.Train, Random: cfg.Keyed, Asked: asked(cfg.Flags), Branches: true,
		}, true, nil
	case loopGradConfig:
		n := cfg.Loop.Body.Inputs() - 2
		scans := cfg.Outputs - n
		return BodyGradient{
			Bodies: []op.Body{cfg.Loop.Body}, First: 2, Inputs: cfg.Inputs, Captured: []int{2 + n}, Train: cfg.Train, Random: cfg.Keyed,
			Asked: asked(cfg.Flags), States: n, FirstIn: 2, OutAxis: make([]int, scans), OutBack: make([]bool, scans),
		}, true, nil
	case scanGradConfig:
		forward := *c
		forward.Config, forward.In, forward.Outputs, forward.Version = cfg.Scan, c.In[:cfg.Inputs], cfg.Outputs, cfg.Version
		s, err := scanningOf(&forward)
		if err == nil && s.batch {
			err = errors.New("version 8 has a batch of its own")
		}
		if err != nil {
			return b, true, err
		}
		return BodyGradient{
			Bodies: []op.Body{s.body}, Inputs: cfg.Inputs, Captured: []int{s.states + s.scanned}, Train: cfg.Train, Random: cfg.Keyed,
			Asked: asked(cfg.Flags), States: s.states, Scanned: s.scanned, InAxis: s.inAxis, OutAxis: s.outAxis, InBack: s.inBack, OutBack: s.outBack,
		}, true, nil
	}
	return b, false, nil
}
