package op

import (
	"github.com/graft-ml/graft/internal/kernel"
	"gorgonia.org/gorgonia"
)

// DiffWRT reports for which children SymDiff returns a gradient: those of floating-point type in slots for
// data or weights, if this output has a gradient. CheckGradients reports what this omits silently. Gorgonia calls it for
// every node before it differentiates one, and takes no error: if the context of a lowering has ended, it panics with
// kernel.Stopped, which the lowering and Backpropagate recover.
func (o *expr) DiffWRT(n int) []bool {
	c := o.call
	if c.ended() != nil {
		panic(kernel.Stopped{})
	}
	if w := o.within; w != nil && w.at == o {
		return w.passed
	}
	d := make([]bool, n)
	if c.Op.Grad == nil || o.index >= c.Outputs || !Differentiable(c.Out[o.index]) {
		return d
	}
	formal := c.Op.In.List()
	for k, slot := range o.slots {
		if slot >= len(c.In) {
			continue
		}
		s, _ := At(formal, slot)
		d[k] = Differentiable(c.In[slot]) && !c.withoutGradient(s.Role)
	}
	return d
}

// withoutGradient reports whether inputs with this role have no gradient; State has one unless a
// training step replaces it.
func (c *Call) withoutGradient(r InputRole) bool {
	return r == Shape || r == given || r == fixed || r == State && c.replacesState()
}

// replacesState reports whether a training step replaces the state by what the call computes.
func (c *Call) replacesState() bool { return c.Op.State != nil && len(c.Op.State(c)) > 0 }

// Differentiable reports whether values of type t have gradients: tensors of floating-point numbers do.
func Differentiable(t Type) bool { return t.Kind == Tensor && t.DType.IsFloat() }

// holdsFloats reports whether values of type t are floating-point tensors or containers of such, which results can depend on with a derivative.
func holdsFloats(t Type) bool {
	return Differentiable(t) || t.Kind != Tensor && t.Elem != nil && holdsFloats(*t.Elem)
}

// SymDiff returns the gradient with respect to each child. Within Backpropagate, that collects them instead.
func (o *expr) SymDiff(_ gorgonia.Nodes, _, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	if err := o.call.ended(); err != nil {
		return nil, err
	}
	if o.within != nil {
		return o.within.symDiff(o, grad)
	}
	dout := make(gorgonia.Nodes, o.call.Outputs)
	dout[o.index] = grad
	grads, err := o.gradient(dout)
	if err != nil {
		return nil, err
	}
	wrt := o.DiffWRT(len(o.kids))
	list := make(gorgonia.Nodes, len(o.kids))
	for k, slot := range o.slots {
		if !wrt[k] {
			continue
		}
		if list[k], err = o.orZeros(grads, slot); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// several reports whether another output than this one has a gradient, too.
func (o *expr) several() bool {
	for i, t := range o.call.Out[:min(o.call.Outputs, len(o.call.Out))] {
		if i != o.index && o.call.Wants(i) && Differentiable(t) {
			return true
		}
	}
	return false
}

// gradient calls the operator's Grad with nodes by formal position.
func (e *emission) gradient(dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	out := make(gorgonia.Nodes, len(e.call.Out))
	for i := range out {
		if i < e.call.Outputs && !e.call.Wants(i) || !e.call.Out[i].Present() {
			continue
		}
		var err error
		if out[i], err = e.node(i); err != nil {
			return nil, err
		}
	}
	in := append(append(gorgonia.Nodes(nil), e.in...), e.extra...)
	call := *e.call
	call.maybe = e.within != nil
	grads, err := call.Op.Grad(&call, in, out, dout)
	if err != nil {
		return nil, &Error{Stage: "gradient", Op: e.call.Op.Name, Node: e.call.node(), Err: err}
	}
	grads = append(grads, make(gorgonia.Nodes, max(len(e.in)-len(grads), 0))...)
	for i, d := range grads[:len(e.in)] {
		if d != nil && e.in[i] != nil && !d.Shape().Eq(e.in[i].Shape()) {
			return nil, &Error{Stage: "gradient", Op: e.call.Op.Name, Node: e.call.node(), Input: e.call.InputName(i), Want: e.in[i].Shape(), Got: d.Shape()}
		}
	}
	return grads, nil
}
