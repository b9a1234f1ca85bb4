package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GatherConfig has the attribute of Gather.
type GatherConfig struct {
	Axis int `onnx:"axis,default=0"` // from −rank to rank−1
}

// Operator makes GatherConfig a Config.
func (GatherConfig) Operator() op.Name { return op.Name{Name: "Gather"} }

func gather() *op.Op {
	return &op.Op{
		Name: "Gather", Since: []int{1, 11, 13}, Versions: []op.Version{frontAxisInt(func(c *GatherConfig) *int { return &c.Axis })},
		Doc: "Picks slices of an axis by their indices: rows of an embedding table, say.",
		In:  "data T weight, indices Tind", Out: "output T", Where: op.Where{"Tind": op.Indices()},
		Attrs: GatherConfig{},
		Infer: inferGather, Dims: gatherDims, Kernel: gatherKernel, Strings: moveStrings,
		Grad: gatherGrad, Couple: coupleGather, Traits: op.Traits{Zero: op.ZeroFirst, Range: op.RangeFirst, LooksUp: true, Resize: resizeGather, Picks: gatherPicks},
	}
}

func (cfg GatherConfig) axis(c *op.Call) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	return c.Axis(cfg.Axis, rank)
}

func inferGather(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked || c.In[1].Unranked {
		return []op.Type{{DType: c.In[0].DType, Unranked: true}}, nil
	}
	axis, err := c.Config.(GatherConfig).axis(c)
	if err != nil {
		return nil, err
	}
	x := c.In[0].Shape
	return []op.Type{c.In[0].With(slices.Concat(x[:axis], c.In[1].Shape, x[axis+1:])...)}, nil
}

func gatherDims(c *op.Call) []op.Known {
	if !c.In[0].DType.IsInteger() || len(c.In[0].Shape) != 1 || len(c.In[1].Shape) > 1 {
		return nil
	}
	d, err := c.Dims(0)
	if err != nil {
		return nil
	}
	index, err := c.Ints(1)
	if err != nil {
		return nil
	}
	part := make([]op.Dim, len(index))
	for i, k := range index {
		if k < 0 {
			k += len(d)
		}
		if k < 0 || k >= len(d) {
			return nil
		}
		part[i] = d[k]
	}
	return []op.Known{{Dims: part}}
}

func gatherKernel(c *op.Call) (op.Kernel, error) {
	axis, err := c.Config.(GatherConfig).axis(c)
	if err != nil {
		return nil, err
	}
	shape := c.In[0].Sizes()
	length := shape[axis]
	outer, inner := around(shape, axis)
	inner *= c.In[0].DType.Size()
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		index := indexInts(x, in[1])
		if err := wrapIndices(pool(x), c, index, length); err != nil {
			return err
		}
		dst, src, n, p := out[0].Raw, in[0].Raw, len(index), pool(x)
		p.Range(outer*n, max(1, 16384/max(inner, 1)), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				from := (r/n*length + index[r%n]) * inner
				kernel.Copy(p, dst[r*inner:(r+1)*inner], src[from:from+inner])
			}
		})
		return nil
	}, nil
}

func gatherGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	axis, err := c.Config.(GatherConfig).axis(c)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(gatherGradConfig{axis, c.In[0].Shape}, dout[0], in[1])
	return gorgonia.Nodes{d, nil}, err
}

type gatherGradConfig struct {
	Axis  int
	Shape []op.Dim
}

func (gatherGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "GatherGrad"} }

func gatherGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "GatherGrad", Since: []int{1}, Decompose: spelled(spellGatherGrad), Doc: "Gradient of Gather: adds slices up where they came from.",
		In: "dY T, indices Tind", Out: "dX T",
		Where: op.Where{"T": {dtype.Float32, dtype.Float64}, "Tind": op.Indices()}, Attrs: gatherGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(gatherGradConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			if c.In[0].DType == dtype.Float64 {
				return gatherGradKernel[float64](c), nil
			}
			return gatherGradKernel[float32](c), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

// gatherGradKernel assigns each worker a range of the table's rows, so that every row is summed in
// the order of the indices.
func gatherGradKernel[T kernel.Float](c *op.Call) op.Kernel {
	cfg := c.Config.(gatherGradConfig)
	shape := op.Sizes(cfg.Shape)
	length := shape[cfg.Axis]
	outer, inner := around(shape, cfg.Axis)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		index := indexInts(x, in[1])
		if err := wrapIndices(pool(x), c, index, length); err != nil {
			return err
		}
		dx, dy := dtype.Slice[T](out[0]), dtype.Slice[T](in[0])
		p := pool(x)
		part := max(1, min(1024, checkEvery/max(inner, 1))) // rows between two checks
		p.Range(length, max(1, 16384/max(inner*outer, 1)), func(lo, hi int) {
			pace := p.Pace()
			for o := range outer {
				kernel.Clear(p, dx[(o*length+lo)*inner:(o*length+hi)*inner])
				for from := 0; from < len(index); from += part {
					some := index[from:min(from+part, len(index))]
					pace.Did(len(some) * inner)
					for i, k := range some {
						if k < lo || k >= hi {
							continue
						}
						d, s := dx[(o*length+k)*inner:][:inner], dy[(o*len(index)+from+i)*inner:][:inner]
						if inner <= kernel.LongRow {
							addTo(d, s)
						} else {
							p.InParts(inner, func(lo, hi int) { addTo(d[lo:hi], s[lo:hi]) })
						}
					}
				}
			}
		})
		return nil
	}
}

func addTo[T kernel.Float](d, s []T) {
	for j, v := range s {
		d[j] += v
	}
}

// coupleGather ties the axes that are not gathered; of the gathered one a known permutation.
func coupleGather(c *op.Call) []coupling.Coupling {
	axis, err := c.Config.(GatherConfig).axis(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	for a := range c.In[0].Shape {
		to := a
		if a == axis {
			if perm := gatherPerm(c, axis); perm != nil {
				k := op.Couple(coupling.In(0, a), coupling.Out(0, a))
				k.Map = coupling.Map{Relation: coupling.Permutation, Perm: perm}
				list = append(list, k)
			}
			continue
		}
		if a > axis {
			to += len(c.In[1].Shape) - 1
		}
		list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, to)))
	}
	for a := range c.In[1].Shape {
		list = append(list, op.Couple(coupling.In(1, a), coupling.Out(0, axis+a)))
	}
	return list
}

// gatherPerm maps indices of the gathered axis to those of the output, when the indices are known
// and each occurs once.
func gatherPerm(c *op.Call, axis int) []int {
	if len(c.In[1].Shape) != 1 {
		return nil
	}
	index, err := c.Ints(1)
	if err != nil || len(index) != c.In[0].Shape[axis].Size {
		return nil
	}
	perm := slices.Repeat([]int{-1}, len(index))
	for i, k := range index {
		if k < 0 {
			k += len(index)
		}
		if k < 0 || k >= len(index) || perm[k] >= 0 {
			return nil
		}
		perm[k] = i
	}
	return perm
}

// gatherPicks are constant indices of the gathered axis.
func gatherPicks(c *op.Call, axis int) []int {
	along, err := c.Config.(GatherConfig).axis(c)
	if err != nil || along != axis || !c.Has(1) || len(c.In[1].Shape) > 1 || !c.In[0].Shape[axis].Known() {
		return nil
	}
	index, err := c.Ints(1)
	if err != nil {
		return nil
	}
	n := c.In[0].Shape[axis].Size
	picks := kernel.Uncleared[int](len(index))
	for i, k := range index {
		if k < 0 {
			k += n
		}
		if k < 0 || k >= n {
			return nil
		}
		picks[i] = k
	}
	return picks
}

// resizeGather renumbers constant indices.
func resizeGather(r *op.Resizing) error {
	c := r.Call
	axis, err := c.Config.(GatherConfig).axis(c)
	kept := r.In[0].KeptOn(axis)
	index, unknown := c.Ints(1)
	if err != nil || unknown != nil || kept == nil {
		return err
	}
	to := map[int]int{}
	var fresh []int // positions of new indices
	for i, k := range kept {
		if k >= 0 {
			to[k] = i
		} else {
			fresh = append(fresh, i)
		}
	}
	stays := r.In[1].KeptOn(0)
	if stays == nil {
		for j := range index {
			stays = append(stays, j)
		}
	}
	var now []int
	for _, j := range stays {
		if j < 0 {
			if len(fresh) == 0 {
				return c.Errorf("cannot read the new channels")
			}
			now, fresh = append(now, fresh[0]), fresh[1:]
			continue
		}
		x := index[j]
		if x < 0 {
			x += r.In[0].Old[axis]
		}
		i, ok := to[x]
		if !ok {
			return c.Errorf("reads index %d of axis %d, which is cut", x, axis)
		}
		now = append(now, i)
	}
	r.Put(1, now)
	return nil
}
