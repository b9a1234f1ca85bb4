package train

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// lossBuilder adds operators in their newest version; the edit converts them to the graph's opset.
type lossBuilder struct{ e *nn.Edit }

// node adds a standard operator; attributes have the types of ONNX files.
func (p lossBuilder) node(name string, attrs map[string]any, in ...*nn.Value) *nn.Value {
	if p.e.Err() != nil {
		return nil
	}
	o := p.e.Ops().Find("", name)
	if o == nil {
		p.e.Failf("the graph's operators lack %s", name)
		return nil
	}
	c, err := o.Decode(o.Latest(), attrs)
	if err != nil {
		p.e.Fail(err)
		return nil
	}
	return p.e.Node(c, in...).Out(0)
}

// do adds an operator without attributes.
func (p lossBuilder) do(name string, in ...*nn.Value) *nn.Value { return p.node(name, nil, in...) }

func (p lossBuilder) cast(v *nn.Value, t op.DType) *nn.Value {
	return p.node("Cast", map[string]any{"to": int64(t)}, v)
}

// times returns v·x.
func (p lossBuilder) times(v *nn.Value, x float64) *nn.Value {
	if x == 1 || p.e.Err() != nil {
		return v
	}
	return p.do("Mul", v, p.e.Scalar("factor", v, x))
}

func (p lossBuilder) unsqueeze(v *nn.Value, axis int) *nn.Value {
	return p.do("Unsqueeze", v, p.e.Ints("axes", axis))
}

func (p lossBuilder) squeeze(v *nn.Value, axis int) *nn.Value {
	return p.do("Squeeze", v, p.e.Ints("axes", axis))
}

// reduce returns the sum or the mean over all axes, of rank 0.
func (p lossBuilder) reduce(v *nn.Value, sum bool) *nn.Value {
	name := "ReduceMean"
	if sum {
		name = "ReduceSum"
	}
	if p.e.Err() == nil && v.Type().Rank() == 0 {
		return v
	}
	return p.node(name, map[string]any{"keepdims": int64(0)}, v)
}

// last moves axis 1 of v to the end.
func (p lossBuilder) last(v *nn.Value) *nn.Value {
	if p.e.Err() != nil {
		return nil
	}
	rank := v.Type().Rank()
	if rank <= 2 {
		return v
	}
	perm := []int64{0}
	for i := 2; i < rank; i++ {
		perm = append(perm, int64(i))
	}
	return p.node("Transpose", map[string]any{"perm": append(perm, 1)}, v)
}

// front moves an axis of v to axis 1.
func (p lossBuilder) front(v *nn.Value, axis int) *nn.Value {
	if p.e.Err() != nil || axis == 1 {
		return v
	}
	perm := []int64{0, int64(axis)}
	for i := 1; i < v.Type().Rank(); i++ {
		if i != axis {
			perm = append(perm, int64(i))
		}
	}
	return p.node("Transpose", map[string]any{"perm": perm}, v)
}

// vector returns a constant of rank 1 with the element type of like.
func (p lossBuilder) vector(name string, like *nn.Value, x []float64) *nn.Value {
	if p.e.Err() != nil {
		return nil
	}
	d, err := dtype.FromFloats(like.Type().DType, x, len(x))
	p.e.Fail(err)
	return p.e.Const(name, d)
}

// scalar returns a constant integer of rank 0 with the element type of like.
func (p lossBuilder) scalar(name string, like *nn.Value, x int) *nn.Value {
	if p.e.Err() != nil {
		return nil
	}
	d, err := dtype.FromInts(like.Type().DType, []int{x})
	p.e.Fail(err)
	return p.e.Const(name, d)
}
