package nn

import "math"

// Attention is multi-head self-attention over [batch, seq, size]. With a second input it attends to
// that one, which has the same size.
type Attention struct {
	Heads  int    // parts of the channels that attend apart from each other
	NoBias bool   // the projections have no biases
	Name   string // of its nodes and parameters; "": one is made
}

// Build adds the layer behind in[0] and, if given, in[1]. in[2], if given, is added to the scores [N, heads, queries, keys]: a mask
// of 0 where attention may look and a large negative number where it may not.
func (m Attention) Build(e *Edit, in ...*Value) []*Value {
	e.made()
	if len(in) < 1 || len(in) > 3 {
		e.Failf("takes one to three inputs, got %d", len(in))
	}
	if e.err != nil {
		return nil
	}
	x, _ := e.ranked(in[:1], 3)
	from, _ := e.ranked(in[min(1, len(in)-1):][:1], 3)
	size := e.size(x, 2)
	if m.Heads <= 0 || size%m.Heads != 0 {
		e.Failf("%d heads do not divide the size %d", m.Heads, size)
	}
	if e.err != nil {
		return nil
	}
	name := e.begin("attention", m.Name)
	per := size / m.Heads
	project := func(what string, v *Value) *Value {
		return e.Apply(relative{name + "." + what, Linear{Out: size, NoBias: m.NoBias, Init: XavierUniform{}, BiasInit: Zeros{}}}, v)
	}
	heads := func(what string, v *Value, perm ...int) *Value {
		y := e.reshape(name+"."+what+".heads", project(what, v), 0, 0, m.Heads, per)
		return e.put("", "Transpose", attrs{"perm": perm}, y)
	}
	q := heads("query", x, 0, 2, 1, 3)
	k := heads("key", from, 0, 2, 3, 1)
	v := heads("value", from, 0, 2, 1, 3)
	scores := e.put(name+".scores", "MatMul", nil, q, k)
	scores = e.put("", "Mul", nil, scores, e.Scalar(name+".scale", x, 1/math.Sqrt(float64(per))))
	if len(in) == 3 {
		scores = e.put("", "Add", nil, scores, in[2])
	}
	weights := e.softmax("Softmax", name+".weights", -1, []*Value{scores})
	if e.err != nil {
		return nil
	}
	y := e.put("", "Transpose", attrs{"perm": []int{0, 2, 1, 3}}, e.put("", "MatMul", nil, weights[0], v))
	return []*Value{project("output", e.reshape(name+".joined", y, 0, 0, size))}
}

// relative builds a Linear under a name that already has its scope in front.
type relative struct {
	name  string
	layer Linear
}

func (r relative) Build(e *Edit, in ...*Value) []*Value {
	old := e.scope
	e.scope = ""
	defer func() { e.scope = old }()
	r.layer.Name = r.name
	return r.layer.Build(e, in...)
}
