package std

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/softmax"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SoftmaxConfig has the attributes of Softmax. Axis is -1 when nil, and 1 before version 13, where
// the axes from there on are taken as one.
type SoftmaxConfig struct {
	Axis *int `onnx:"axis"` // from −rank to rank−1
}

// Operator makes SoftmaxConfig a Config.
func (SoftmaxConfig) Operator() op.Name { return op.Name{Name: "Softmax"} }

// LogSoftmaxConfig has the attributes of LogSoftmax, which are those of Softmax.
type LogSoftmaxConfig SoftmaxConfig

// Operator makes LogSoftmaxConfig a Config.
func (LogSoftmaxConfig) Operator() op.Name { return op.Name{Name: "LogSoftmax"} }

// HardmaxConfig has the attributes of Hardmax, which are those of Softmax.
type HardmaxConfig SoftmaxConfig

// Operator makes HardmaxConfig a Config.
func (HardmaxConfig) Operator() op.Name { return op.Name{Name: "Hardmax"} }

// along views a tensor as [outer, axis, inner].
type along struct{ Outer, Axis, Inner int }

func softmaxes() []*op.Op {
	kind := func(name, doc string, t op.Traits, attrs op.Config, f32, f64 func(along) op.Kernel) *op.Op {
		return &op.Op{
			Name: name, Doc: doc, Since: []int{1, 11, 13}, Versions: softmaxVersions(), In: "input T", Out: "output T", Where: op.Where{"T": op.Floats()},
			Attrs: attrs, Scheduling: op.Scheduling{InPlace: []int{0}, Rows: softmaxRows}, Couple: coupleSoftmax, Traits: t,
			Infer: func(c *op.Call) ([]op.Type, error) {
				if !c.In[0].Unranked {
					if _, _, err := softmaxAxes(c); err != nil {
						return nil, err
					}
				}
				return op.Same(c)
			},
			Kernel: func(c *op.Call) (op.Kernel, error) {
				a, err := softmaxAlong(c)
				return floatKernel(c, f32(a), f64(a)), err
			},
		}
	}
	soft := kind("Softmax", "Exponentials that add up to 1 along an axis.", op.Traits{Range: op.RangeOf(0, 1), Bounds: true}, SoftmaxConfig{},
		alongKernel(softmax.Softmax[float32]), alongKernel(softmax.Softmax[float64]))
	soft.Grad = softmaxGradOf("SoftmaxGrad")
	log := kind("LogSoftmax", "Logarithm of Softmax.", op.Traits{Range: op.RangeOf(math.Inf(-1), 0), Bounds: true}, LogSoftmaxConfig{},
		alongKernel(softmax.LogSoftmax[float32]), alongKernel(softmax.LogSoftmax[float64]))
	log.Grad = softmaxGradOf("LogSoftmaxGrad")
	hard := kind("Hardmax", "1 at the first maximum along an axis, 0 elsewhere.", op.Traits{Range: op.RangeOf(0, 1)}, HardmaxConfig{}, hardmaxKernel[float32], hardmaxKernel[float64])
	hard.NoGrad = "constant wherever it is continuous"
	soft.Traits.Probabilities, log.Traits.Probabilities = softmaxProbabilities(false), softmaxProbabilities(true)
	return []*op.Op{soft, log, hard}
}

// softmaxProbabilities sum to 1 over the axes of the call.
func softmaxProbabilities(log bool) func(c *op.Call) *trait.Probabilities {
	return func(c *op.Call) *trait.Probabilities {
		p := &trait.Probabilities{Log: log, Over: []int{}}
		from, to, err := softmaxAxes(c)
		for axis := from; err == nil && axis < to; axis++ {
			p.Over = append(p.Over, axis)
		}
		return p
	}
}

// softmaxAxes returns the first axis concerned and the one after the last.
func softmaxAxes(c *op.Call) (from, to int, err error) {
	var attr *int
	switch cfg := c.Config.(type) {
	case SoftmaxConfig:
		attr = cfg.Axis
	case LogSoftmaxConfig:
		attr = cfg.Axis
	case HardmaxConfig:
		attr = cfg.Axis
	}
	rank, err := c.Rank(0)
	if err != nil {
		return 0, 0, err
	}
	def := -1
	if c.Version < 13 {
		def = 1
	}
	axis := orInt(attr, def)
	if rank == 0 && axis >= -1 && axis <= 1 {
		return 0, 0, nil
	}
	if c.Version < 13 && axis == rank { // no axis is left: every element is a row
		return rank, rank, nil
	}
	if from, err = c.Axis(axis, rank); err != nil {
		return 0, 0, err
	}
	if c.Version < 13 {
		return from, rank, nil
	}
	return from, from + 1, nil
}

func softmaxAlong(c *op.Call) (along, error) {
	from, to, err := softmaxAxes(c)
	s := c.In[0].Sizes()
	return along{dtype.Product(s[:from]), dtype.Product(s[from:to]), dtype.Product(s[to:])}, err
}

func alongKernel[T kernel.Float](f func(p *kernel.Pool, outer, axis, inner int, dst, x []T)) func(along) op.Kernel {
	return func(a along) op.Kernel {
		return func(x *op.Exec, out, in []*tensor.Dense) error {
			f(pool(x), a.Outer, a.Axis, a.Inner, dtype.Elems[T](out[0]), dtype.Elems[T](in[0]))
			return nil
		}
	}
}

func hardmaxKernel[T kernel.Float](a along) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, dst, p := dtype.Elems[T](in[0]), dtype.Elems[T](out[0]), pool(x)
		p.Range(a.Outer*a.Inner, 1+4096/max(a.Axis, 1), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				base, best := r/a.Inner*a.Axis*a.Inner+r%a.Inner, 0
				for k := 1; k < a.Axis; k++ {
					if v, b := src[base+k*a.Inner], src[base+best*a.Inner]; v > b || v != v && b == b {
						best = k
					}
					if k%maxRun == 0 {
						p.Check()
					}
				}
				for k := range a.Axis {
					dst[base+k*a.Inner] = 0
					if k%maxRun == 0 {
						p.Check()
					}
				}
				if a.Axis > 0 {
					dst[base+best*a.Inner] = 1
				}
			}
		})
		return nil
	}
}

// alongGrad is the configuration of the gradients of Softmax and LogSoftmax.
type alongGrad struct {
	Name  string
	Along along
}

func (a alongGrad) Operator() op.Name { return op.Name{Domain: op.Internal, Name: a.Name} }

func softmaxGrads() []*op.Op {
	grad := func(name string, spell func(*op.Spelling) error, f32 func(p *kernel.Pool, outer, axis, inner int, dx, dy, y []float32), f64 func(p *kernel.Pool, outer, axis, inner int, dx, dy, y []float64)) *op.Op {
		return &op.Op{
			Domain: op.Internal, Name: name, Since: []int{1}, Doc: "Gradient from dY and the output Y.", Decompose: spell,
			In: "dY T, Y T", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: alongGrad{},
			Infer: op.Same, Scheduling: op.Scheduling{InPlace: []int{0}}, GradMissing: op.NotTwice, Pinned: "gradient",
			Kernel: func(c *op.Call) (op.Kernel, error) {
				a := c.Config.(alongGrad).Along
				return floatKernel(c, alongBack(a, f32), alongBack(a, f64)), nil
			},
		}
	}
	return []*op.Op{
		grad("SoftmaxGrad", spelled(spellSoftmaxGrad), softmax.SoftmaxGrad[float32], softmax.SoftmaxGrad[float64]),
		grad("LogSoftmaxGrad", spelled(spellLogSoftmaxGrad), softmax.LogSoftmaxGrad[float32], softmax.LogSoftmaxGrad[float64]),
	}
}

func alongBack[T kernel.Float](a along, f func(p *kernel.Pool, outer, axis, inner int, dx, dy, y []T)) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		f(pool(x), a.Outer, a.Axis, a.Inner, dtype.Elems[T](out[0]), dtype.Elems[T](in[0]), dtype.Elems[T](in[1]))
		return nil
	}
}

func softmaxGradOf(name string) func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	return func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		a, err := softmaxAlong(c)
		if err != nil {
			return nil, err
		}
		d, err := c.Apply1(alongGrad{name, a}, dout[0], out[0])
		return gorgonia.Nodes{d}, err
	}
}

// coupleSoftmax: the sum runs over the axes concerned, the others pass through.
func coupleSoftmax(c *op.Call) []coupling.Coupling {
	from, to, err := softmaxAxes(c)
	if err != nil {
		return nil
	}
	return normOver(c, func(axis int) bool { return axis >= from && axis < to })
}

// normOver returns the identity between input 0 and output 0, marked on the axes that a normalization runs over.
func normOver(c *op.Call, over func(axis int) bool) []coupling.Coupling {
	list := op.CoupleAll(c, 0)
	for i := range list {
		if over(list[i].From.Axis) {
			list[i].Map.Relation = coupling.Norm
		}
	}
	return list
}

// axisOf returns the axis of the configuration of any of the three.
func axisOf(c op.Config) *int {
	switch c := c.(type) {
	case LogSoftmaxConfig:
		return c.Axis
	case HardmaxConfig:
		return c.Axis
	case SoftmaxConfig:
		return c.Axis
	}
	return nil
}

// withAxis returns the configuration with another axis.
func withAxis(c op.Config, axis int) op.Config {
	switch c.(type) {
	case LogSoftmaxConfig:
		return LogSoftmaxConfig{Axis: &axis}
	case HardmaxConfig:
		return HardmaxConfig{Axis: &axis}
	}
	return SoftmaxConfig{Axis: &axis}
}

// softmaxVersions: before version 13 the axes from the given one on, by default 1, count as one.
func softmaxVersions() []op.Version {
	front := func(n *op.Spelling) error {
		p := axisOf(n.Config)
		if p == nil {
			return nil
		}
		axis := *p
		err := fromFront(n, &axis)
		n.Config = withAxis(n.Config, axis)
		return err
	}
	return []op.Version{{At: 11, Down: front}, {At: 13, Up: softmaxUp, Down: softmaxDown}}
}

// softmaxUp flattens the input to a matrix unless the axis is the last, and restores the shape of the result.
func softmaxUp(n *op.Spelling) error {
	axis := orInt(axisOf(n.Config), 1)
	if rank, err := n.Rank(0); err == nil && (axis == rank-1 || axis == -1) {
		n.Config = withAxis(n.Config, axis)
		return nil
	}
	shape := n.Before("shape", ShapeConfig{}, n.In[0])
	matrix := n.Before("matrix", FlattenConfig{Axis: &axis}, n.In[0])
	n.Put(0, matrix)
	n.Config = withAxis(n.Config, 1)
	n.After("rows", matrix.Type, ReshapeConfig{}, shape)
	return nil
}

// softmaxDown brings the axis to the last place.
func softmaxDown(n *op.Spelling) error {
	rank, err := n.Rank(0)
	if err != nil {
		return err
	}
	last := rank - 1
	axis := orInt(axisOf(n.Config), last)
	if err := fromFront(n, &axis); err != nil {
		return err
	}
	n.Config = withAxis(n.Config, last)
	if axis == last {
		return nil
	}
	if axis < 0 || axis > last {
		return fmt.Errorf("there is no axis %d", axis)
	}
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[last] = last, axis
	n.Put(0, n.Before("turned", TransposeConfig{Perm: perm}, n.In[0]))
	n.After("last", n.In[0].Type, TransposeConfig{Perm: perm})
	return nil
}

func softmaxRows(c *op.Call) *trait.Rows {
	a, err := softmaxAlong(c)
	if err != nil {
		return nil
	}
	return &trait.Rows{Out: a.Axis * a.Inner, In: []int{a.Axis * a.Inner}}
}
