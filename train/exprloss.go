package train

import "github.com/graft-ml/graft/nn"

// ExprLoss makes a loss of a Gorgonia function, which gets the outputs followed by the targets and returns one scalar
// node. Gorgonia's own operators and any batch size can be used.
type ExprLoss struct{ F nn.Expr }

// Build implements Loss.
func (l ExprLoss) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	if l.F == nil {
		e.Failf("ExprLoss has no function")
		return nil
	}
	list := e.Expr(l.F, append(append([]*nn.Value{}, out...), want...)...)
	if e.Err() != nil {
		return nil
	}
	if len(list) != 1 {
		e.Failf("ExprLoss: the function returns %d nodes: want one, the loss", len(list))
		return nil
	}
	return list[0]
}
