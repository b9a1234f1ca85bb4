package std

import (
	"slices"
	"strconv"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

// ReshapeConfig has the attributes of Reshape. Before version 5 the target is an attribute, later
// the second input. In the target, 0 copies a dimension (unless AllowZero) and −1 is the remaining size.
type ReshapeConfig struct {
	Shape          []int `onnx:"shape,until=4"`
	ConsumedInputs []int `onnx:"consumed_inputs,until=4"` // of no effect
	AllowZero      bool  `onnx:"allowzero,since=14"`      // a 0 in the target is a length of 0
}

// Operator makes ReshapeConfig a Config.
func (ReshapeConfig) Operator() op.Name { return op.Name{Name: "Reshape"} }

func reshape() *op.Op {
	return &op.Op{
		Name: "Reshape", Since: []int{1, 5, 13, 14, 19, 21, 23, 24, 25}, Versions: reshapeVersions(),
		Doc: "Gives a tensor another shape with the same elements.",
		In:  "data T, shape? int64 shape", Out: "reshaped T",
		Attrs: ReshapeConfig{},
		Infer: inferReshape, Dims: sameElements, Scheduling: op.Scheduling{View: true}, Kernel: op.CopyKernel, Strings: moveStrings,
		Grad: reshapeGrad, Couple: coupleResplit,
		Traits: opening(resizing(moved(trait.MovedInOrder), 1, resizeTarget), openTarget, nil),
	}
}

func inferReshape(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(ReshapeConfig)
	unknown := []op.Type{{DType: c.In[0].DType, Unranked: true}}
	target := op.Dims(cfg.Shape...)
	if c.Has(1) {
		var err error
		if target, err = c.Dims(1); err != nil {
			if r := c.In[1]; r.Rank() == 1 && r.Shape[0].Known() && r.Shape[0].Size < 64 {
				unknown[0] = c.In[0].With(anyDims(r.Shape[0].Size)...)
			}
			return unknown, err
		}
	} else if cfg.Shape == nil && c.Version >= 5 {
		return nil, c.Mismatch(1, "a value", "nothing")
	}
	if c.In[0].Unranked {
		shape := append([]op.Dim(nil), target...)
		for i, d := range shape {
			if d.Sym == "" && (d.Size < 0 || d.Size == 0 && !cfg.AllowZero) {
				shape[i] = op.Unknown()
			}
		}
		return []op.Type{c.In[0].With(shape...)}, nil
	}
	shape, err := reshapeDims(c, target, cfg.AllowZero)
	return []op.Type{c.In[0].With(shape...)}, err
}

// anyDims returns a shape of which only the rank is known.
func anyDims(rank int) []op.Dim {
	d := make([]op.Dim, rank)
	for i := range d {
		d[i] = op.Unknown()
	}
	return d
}

// reshapeDims resolves 0 and −1. Copied dimensions cancel out in the size for −1.
func reshapeDims(c *op.Call, target []op.Dim, allowZero bool) ([]op.Dim, error) {
	from := c.In[0].Shape
	shape := append([]op.Dim(nil), target...)
	rest, left, open := op.D(1), op.D(1), -1
	copied := make([]bool, len(from))
	for i, d := range target {
		switch {
		case d.Sym == "" && d.Size == 0 && !allowZero:
			if i >= len(from) {
				return nil, c.Errorf("target %v has a 0 at position %d, but the input is %v", dimStrings(target), i, c.In[0])
			}
			shape[i], copied[i] = from[i], true
		case d.Sym == "" && d.Size == -1:
			if open >= 0 {
				if len(c.Known) > 1 && c.Known[1].Value == nil && c.Has(1) {
					return anyDims(len(target)), &op.NeedError{Input: 1, Name: c.InputName(1)}
				}
				return nil, c.Errorf("target %v has more than one -1", dimStrings(target))
			}
			open = i
		case d.Sym == "" && d.Size < -1:
			return nil, c.Errorf("target %v has a negative dimension", dimStrings(target))
		default:
			rest = rest.Mul(d)
		}
	}
	for i, d := range from {
		if !copied[i] {
			left = left.Mul(d)
		}
	}
	if open < 0 {
		if left.Differ(rest) && op.Product(from).Differ(op.Product(shape)) {
			return nil, c.Errorf("cannot make %v of %v: the numbers of elements differ", dimStrings(target), c.In[0].Concrete())
		}
		return shape, nil
	}
	if left.Known() && rest.Known() && (rest.Size == 0 && left.Size != 0 || rest.Size > 0 && left.Size%rest.Size != 0) {
		return nil, c.Errorf("cannot make %v of %v: no length fits -1", dimStrings(target), c.In[0].Concrete())
	}
	if shape[open] = left.Div(rest); rest.Size == 0 && rest.Sym == "" {
		shape[open] = op.D(0)
	}
	return shape, nil
}

func dimStrings(d []op.Dim) []string {
	s := make([]string, len(d))
	for i, x := range d {
		if s[i] = x.String(); x.Sym == "" {
			s[i] = strconv.Itoa(x.Size)
		}
	}
	return s
}

// sameElements is Dims for operators that change nothing but the shape.
func sameElements(c *op.Call) []op.Known {
	if !c.In[0].DType.IsInteger() || len(c.Out) > 0 && (c.Out[0].Unranked || len(c.Out[0].Shape) > 1) {
		return nil
	}
	d, err := c.Dims(0)
	if err != nil {
		return nil
	}
	return []op.Known{{Dims: d, Exact: c.Exact(0, d)}}
}

// reshapeGrad serves every operator that only changes the shape of input 0.
func reshapeGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	d, err := c.ReshapeTo(dout[0], c.In[0].Shape...)
	return gorgonia.Nodes{d}, err
}

// coupleResplit couples all axes of input and output, which hold the same elements in row-major order.
func coupleResplit(c *op.Call) []coupling.Coupling {
	if len(c.In[0].Shape) == 0 || len(c.Out) == 0 || len(c.Out[0].Shape) == 0 {
		return nil
	}
	return []coupling.Coupling{{From: coupling.In(0, 0), To: coupling.Out(0, 0), Map: coupling.Map{Relation: coupling.Resplit}}}
}

// resizeTarget makes explicit lengths of a target follow; 0 and −1 do so by themselves.
func resizeTarget(r *op.Resizing) error {
	c := r.Call
	cfg := c.Config.(ReshapeConfig)
	now, ok := r.Ints(1)
	if !c.Has(1) {
		now, ok = cfg.Shape, cfg.Shape != nil
	}
	want := r.Out[0].New
	if !ok || len(want) != len(now) {
		return nil
	}
	next := append([]int(nil), now...)
	for i, x := range now {
		if x > 0 {
			next[i] = want[i]
		}
	}
	if c.Has(1) {
		r.Put(1, next)
		return nil
	}
	cfg.Shape = next
	r.Config = cfg
	return nil
}

// openTarget lets the dimension of the target that holds the changed one follow it.
func openTarget(r *op.Resizing) error {
	c, axis := r.Call, r.Changed()
	cfg := c.Config.(ReshapeConfig)
	target, ok := r.Ints(1)
	if !c.Has(1) {
		target, ok = cfg.Shape, cfg.Shape != nil
	}
	was, size := r.In[0].Old, r.Out[0].Old
	if !ok || axis < 0 || size == nil || len(target) != len(size) {
		return nil
	}
	lead := 1
	for _, d := range was[:axis] {
		lead *= d
	}
	j, rest := holder(size, lead, was[axis]), slices.Index(target, -1)
	switch {
	case j >= 0 && (j == rest || target[j] == 0 && j == axis):
		return nil // adapts automatically
	case j < 0 && rest >= 0:
		return nil // inference reports whether −1 can adapt
	case j < 0:
		return c.Errorf("spells out the shape %v, in which dimension %d of its input (%v) cannot be found again", size, axis, was)
	}
	next := slices.Clone(target)
	if j == axis && size[j] == was[axis] && !cfg.AllowZero {
		next[j] = 0
	} else {
		if rest >= 0 {
			next[rest] = size[rest]
		}
		next[j] = -1
	}
	if c.Has(1) {
		r.Put(1, next)
		return nil
	}
	cfg.Shape = next
	r.Config = cfg
	return nil
}

// holder returns the dimension of a shape that holds, row-major, the factor of size n after lead elements, -1 where none does.
func holder(size []int, lead, n int) int {
	before := 1
	for j, d := range size {
		if before == lead && n > 0 && d%n == 0 {
			return j
		}
		before *= d
	}
	return -1
}

// reshapeVersions: before version 5 the shape is an attribute.
func reshapeVersions() []op.Version {
	up := op.OnConfig(func(n *op.Spelling, c *ReshapeConfig) error {
		toInput(n, "shape", &c.Shape)
		c.ConsumedInputs = nil
		return nil
	})
	down := op.OnConfig(func(n *op.Spelling, c *ReshapeConfig) error {
		err := toAttribute(n, &c.Shape)
		if c.Shape == nil {
			c.Shape = []int{} // a scalar
		}
		return err
	})
	return []op.Version{{At: 5, Up: up, Down: down}}
}
