package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/tensor"
)

// ArgMaxConfig has the attributes of ArgMax.
type ArgMaxConfig struct {
	Axis            int   `onnx:"axis,default=0"`             // from −rank to rank−1
	KeepDims        *bool `onnx:"keepdims,nil=true"`          // keep the reduced axis, with length 1; nil: true
	SelectLastIndex bool  `onnx:"select_last_index,since=12"` // of equal elements take the last, not the first
}

// Operator makes ArgMaxConfig a Config.
func (ArgMaxConfig) Operator() op.Name { return op.Name{Name: "ArgMax"} }

// ArgMinConfig has the attributes of ArgMin, which are those of ArgMax.
type ArgMinConfig ArgMaxConfig

// Operator makes ArgMinConfig a Config.
func (ArgMinConfig) Operator() op.Name { return op.Name{Name: "ArgMin"} }

func argMax() *op.Op {
	return &op.Op{
		Name: "ArgMax", Since: []int{1, 11, 12, 13}, Versions: []op.Version{frontAxisInt(func(c *ArgMaxConfig) *int { return &c.Axis })},
		Doc: "Where the largest element along an axis stands.",
		In:  "data T", Out: "reduced int64", Where: op.Where{"T": op.Numeric()}, Attrs: ArgMaxConfig{},
		Infer: inferArg, Kernel: widened(argKernel), NoGrad: "an index", Couple: coupleArg,
	}
}

func argMin() *op.Op {
	return &op.Op{
		Name: "ArgMin", Since: []int{1, 11, 12, 13}, Versions: []op.Version{frontAxisInt(func(c *ArgMinConfig) *int { return &c.Axis })},
		Doc: "Where the smallest element along an axis stands.",
		In:  "data T", Out: "reduced int64", Where: op.Where{"T": op.Numeric()}, Attrs: ArgMinConfig{},
		Infer: inferArg, Kernel: widened(argKernel), NoGrad: "an index", Couple: coupleArg,
	}
}

// argConfig converts both configurations to one type.
func argConfig(c *op.Call) (cfg ArgMaxConfig, least bool) {
	switch k := c.Config.(type) {
	case ArgMaxConfig:
		return k, false
	case ArgMinConfig:
		return ArgMaxConfig(k), true
	}
	return ArgMaxConfig{}, false
}

func argMarks(c *op.Call) (marks []bool, axis int, keep bool, err error) {
	cfg, _ := argConfig(c)
	rank, err := c.Rank(0)
	if err != nil {
		return nil, 0, false, err
	}
	if axis, err = c.Axis(cfg.Axis, rank); err != nil {
		return nil, 0, false, err
	}
	if d := c.In[0].Shape[axis]; d.Size == 0 && !d.Symbolic() {
		return nil, 0, false, c.Errorf("axis %d has no elements", axis)
	}
	marks = make([]bool, rank)
	marks[axis] = true
	return marks, axis, cfg.KeepDims == nil || *cfg.KeepDims, nil
}

func inferArg(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{{DType: dtype.Int64, Unranked: true}}, nil
	}
	marks, _, keep, err := argMarks(c)
	if err != nil {
		return nil, err
	}
	return []op.Type{op.T(dtype.Int64, reducedShape(c.In[0].Shape, marks, keep)...)}, nil
}

func argKernel(c *op.Call) (op.Kernel, error) {
	_, axis, _, err := argMarks(c)
	if err != nil {
		return nil, err
	}
	cfg, least := argConfig(c)
	l := lanesOf(c.In[0].Sizes(), axis)
	return perNumber(c, argOf[float32](l, least, cfg.SelectLastIndex), argOf[float64](l, least, cfg.SelectLastIndex),
		argOf[int64](l, least, cfg.SelectLastIndex), argOf[uint64](l, least, cfg.SelectLastIndex))
}

// shortRun is the row length from which computing row by row pays off.
const shortRun = 16

func argOf[T number](l lanes, least, last bool) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, dst := dtype.Slice[T](in[0]), dtype.Slice[int64](out[0])
		if l.step >= shortRun {
			pool(x).Range(l.outer, max(1, 4096/max(1, l.n*l.step)), func(lo, hi int) {
				best := make([]T, l.step)
				for o := lo; o < hi; o++ {
					argRows(pool(x), dst[o*l.step:][:l.step], best, src[o*l.n*l.step:][:l.n*l.step], least, last)
				}
			})
			return nil
		}
		l.each(x, func(k int) {
			at := l.at(k)
			if row, ok := any(src).([]float32); ok && l.step == 1 && !least && !last {
				dst[k] = int64(largestAt(pool(x), row[at:][:l.n]))
				return
			}
			best, where := src[at], 0
			for i := 1; i < l.n; i++ {
				checkAt(pool(x), i)
				v := src[at+i*l.step]
				if wins(v, best, least, last) {
					best, where = v, i
				}
			}
			dst[k] = int64(where)
		})
		return nil
	}
}

// wins reports whether a later element replaces the best one so far; NaN replaces anything except NaN.
func wins[T number](v, best T, least, last bool) bool {
	return v > best && !least || v < best && least || last && v == best || v != v && best == best
}

// argRows finds the best of each column of src, whose rows are as long as dst; best is a buffer of that length.
func argRows[T number](p *kernel.Pool, dst []int64, best, src []T, least, last bool) {
	copy(best, src)
	clear(dst)
	for i := 1; i*len(dst) < len(src); i++ {
		p.Check()
		for j, v := range src[i*len(dst):][:len(dst)] {
			if wins(v, best[j], least, last) {
				best[j], dst[j] = v, int64(i)
			}
		}
	}
}

// largestAt returns the index of the largest element of a row, or of the first NaN.
func largestAt(p *kernel.Pool, row []float32) (at int) {
	p.InParts(len(row), func(lo, hi int) {
		part := row[lo:hi]
		best := vector.Max(nil, part)
		i := slices.IndexFunc(part, func(v float32) bool { return v == best || v != v })
		if v := row[at]; lo == 0 || v == v && !(part[i] <= v) {
			at = lo + i
		}
	})
	return at
}

func coupleArg(c *op.Call) []coupling.Coupling {
	marks, _, keep, err := argMarks(c)
	if err != nil {
		return nil
	}
	return coupleKept(marks, keep)
}
