package table

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// builder adds nodes of ONNX operators by name.
type builder struct{ e *nn.Edit }

// put adds a node with one output; attributes have the types of ONNX files.
func (b builder) put(domain, name string, attrs map[string]any, in ...*nn.Value) *nn.Value {
	if b.e.Err() != nil {
		return nil
	}
	o := b.e.Ops().Find(domain, name)
	if o == nil {
		b.e.Failf("the graph's operators lack %s", name)
		return nil
	}
	c, err := o.Decode(o.Latest(), attrs)
	if err != nil {
		b.e.Fail(err)
		return nil
	}
	if n := b.e.Node(c, in...); n != nil {
		return n.Out(0)
	}
	return nil
}

func (b builder) do(name string, in ...*nn.Value) *nn.Value { return b.put("", name, nil, in...) }

func (b builder) cast(v *nn.Value, t dtype.DType) *nn.Value {
	return b.put("", "Cast", map[string]any{"to": int64(t)}, v)
}

// numbers returns a Constant node, not an initializer: statistics of the data are never trained.
func (b builder) numbers(name string, t dtype.DType, x []float64, dims ...int) *nn.Value {
	if b.e.Err() != nil {
		return nil
	}
	d, err := dtype.FromFloats(t, x, dims...)
	b.e.Fail(err)
	v := b.put("", "Constant", map[string]any{"value": d})
	if v != nil {
		b.e.RenameValue(v, b.e.New(name))
	}
	return v
}

func (b builder) scalar(name string, t dtype.DType, x float64) *nn.Value {
	return b.numbers(name, t, []float64{x})
}

// concat joins columns along axis 1.
func (b builder) concat(in ...*nn.Value) *nn.Value {
	if len(in) == 1 || b.e.Err() != nil {
		return in[0]
	}
	return b.put("", "Concat", map[string]any{"axis": int64(1)}, in...)
}
