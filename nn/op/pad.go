package op

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// PadConfig has the attributes of Pad. Pads, an input from version 11 on, holds the number of
// elements added in front of each axis and then behind each; negative numbers remove elements.
type PadConfig struct {
	Mode     string  `onnx:"mode,default=constant"` // constant, reflect, edge; from version 19 wrap
	Paddings []int   `onnx:"paddings,until=1"`
	Pads     []int   `onnx:"pads,since=2,until=10"`
	Value    float32 `onnx:"value,default=0,until=10"`
}

// Op makes PadConfig a Config.
func (PadConfig) Op() *Op { return standard("", "Pad") }

func pad() *Op {
	return &Op{
		Name: "Pad", Since: []int{1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
		Doc: "Adds elements in front of and behind each axis.",
		In:  "data T, pads? int64 shape, constant_value? T, axes? Tind shape", Out: "output T",
		Where: Where{"Tind": Indices}, Attrs: PadConfig{},
		Check: checkPad, Infer: inferPad, Kernel: padKernel, Strings: moveStrings, Grad: padGrad, Couple: couplePad,
	}
}

func checkPad(c *Call) error {
	if m := c.Config.(PadConfig).Mode; !slices.Contains([]string{"constant", "reflect", "edge", "wrap"}, m) {
		return c.Errorf("mode %q is unknown", m)
	}
	return nil
}

// padding is what happens to one axis: lo and hi elements are removed at its ends, then before
// and after are added.
type padding struct{ lo, hi, before, after Dim }

// paddings resolves the pads of every axis.
func paddings(c *Call) ([]padding, error) {
	cfg := c.Config.(PadConfig)
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	given := cfg.Pads
	if given == nil {
		given = cfg.Paddings
	}
	pads := Dims(given...)
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
		list[i] = padding{D(0), D(0), D(0), D(0)}
	}
	for i, a := range axes {
		a, _ = c.Axis(a, rank)
		p := &list[a]
		p.before, p.lo = cutPad(pads[i])
		p.after, p.hi = cutPad(pads[n+i])
	}
	return list, nil
}

// cutPad takes a pad apart into elements added and removed.
func cutPad(d Dim) (add, remove Dim) {
	if d.Size < 0 && d.Sym == "" {
		return D(0), D(-max(d.Size, -math.MaxInt))
	}
	return d, D(0)
}

func inferPad(c *Call) ([]Type, error) {
	if c.In[0].Unranked {
		return []Type{c.In[0]}, nil
	}
	list, err := paddings(c)
	if err != nil {
		return []Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
	}
	shape := append([]Dim(nil), c.In[0].Shape...)
	for i, p := range list {
		if n := shape[i]; n.Known() && (p.lo.Size > n.Size || p.hi.Size > n.Size-p.lo.Size) {
			return nil, c.Errorf("removes %v and %v elements of an axis of length %v", p.lo, p.hi, n)
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
	return []Type{c.In[0].With(shape...)}, nil
}

// padSources is, for each axis, which input index each output index shows, -1 for the constant.
func padSources(c *Call, list []padding) [][]int {
	mode := c.Config.(PadConfig).Mode
	all := make([][]int, len(list))
	for i, p := range list {
		lo, n := p.lo.Size, c.In[0].Shape[i].Size-p.lo.Size-p.hi.Size
		all[i] = make([]int, c.Out[0].Shape[i].Size)
		for o := range all[i] {
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

// outside is which of n elements stands at position k outside of [0, n).
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

func padKernel(c *Call) (engine.Kernel, error) {
	list, err := paddings(c)
	if err != nil {
		return nil, err
	}
	size := c.In[0].DType.Size()
	sources := padSources(c, list)
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
	m := mapped{from: rowStrides(c.In[0].Sizes()), sources: sources}
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		v := constant(in)
		switch p, dst, src := x.Pool(), out[0].Raw, in[0].Raw; size {
		case 1:
			readMapped(p, m, dst, src, v[0])
		case 2:
			readMapped(p, m, words[uint16](dst), words[uint16](src), words[uint16](v)[0])
		case 4:
			readMapped(p, m, words[uint32](dst), words[uint32](src), words[uint32](v)[0])
		case 8:
			readMapped(p, m, words[uint64](dst), words[uint64](src), words[uint64](v)[0])
		default:
			readMapped(p, m, words[[2]uint64](dst), words[[2]uint64](src), words[[2]uint64](v)[0])
		}
		return nil
	}, nil
}

// padValue is the constant of the attribute form, and zero otherwise, as bytes.
func padValue(c *Call) ([]byte, error) {
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

// maxMapped is the length of an axis for which a table of indices is made.
const maxMapped = 1 << 27

// mapped is a tensor each of whose axes shows chosen indices of another one's: index o of axis k
// shows sources[k][o], -1 is nothing.
type mapped struct {
	from    []int // strides of the other tensor
	sources [][]int
}

// rows calls f for each row of the result in [lo, hi) with where in the source it begins, -1 if nowhere.
func (m mapped) rows(lo, hi int, f func(row, at int)) {
	last, above := len(m.sources)-1, 0
	for row := lo; row < hi; row++ {
		at := above
		if last > 0 {
			n := len(m.sources[last-1])
			if row == lo || row%n == 0 {
				above = m.above(row / n)
			}
			at = -1
			if s := m.sources[last-1][row%n]; s >= 0 && above >= 0 {
				at = above + s*m.from[last-1]
			}
		}
		f(row, at)
	}
}

// above is where in the source the group of rows with a number begins, those that differ in the last but one axis
// only; -1 if nowhere.
func (m mapped) above(group int) int {
	at := 0
	for k := len(m.sources) - 3; k >= 0; k-- {
		n := len(m.sources[k])
		s := m.sources[k][group%n]
		if group /= n; s < 0 {
			return -1
		}
		at += s * m.from[k]
	}
	return at
}

func (m mapped) count() (rows, row int) {
	rows, row = 1, 1
	for k, s := range m.sources {
		if k < len(m.sources)-1 {
			rows *= len(s)
		} else {
			row = len(s)
		}
	}
	return rows, row
}

func readMapped[E any](p *kernel.Pool, m mapped, dst, src []E, fill E) {
	if len(m.sources) == 0 {
		copy(dst, src)
		return
	}
	rows, n := m.count()
	index := m.sources[len(m.sources)-1]
	from, to := longestRun(index)
	inside := to-from < 8 && slices.Min(append([]int{0}, index...)) >= 0
	framed := !slices.ContainsFunc(index[:from], picked) && !slices.ContainsFunc(index[to:], picked)
	p.Range(rows, max(1, 8192/max(n, 1)), func(lo, hi int) {
		last := 0 // where the row before came from
		m.rows(lo, hi, func(row, at int) {
			d := dst[row*n : (row+1)*n]
			switch {
			case row > lo && at == last:
				copy(d, dst[(row-1)*n:])
			case at >= 0 && framed:
				for i := range d[:from] {
					d[i] = fill
				}
				if from < to {
					copy(d[from:to], src[at+index[from]:])
				}
				for i := range d[to:] {
					d[to+i] = fill
				}
			case at >= 0 && inside:
				s := src[at:]
				for i, k := range index {
					d[i] = s[k]
				}
			case at >= 0:
				for i, k := range index[:from] {
					d[i] = pick(src, at, k, fill)
				}
				if from < to {
					copy(d[from:to], src[at+index[from]:])
				}
				for i, k := range index[to:] {
					d[to+i] = pick(src, at, k, fill)
				}
			default:
				for i := range d {
					d[i] = fill
				}
			}
			last = at
		})
	})
}

// picked says whether an index shows an element.
func picked(k int) bool { return k >= 0 }

// pick is src[at+k], or fill where k is negative.
func pick[E any](src []E, at, k int, fill E) E {
	if k < 0 {
		return fill
	}
	return src[at+k]
}

// longestRun is where in index numbers follow one another.
func longestRun(index []int) (from, to int) {
	for lo := 0; lo < len(index); {
		hi := lo + 1
		for hi < len(index) && index[hi] == index[hi-1]+1 {
			hi++
		}
		if hi-lo > to-from && index[lo] >= 0 {
			from, to = lo, hi
		}
		lo = hi
	}
	return from, to
}

// addMapped adds src, in the shape of the result, to where its elements came from.
func addMapped[T kernel.Float](m mapped, dst, src []T) {
	if len(m.sources) == 0 {
		dst[0] += src[0]
		return
	}
	rows, n := m.count()
	index := m.sources[len(m.sources)-1]
	from, to := longestRun(index)
	m.rows(0, rows, func(row, at int) {
		if at < 0 {
			return
		}
		s := src[row*n : (row+1)*n]
		add := func(lo, hi int) {
			for i, k := range index[lo:hi] {
				if k >= 0 {
					dst[at+k] += s[lo+i]
				}
			}
		}
		add(0, from)
		if from < to {
			d := dst[at+index[from]:][:to-from]
			kernel.Add(nil, d, d, s[from:to])
		}
		add(to, n)
	})
}

func padGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	list, err := paddings(c)
	if err != nil {
		return nil, err
	}
	grads := make(gorgonia.Nodes, len(in))
	if grads[0], err = Apply1(padGradConfig{c.In[0].Shape, padSources(c, list)}, dout[0]); err != nil {
		return nil, err
	}
	if c.Has(2) && differentiable(c.In[2]) { // what is not the data's is the constant's
		all, err := SumTo(dout[0])
		if err != nil {
			return nil, err
		}
		data, err := SumTo(grads[0])
		if err != nil {
			return nil, err
		}
		d, err := Apply1(Plain("Sub"), all, data)
		if err != nil {
			return nil, err
		}
		if c.Config.(PadConfig).Mode != "constant" {
			return grads, nil
		}
		grads[2], err = ReshapeTo(d, c.In[2].Shape...)
		return grads, err
	}
	return grads, nil
}

type padGradConfig struct {
	Shape   []Dim
	Sources [][]int
}

func (padGradConfig) Op() *Op { return standard(Internal, "PadGrad") }

func padGradOp() *Op {
	return &Op{
		Domain: Internal, Name: "PadGrad", Since: []int{1}, Doc: "Gradient of Pad: adds elements up where they came from.",
		In: "dY T", Out: "dX T", Where: Where{"T": {dtype.Float32, dtype.Float64}}, Attrs: padGradConfig{},
		Infer: func(c *Call) ([]Type, error) {
			return []Type{c.In[0].With(c.Config.(padGradConfig).Shape...)}, nil
		},
		Kernel: func(c *Call) (engine.Kernel, error) {
			cfg := c.Config.(padGradConfig)
			m := mapped{rowStrides(sizes(cfg.Shape)), cfg.Sources}
			if c.In[0].DType == dtype.Float64 {
				return padGradKernel[float64](m), nil
			}
			return padGradKernel[float32](m), nil
		},
		GradMissing: notTwice, Pinned: "gradient",
	}
}

func padGradKernel[T kernel.Float](m mapped) engine.Kernel {
	return func(_ *engine.Exec, out, in []*tensor.Dense) error {
		clear(out[0].Raw)
		addMapped(m, dtype.Slice[T](out[0]), dtype.Slice[T](in[0]))
		return nil
	}
}

func couplePad(c *Call) []Coupling {
	list, err := paddings(c)
	if err != nil {
		return nil
	}
	var all []Coupling
	for i, p := range list {
		k := Couple(InAxis(0, i), OutAxis(0, i))
		if zero := D(0); p != (padding{zero, zero, zero, zero}) {
			n := c.In[0].Shape[i]
			if c.Config.(PadConfig).Mode != "constant" || p.lo != D(0) || p.hi != D(0) || !p.before.Known() || !n.Known() {
				continue
			}
			k.Map = IndexMap{Relation: Offset, Shift: p.before.Size, Count: n.Size}
		}
		all = append(all, k)
	}
	return all
}
