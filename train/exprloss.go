package train

import "github.com/graft-ml/graft/nn"

// ExprLoss makes a loss from a Gorgonia function. F gets the outputs followed by the targets and returns one scalar node.
// It may use Gorgonia's own operators, and works for any batch size.
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
