package std

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ScatterElementsConfig has the attributes of ScatterElements.
type ScatterElementsConfig struct {
	Axis      int    `onnx:"axis,default=0"`                  // from −rank to rank−1
	Reduction string `onnx:"reduction,default=none,since=16"` // none, add or mul; from version 18 on also max or min
}

// Operator makes ScatterElementsConfig a Config.
func (ScatterElementsConfig) Operator() op.Name { return op.Name{Name: "ScatterElements"} }

// ScatterConfig has the attribute of Scatter, an older name of ScatterElements.
type ScatterConfig struct {
	Axis int `onnx:"axis,default=0"` // from −rank to rank−1
}

// Operator makes ScatterConfig a Config.
func (ScatterConfig) Operator() op.Name { return op.Name{Name: "Scatter"} }

// ScatterNDConfig has the attribute of ScatterND.
type ScatterNDConfig struct {
	Reduction string `onnx:"reduction,default=none,since=16"` // none, add or mul; from version 18 on also max or min
}

// Operator makes ScatterNDConfig a Config.
func (ScatterNDConfig) Operator() op.Name { return op.Name{Name: "ScatterND"} }

// scattering has the common parameters of the three operators.
type scattering struct {
	axis      int // of elements
	tuple     bool
	reduction string
}

func scatteringOf(c *op.Call) (scattering, error) {
	var s scattering
	switch cfg := c.Config.(type) {
	case ScatterElementsConfig:
		s = scattering{axis: cfg.Axis, reduction: cfg.Reduction}
	case ScatterConfig:
		s = scattering{axis: cfg.Axis, reduction: "none"}
	case ScatterNDConfig:
		s = scattering{tuple: true, reduction: cfg.Reduction}
	case scatterGradConfig:
		return scattering{cfg.Axis, cfg.Tuple, cfg.Reduction}, nil
	}
	if !slices.Contains([]string{"none", "add", "mul", "max", "min"}, s.reduction) {
		return s, c.Errorf("reduction %q is unknown", s.reduction)
	}
	if s.tuple || c.In[0].Unranked {
		return s, nil
	}
	var err error
	s.axis, err = c.Axis(s.axis, len(c.In[0].Shape))
	return s, err
}

func (s scattering) blocks(c *op.Call) blocks {
	if s.tuple {
		return tupleBlocks(c, c.In[0].Sizes(), c.In[1].Sizes(), 0)
	}
	return elementBlocks(c, c.In[0].Sizes(), c.In[1].Sizes(), s.axis)
}

func scatterElements() *op.Op {
	return &op.Op{
		Name: "ScatterElements", Since: []int{11, 13, 16, 18}, Versions: scatterElementsVersions(),
		Doc: "Puts elements where the indices say along an axis.",
		In:  "data T, indices Tind, updates T", Out: "output T", Where: op.Where{"Tind": op.Indices()}, Attrs: ScatterElementsConfig{},
		Infer: inferScatter, Kernel: scatterKernel, Strings: moveStrings, Scheduling: op.Scheduling{InPlace: []int{0}},
		Grad: scatterGrad, Pinned: "the indices choose elements",
	}
}

func scatter() *op.Op {
	return &op.Op{
		Name: "Scatter", Since: []int{9, 11}, Versions: scatterVersions(),
		Doc: "The older name of ScatterElements.",
		In:  "data T, indices Tind, updates T", Out: "output T", Where: op.Where{"Tind": op.Indices()}, Attrs: ScatterConfig{},
		Infer: inferScatter, Kernel: scatterKernel, Strings: moveStrings, Scheduling: op.Scheduling{InPlace: []int{0}},
		Grad: scatterGrad, Pinned: "the indices choose elements",
	}
}

func scatterND() *op.Op {
	return &op.Op{
		Name: "ScatterND", Since: []int{11, 13, 16, 18}, Versions: scatterNDVersions(),
		Doc: "Puts slices where coordinates, the last axis of the indices, say.",
		In:  "data T, indices int64, updates T", Out: "output T", Attrs: ScatterNDConfig{},
		Infer: inferScatter, Kernel: scatterKernel, Strings: moveStrings, Scheduling: op.Scheduling{InPlace: []int{0}},
		Grad: scatterGrad, Pinned: "the indices choose elements",
	}
}

func inferScatter(c *op.Call) ([]op.Type, error) {
	s, err := scatteringOf(c)
	if err != nil {
		return nil, err
	}
	data, index, updates := c.In[0], c.In[1], c.In[2]
	if data.Unranked || index.Unranked || updates.Unranked {
		return []op.Type{data}, nil
	}
	want := index.Shape
	if s.tuple {
		if len(index.Shape) == 0 || len(data.Shape) == 0 {
			return nil, c.Errorf("wants data and indices of rank 1 at least, got %v and %v", data, index)
		}
		k := index.Shape[len(index.Shape)-1]
		if !k.Known() {
			return []op.Type{data}, nil
		}
		if k.Size > len(data.Shape) {
			return nil, c.Errorf("indices have %d coordinates, the data has %d axes", k.Size, len(data.Shape))
		}
		want = slices.Concat(index.Shape[:len(index.Shape)-1], data.Shape[k.Size:])
	} else if err := elementShapes(c, s.axis, 1); err != nil {
		return nil, err
	}
	if len(want) != len(updates.Shape) {
		return nil, c.Mismatch(2, data.With(want...), updates)
	}
	for a, n := range updates.Shape {
		if n.Differ(want[a]) {
			return nil, c.Mismatch(2, data.With(want...), updates)
		}
	}
	return []op.Type{data}, nil
}

func scatterKernel(c *op.Call) (op.Kernel, error) {
	s, err := scatteringOf(c)
	if err != nil {
		return nil, err
	}
	if s.reduction != "none" {
		return widened(scatterReduce)(c)
	}
	b, width := s.blocks(c), c.In[0].DType.Size()
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		kernel.Copy(pool(x), out[0].Raw, in[0].Raw)
		return b.scatter(pool(x).Serial(), out[0].Raw, in[2].Raw, in[1], width)
	}, nil
}

func scatterReduce(c *op.Call) (op.Kernel, error) {
	s, err := scatteringOf(c)
	if err != nil {
		return nil, err
	}
	switch b := s.blocks(c); c.In[0].DType {
	case dtype.Float32:
		return scatterReduceOf[float32](b, s.reduction), nil
	case dtype.Float64:
		return scatterReduceOf[float64](b, s.reduction), nil
	case dtype.Int64:
		return scatterReduceOf[int64](b, s.reduction), nil
	case dtype.Uint64:
		return scatterReduceOf[uint64](b, s.reduction), nil
	}
	return nil, c.Errorf("cannot reduce %v", c.In[0].DType)
}

func scatterReduceOf[T number](b blocks, reduction string) op.Kernel {
	if reduction == "add" {
		return func(x *op.Exec, out, in []*tensor.Dense) error {
			kernel.Copy(pool(x), out[0].Raw, in[0].Raw)
			return scatterAdd(pool(x).Serial(), b, dtype.Slice[T](out[0]), dtype.Slice[T](in[2]), in[1])
		}
	}
	var f func(a, b T) T
	switch reduction {
	case "mul":
		f = func(a, b T) T { return a * b }
	case "max":
		f = func(a, b T) T { return max(a, b) }
	default:
		f = func(a, b T) T { return min(a, b) }
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		kernel.Copy(pool(x), out[0].Raw, in[0].Raw)
		return scatterWith(pool(x).Serial(), b, dtype.Slice[T](out[0]), dtype.Slice[T](in[2]), in[1], f)
	}
}

// scatterVersions: Scatter became ScatterElements in version 11.
func scatterVersions() []op.Version {
	return []op.Version{{At: 11, Up: func(n *op.Spelling) error {
		n.Config = op.Fill(ScatterElementsConfig{Axis: n.Config.(ScatterConfig).Axis})
		return nil
	}}}
}

func scatterElementsVersions() []op.Version {
	renamed := func(n *op.Spelling) error {
		c := n.Config.(ScatterElementsConfig)
		if c.Reduction != "none" {
			return fmt.Errorf("that version does not have reduction %q", c.Reduction)
		}
		err := fromFront(n, &c.Axis)
		n.Config = ScatterConfig{Axis: c.Axis}
		return err
	}
	extremes := op.OnConfig(func(n *op.Spelling, c *ScatterElementsConfig) error { return without(c.Reduction, "max", "min") })
	return []op.Version{{At: 11, Down: renamed}, {At: 18, Down: extremes}}
}

func scatterNDVersions() []op.Version {
	return []op.Version{{At: 18, Down: op.OnConfig(func(n *op.Spelling, c *ScatterNDConfig) error { return without(c.Reduction, "max", "min") })}}
}
