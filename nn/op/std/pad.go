package std

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// PadConfig has the attributes of Pad. Pads, an input from version 11 on, holds the number of
// elements added in front of each axis and then after each; negative numbers remove elements.
type PadConfig struct {
	Mode     string  `onnx:"mode,default=constant"`    // constant, reflect, edge; wrap from version 19 on
	Paddings []int   `onnx:"paddings,until=1"`         // name of pads in version 1
	Pads     []int   `onnx:"pads,since=2,until=10"`    // elements added before each axis, then after each
	Value    float32 `onnx:"value,default=0,until=10"` // of the padding in mode constant
}

// Operator makes PadConfig a Config.
func (PadConfig) Operator() op.Name { return op.Name{Name: "Pad"} }

func pad() *op.Op {
	return &op.Op{
		Name: "Pad", Since: []int{1, 2, 11, 13, 18, 19, 21, 23, 24, 25}, Versions: padVersions(),
		Doc: "Adds elements in front of and behind each axis.",
		In:  "data T, pads? int64 shape, constant_value? T, axes? Tind shape", Out: "output T",
		Where: op.Where{"Tind": op.Indices()}, Attrs: PadConfig{},
		Check: checkPad, Infer: inferPad, Kernel: padKernel, Strings: moveStrings, Grad: padGrad, Couple: couplePad,
		Traits: op.Traits{Zero: padZero, Range: padRange},
	}
}

func checkPad(c *op.Call) error {
	if m := c.Config.(PadConfig).Mode; !slices.Contains([]string{"constant", "reflect", "edge", "wrap"}, m) {
		return c.Errorf("mode %q is unknown", m)
	}
	return nil
}

// padding describes the padding of one axis: lo and hi elements are removed at its ends, then before
// and after elements are added.
type padding struct{ lo, hi, before, after op.Dim }

// paddings resolves the pads of every axis.
func paddings(c *op.Call) ([]padding, error) {
	cfg := c.Config.(PadConfig)
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	given := cfg.Pads
	if given == nil {
		given = cfg.Paddings
	}
	pads := op.Dims(given...)
	if c.Has(1) {
		if pads, err = c.Dims(1); err != nil {
			return nil, err
		}
	} else if given == nil {
		return nil, c.Errorf("has no pads")
	}
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	if c.Has(3) {
		if axes, err = c.Ints(3); err != nil {
			return nil, err
		}
		if _, err := c.Axes(axes, rank); err != nil {
			return nil, err
		}
	}
	n := len(axes)
	if len(pads) != 2*n {
		return nil, c.Errorf("has %d pads for %d axes", len(pads), n)
	}
	list := make([]padding, rank)
	for i := range list {
		list[i] = padding{op.D(0), op.D(0), op.D(0), op.D(0)}
	}
	for i, a := range axes {
		a, _ = c.Axis(a, rank)
		p := &list[a]
		p.before, p.lo = cutPad(pads[i])
		p.after, p.hi = cutPad(pads[n+i])
	}
	return list, nil
}

// cutPad splits a pad into the numbers of added and removed elements.
func cutPad(d op.Dim) (add, remove op.Dim) {
	if d.Size < 0 && d.Sym == "" {
		return op.D(0), op.D(-max(d.Size, -math.MaxInt))
	}
	return d, op.D(0)
}

func inferPad(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{c.In[0]}, nil
	}
	list, err := paddings(c)
	if err != nil {
		return []op.Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
	}
	shape := append([]op.Dim(nil), c.In[0].Shape...)
	for i, p := range list {
		if n := shape[i]; n.Known() && (p.lo.Size > n.Size || p.hi.Size > n.Size-p.lo.Size) {
			return nil, c.Errorf("removes %v and %v elements of an axis of length %v", p.lo, p.hi, n)
		}
		for _, add := range []op.Dim{p.before, p.after} {
			if add.Size > maxMapped {
				return nil, c.Errorf("adds %v elements to axis %d, at most %d are possible", add, i, maxMapped)
			}
		}
		kept := shape[i].Sub(p.lo).Sub(p.hi)
		shape[i] = kept.Add(p.before).Add(p.after)
		if shape[i].Size > maxMapped && shape[i] != c.In[0].Shape[i] {
			return nil, c.Errorf("makes axis %d %v long, at most %d is possible", i, shape[i].Size, maxMapped)
		}
		if c.Config.(PadConfig).Mode != "constant" && kept.Size == 0 && shape[i].Size > 0 {
			return nil, c.Errorf("has nothing to repeat: axis %d is empty", i)
		}
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

// padSources returns, for each axis, the input index of each output index, -1 for the constant.
// They are charged to the memory limit.
func padSources(c *op.Call, list []padding) (*mapped, error) {
	bytes := int64(0)
	for _, d := range c.Out[0].Shape {
		bytes += 8 * int64(d.Size)
	}
	m, err := budget.Made(bytes, func() *mapped { return &mapped{rowStrides(c.In[0].Sizes()), padIndices(c, list)} })
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	return m, nil
}

func padIndices(c *op.Call, list []padding) [][]int {
	mode, workers := c.Config.(PadConfig).Mode, poolOf(c)
	all := make([][]int, len(list))
	for i, p := range list {
		lo, n := p.lo.Size, c.In[0].Shape[i].Size-p.lo.Size-p.hi.Size
		all[i] = make([]int, c.Out[0].Shape[i].Size)
		for o := range all[i] {
			checkAt(workers, o)
			k := o - p.before.Size
			if k < 0 || k >= n {
				k = outside(mode, k, n)
			}
			if all[i][o] = lo + k; k < 0 || lo+k < 0 || lo+k >= c.In[0].Shape[i].Size {
				all[i][o] = -1
			}
		}
	}
	return all
}

// outside returns the index of the element shown at position k outside of [0, n).
func outside(mode string, k, n int) int {
	if n <= 0 {
		return -1
	}
	switch mode {
	case "edge":
		return min(max(k, 0), n-1)
	case "wrap":
		return ((k % n) + n) % n
	case "reflect":
		if n == 1 {
			return 0
		}
		period := 2 * (n - 1)
		k = ((k % period) + period) % period
		return min(k, period-k)
	}
	return -1
}

func padKernel(c *op.Call) (op.Kernel, error) {
	list, err := paddings(c)
	if err != nil {
		return nil, err
	}
	size := c.In[0].DType.Size()
	m, err := padSources(c, list)
	if err != nil {
		return nil, err
	}
	fill, err := padValue(c)
	if err != nil {
		return nil, err
	}
	constant := func(in []*tensor.Dense) []byte {
		if len(in) > 2 && in[2] != nil && len(in[2].Raw) >= size {
			return in[2].Raw[:size]
		}
		return fill
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		v := constant(in)
		switch p, dst, src := pool(x), out[0].Raw, in[0].Raw; size {
		case 1:
			readMapped(p, *m, dst, src, v[0])
		case 2:
			readMapped(p, *m, words[uint16](dst), words[uint16](src), words[uint16](v)[0])
		case 4:
			readMapped(p, *m, words[uint32](dst), words[uint32](src), words[uint32](v)[0])
		case 8:
			readMapped(p, *m, words[uint64](dst), words[uint64](src), words[uint64](v)[0])
		default:
			readMapped(p, *m, words[[2]uint64](dst), words[[2]uint64](src), words[[2]uint64](v)[0])
		}
		return nil
	}, nil
}

// padValue returns the constant of the attribute form, and zero otherwise, as bytes.
func padValue(c *op.Call) ([]byte, error) {
	v := float64(c.Config.(PadConfig).Value)
	t := c.In[0].DType
	if v == 0 || math.IsNaN(v) || !t.IsNumeric() {
		return make([]byte, 16), nil
	}
	d, err := dtype.FromFloats(t, []float64{v})
	if err != nil {
		return nil, err
	}
	return d.Raw, nil
}

func padGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	list, err := paddings(c)
	if err != nil {
		return nil, err
	}
	grads := make(gorgonia.Nodes, len(in))
	m, err := padSources(c, list)
	if err != nil {
		return nil, err
	}
	if grads[0], err = c.Apply1(padGradConfig{c.In[0].Shape, m}, dout[0]); err != nil {
		return nil, err
	}
	if c.Has(2) && op.Differentiable(c.In[2]) { // the gradient of the padding is that of the constant
		all, err := c.SumTo(dout[0])
		if err != nil {
			return nil, err
		}
		data, err := c.SumTo(grads[0])
		if err != nil {
			return nil, err
		}
		d, err := c.Apply1(op.Plain("Sub"), all, data)
		if err != nil {
			return nil, err
		}
		if c.Config.(PadConfig).Mode != "constant" {
			return grads, nil
		}
		grads[2], err = c.ReshapeTo(d, c.In[2].Shape...)
		return grads, err
	}
	return grads, nil
}

type padGradConfig struct {
	Shape []op.Dim
	From  *mapped // what Pad shows where
}

func (padGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "PadGrad"} }

func padGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "PadGrad", Since: []int{1}, Decompose: spelled(spellPadGrad), Doc: "Gradient of Pad: adds elements up where they came from.",
		In: "dY T", Out: "dX T", Where: op.Where{"T": {dtype.Float32, dtype.Float64}}, Attrs: padGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(padGradConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(padGradConfig)
			if c.In[0].DType == dtype.Float64 {
				return padGradKernel[float64](c, op.Sizes(cfg.Shape), cfg.From)
			}
			return padGradKernel[float32](c, op.Sizes(cfg.Shape), cfg.From)
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func padGradKernel[T kernel.Float](c *op.Call, shape []int, m *mapped) (op.Kernel, error) {
	bytes, ok := int64(0), false
	for _, n := range shape {
		bytes += 8 * int64(n)
	}
	back, err := budget.Made(bytes, func() *mapped {
		var back mapped
		back, ok = m.inverse(poolOf(c), shape)
		return &back
	})
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	if ok {
		return func(x *op.Exec, out, in []*tensor.Dense) error {
			readMapped(pool(x), *back, dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), 0)
			return nil
		}, nil
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		kernel.Clear(pool(x), out[0].Raw)
		addMapped(pool(x).Serial(), *m, dtype.Slice[T](out[0]), dtype.Slice[T](in[0]))
		return nil
	}, nil
}

func couplePad(c *op.Call) []coupling.Coupling {
	list, err := paddings(c)
	if err != nil {
		return nil
	}
	var all []coupling.Coupling
	for i, p := range list {
		k := op.Couple(coupling.In(0, i), coupling.Out(0, i))
		if zero := op.D(0); p != (padding{zero, zero, zero, zero}) {
			n := c.In[0].Shape[i]
			if c.Config.(PadConfig).Mode != "constant" || p.lo != op.D(0) || p.hi != op.D(0) || !p.before.Known() || !n.Known() {
				continue
			}
			k.Map = coupling.Map{Relation: coupling.Offset, Shift: p.before.Size, Count: n.Size}
		}
		all = append(all, k)
	}
	return all
}

// padZero: the padding value must be zero, too.
func padZero(c *op.Call, in op.ZeroInputs) bool {
	cfg := c.Config.(PadConfig)
	added := float64(cfg.Value)
	if c.Has(2) {
		x, ok := c.Uniform(2)
		if !ok && cfg.Mode == "constant" {
			return false
		}
		added = x
	}
	return (added == 0 || cfg.Mode != "constant") && op.ZeroFirst(c, in)
}

func padRange(c *op.Call, in func(i int) trait.Interval) trait.Interval {
	cfg := c.Config.(PadConfig)
	added := trait.Interval{Lo: float64(cfg.Value), Hi: float64(cfg.Value)}
	switch {
	case cfg.Mode != "constant":
		return in(0)
	case c.Has(2):
		added = in(2)
	}
	return in(0).Hull(added)
}

// padVersions: before version 11 lengths and value are attributes; before 18 the lengths are those of all axes.
func padVersions() []op.Version {
	up := op.OnConfig(func(n *op.Spelling, c *PadConfig) error {
		x := c.Value
		c.Value = 0
		toInput(n, "pads", &c.Pads)
		if x == 0 {
			return nil
		}
		value, err := n.Filled("value", n.DType(0), float64(x))
		n.Put(2, value)
		return err
	})
	down := op.OnConfig(func(n *op.Spelling, c *PadConfig) error {
		x, err := n.Number(2)
		if err != nil {
			return err
		}
		if x != nil {
			c.Value = *x
		}
		return toAttribute(n, &c.Pads)
	})
	wrap := op.OnConfig(func(n *op.Spelling, c *PadConfig) error { return without(c.Mode, "wrap") })
	return []op.Version{
		{At: 2, Up: op.Refuse("version 2 reads its lengths differently"), Down: op.Refuse("version 2 reads its lengths differently")},
		{At: 11, Up: up, Down: down, New: op.Where{"T": op.Integers()}}, {At: 18, Down: padAll}, {At: 19, Down: wrap},
	}
}

// padAll replaces the pads of the axes in input 3 by pads of all axes.
func padAll(n *op.Spelling) error {
	axes, err := n.Ints(3)
	if err != nil || axes == nil {
		n.Cut(3)
		return err
	}
	pads, err := n.Ints(1)
	if err != nil {
		return err
	}
	rank, err := n.Rank(0)
	if err != nil {
		return err
	}
	all := make([]int, 2*rank)
	for i, a := range axes {
		if a < 0 {
			a += rank
		}
		if a < 0 || a >= rank || len(pads) != 2*len(axes) {
			return errors.New("its pads do not fit")
		}
		all[a], all[rank+a] = pads[i], pads[len(axes)+i]
	}
	n.Cut(3)
	n.Put(1, n.Vector("pads", all...))
	return nil
}

// without returns an error for values that an attribute may have only from a version on.
func without(word string, words ...string) error {
	if slices.Contains(words, word) {
		return fmt.Errorf("that version does not have %q", word)
	}
	return nil
}
