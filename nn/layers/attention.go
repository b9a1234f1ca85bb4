package layers

import (
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
)

// Attention is multi-head self-attention over [batch, seq, size]. With a second input it attends to
// that one, which has the same size.
type Attention struct {
	Heads  int    // parts of the channels that attend apart from each other
	NoBias bool   // the projections have no biases
	Name   string // of its nodes and parameters; "": one is made
}

// Build adds the layer after in[0] and, if given, in[1]. in[2], if given, is added to the scores [N, heads, queries, keys]: a mask
// of 0 where attention may look and a large negative number where it may not.
func (m Attention) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	if len(in) < 1 || len(in) > 3 {
		e.Failf("takes one to three inputs, got %d", len(in))
	}
	if e.Err() != nil {
		return nil
	}
	x, _ := ranked(e, in[:1], 3)
	from, _ := ranked(e, in[min(1, len(in)-1):][:1], 3)
	size := sizeOf(e, x, 2)
	if m.Heads <= 0 || size%m.Heads != 0 {
		e.Failf("%d heads do not divide the size %d", m.Heads, size)
	}
	if e.Err() != nil {
		return nil
	}
	name := e.Label("attention", m.Name)
	per := size / m.Heads
	project := func(what string, v *nn.Value) *nn.Value {
		return e.Apply(relative{name + "." + what, Linear{Out: size, NoBias: m.NoBias, Init: initial.XavierUniform{}, BiasInit: initial.Zeros{}}}, v)
	}
	heads := func(what string, v *nn.Value, perm ...int) *nn.Value {
		y := reshape(e, name+"."+what+".heads", project(what, v), 0, 0, m.Heads, per)
		return put(e, "", "Transpose", attrs{"perm": perm}, y)
	}
	q := heads("query", x, 0, 2, 1, 3)
	k := heads("key", from, 0, 2, 3, 1)
	v := heads("value", from, 0, 2, 1, 3)
	scores := put(e, name+".scores", "MatMul", nil, q, k)
	scores = put(e, "", "Mul", nil, scores, e.Scalar(name+".scale", x, 1/math.Sqrt(float64(per))))
	if len(in) == 3 {
		scores = put(e, "", "Add", nil, scores, in[2])
	}
	weights := softmax(e, "Softmax", name+".weights", -1, []*nn.Value{scores})
	if e.Err() != nil {
		return nil
	}
	y := put(e, "", "Transpose", attrs{"perm": []int{0, 2, 1, 3}}, put(e, "", "MatMul", nil, weights[0], v))
	return []*nn.Value{project("output", reshape(e, name+".joined", y, 0, 0, size))}
}

// relative builds a Linear under a name that already has its scope in front.
type relative struct {
	name  string
	layer Linear
}

func (r relative) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	r.layer.Name = r.name
	var out []*nn.Value
	e.Scope("", func() { out = r.layer.Build(e, in...) })
	return out
}
