package std

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TopKConfig has the attributes of TopK. K is the second input from version 10 on.
type TopKConfig struct {
	Axis    *int  `onnx:"axis,nil=-1"`               // from −rank to rank−1; nil: −1
	K       int   `onnx:"k,until=9"`                 // number of elements
	Largest *bool `onnx:"largest,since=11,nil=true"` // the largest instead of the smallest elements; nil: true
	Sorted  *bool `onnx:"sorted,since=11,nil=true"`  // of no effect: the result is always sorted
}

// Operator makes TopKConfig a Config.
func (TopKConfig) Operator() op.Name { return op.Name{Name: "TopK"} }

func topK() *op.Op {
	return &op.Op{
		Name: "TopK", Since: []int{1, 10, 11, 24}, Versions: topKVersions(),
		Doc: "The k largest or smallest elements along an axis, and where they stand. Of equal ones the first comes first.",
		In:  "X T, K? int64 shape", Out: "Values T, Indices int64", Where: op.Where{"T": op.Numeric()}, Attrs: TopKConfig{},
		Infer: inferTopK, Kernel: widened(topKKernel), Grad: topKGrad, Couple: coupleTopK,
	}
}

func (cfg TopKConfig) axis(c *op.Call) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	if cfg.Axis == nil {
		return c.Axis(-1, rank)
	}
	return c.Axis(*cfg.Axis, rank)
}

func inferTopK(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(TopKConfig)
	if c.In[0].Unranked {
		return []op.Type{c.In[0], {DType: dtype.Int64, Unranked: true}}, nil
	}
	axis, err := cfg.axis(c)
	if err != nil {
		return nil, err
	}
	k := op.D(cfg.K)
	shape := append([]op.Dim(nil), c.In[0].Shape...)
	if c.Has(1) {
		d, err := c.Dims(1)
		if err != nil {
			shape[axis] = op.Unknown()
			return []op.Type{c.In[0].With(shape...), op.T(dtype.Int64, shape...)}, err
		}
		if len(d) != 1 {
			return nil, c.Mismatch(1, "one number", c.In[1])
		}
		k = d[0]
	} else if c.Version >= 10 && cfg.K == 0 {
		return nil, c.Mismatch(1, "a value", "nothing")
	}
	if k.Sym == "" && k.Size < 0 || k.Known() && shape[axis].Known() && k.Size > shape[axis].Size {
		return nil, c.Errorf("k is %v, the axis has %v", dimStrings([]op.Dim{k})[0], shape[axis])
	}
	shape[axis] = k
	return []op.Type{c.In[0].With(shape...), op.T(dtype.Int64, shape...)}, nil
}

func topKKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(TopKConfig)
	axis, err := cfg.axis(c)
	if err != nil {
		return nil, err
	}
	from, to := lanesOf(c.In[0].Sizes(), axis), lanesOf(c.Out[0].Sizes(), axis)
	most := cfg.Largest == nil || *cfg.Largest
	return perNumber(c, topKOf(from, to, most, rankFloats32), topKOf(from, to, most, rankFloats64),
		topKOf(from, to, most, rankInts[int64]), topKOf(from, to, most, rankInts[uint64]))
}

func topKOf[T number](from, to lanes, most bool, rank func(ranks []int64, src []T, step int)) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		if to.n == 0 {
			return nil
		}
		src := dtype.Slice[T](in[0])
		values, indices := dtype.ElemsAt[T](out, 0), dtype.ElemsAt[int64](out, 1)
		rows, grain := from.outer*from.step, max(1, 4096/max(from.n, 1))
		release, err := x.Reserve(8 * int64(from.n+to.n) * int64(min(kernel.CeilDiv(rows, grain), pool(x).Threads())))
		if err != nil {
			return err
		}
		defer release()
		pool(x).Range(rows, grain, func(lo, hi int) {
			ranks, best := kernel.Uncleared[int64](from.n), kernel.Uncleared[int](to.n)
			for k := lo; k < hi; k++ {
				at, dst := from.at(k), to.at(k)
				if !(to.n == 1 && most && from.step == 1 && largestNumberAt(pool(x), best, src[at:][:from.n])) {
					pool(x).InParts(from.n, func(lo, hi int) {
						part := ranks[lo:hi]
						if rank(part, src[at+lo*from.step:], from.step); most {
							return
						}
						for i, r := range part {
							part[i] = ^r
						}
					})
					highest(pool(x), best, ranks)
				}
				pace := pool(x).Pace()
				for _, j := range best {
					pace.Did(4)
					if values != nil {
						values[dst] = src[at+j*from.step]
					}
					if indices != nil {
						indices[dst] = int64(j)
					}
					dst += to.step
				}
			}
		})
		return nil
	}
}

// largestNumberAt sets best to where the first of the largest elements of a row of float32 is; false if the elements
// are others or one of them is NaN.
func largestNumberAt[T number](p *kernel.Pool, best []int, row []T) bool {
	floats, ok := any(row).([]float32)
	if !ok {
		return false
	}
	best[0] = largestAt(p, floats)
	return floats[best[0]] == floats[best[0]]
}

// rankFloats32 sets ranks to integers that have the order of the elements of src, with stride step; 0
// equals −0, and NaN is the smallest.
func rankFloats32(ranks []int64, src []float32, step int) {
	for i := range ranks {
		v := src[i*step]
		bits := int32(math.Float32bits(v + 0))
		ranks[i] = int64(bits ^ bits>>31&math.MaxInt32)
		if v != v {
			ranks[i] = math.MinInt64
		}
	}
}

// rankFloats64 is rankFloats32 for float64.
func rankFloats64(ranks []int64, src []float64, step int) {
	for i := range ranks {
		v := src[i*step]
		bits := int64(math.Float64bits(v + 0))
		ranks[i] = bits ^ bits>>63&math.MaxInt64
		if v != v {
			ranks[i] = math.MinInt64
		}
	}
}

// rankInts is rankFloats32 for integers.
func rankInts[T int64 | uint64](ranks []int64, src []T, step int) {
	var flip int64
	if ^T(0) > 0 { // unsigned
		flip = math.MinInt64
	}
	for i := range ranks {
		ranks[i] = int64(src[i*step]) ^ flip
	}
}

// highest sets best to the positions of the highest ranks, in descending order; equal ones are in ascending order of position.
func highest(p *kernel.Pool, best []int, ranks []int64) {
	switch k := len(best); {
	case k == 1:
		best[0] = 0
		p.InParts(len(ranks), func(lo, hi int) {
			for i, r := range ranks[lo:hi] {
				if r > ranks[best[0]] {
					best[0] = lo + i
				}
			}
		})
	case k <= 16:
		for i := range best {
			insertRank(best[:i+1], ranks, i)
		}
		least := ranks[best[k-1]]
		p.InParts(len(ranks), func(lo, hi int) {
			for i := max(k, lo); i < hi; i++ {
				if ranks[i] > least {
					insertRank(best, ranks, i)
					least = ranks[best[k-1]]
				}
			}
		})
	default:
		pace := p.Pace()
		for i := range best {
			pace.Did(1)
			best[i] = i
		}
		for i := k/2 - 1; i >= 0; i-- {
			pace.Did(8)
			sinkRank(best, ranks, i)
		}
		for i := k; i < len(ranks); i++ {
			pace.Did(1)
			if ranks[i] > ranks[best[0]] {
				best[0] = i
				pace.Did(16) // memory far apart
				sinkRank(best, ranks, 0)
			}
		}
		compared := 0
		slices.SortFunc(best, func(a, b int) int {
			compared++
			checkAt(p, compared)
			if d := cmp.Compare(ranks[b], ranks[a]); d != 0 {
				return d
			}
			return a - b
		})
	}
}

// insertRank inserts i into best, whose last place is free.
func insertRank(best []int, ranks []int64, i int) {
	at := len(best) - 1
	for ; at > 0 && ranks[best[at-1]] < ranks[i]; at-- {
		best[at] = best[at-1]
	}
	best[at] = i
}

// sinkRank restores the order of a heap, the lowest rank first and of equal ones the last, below place i.
func sinkRank(heap []int, ranks []int64, i int) {
	lower := func(a, b int) bool { return ranks[a] < ranks[b] || ranks[a] == ranks[b] && a > b }
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && lower(heap[child+1], heap[child]) {
			child++
		}
		if !lower(heap[child], heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func topKGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	axis, err := c.Config.(TopKConfig).axis(c)
	if err != nil {
		return nil, err
	}
	index := out[min(1, len(out)-1)]
	if len(out) < 2 || index == nil { // the indices are not used
		again, err := c.ApplyN(2, TopKConfig{Axis: &axis, K: c.Out[0].Shape[axis].Size, Largest: c.Config.(TopKConfig).Largest}, in[0])
		if err != nil {
			return nil, err
		}
		index = again[1]
	}
	d, err := c.Apply1(blockSumConfig{Shape: c.In[0].Shape, Axis: axis}, dout[0], index)
	return gorgonia.Nodes{d, nil}, err
}

func coupleTopK(c *op.Call) []coupling.Coupling {
	axis, err := c.Config.(TopKConfig).axis(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	for a := range c.In[0].Shape {
		if a == axis {
			continue
		}
		for o := range c.Out[:min(2, len(c.Out))] {
			if c.Out[o].Present() {
				list = append(list, op.Couple(coupling.In(0, a), coupling.Out(o, a)))
			}
		}
	}
	return list
}

// topKVersions: before version 10 the number is an attribute; before 11 it looks for the largest elements only.
func topKVersions() []op.Version {
	up := op.OnConfig(func(n *op.Spelling, c *TopKConfig) error {
		n.Put(1, n.Vector("k", c.K))
		c.K = 0
		return nil
	})
	down := op.OnConfig(func(n *op.Spelling, c *TopKConfig) error {
		k, err := n.Ints(1)
		if err != nil || len(k) != 1 {
			return errors.Join(err, errors.New("k is not a number"))
		}
		c.K = k[0]
		n.Cut(1)
		return nil
	})
	largest := op.OnConfig(func(n *op.Spelling, c *TopKConfig) error {
		if c.Largest != nil && !*c.Largest {
			return errors.New("that version finds the largest elements only")
		}
		c.Largest, c.Sorted = nil, nil
		return nil
	})
	return []op.Version{{At: 10, Up: up, Down: down}, {At: 11, Down: largest, New: op.Where{"T": op.Integers()}}}
}
