package std

import (
	"cmp"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// UniqueConfig has the attributes of Unique.
type UniqueConfig struct {
	Axis   *int  `onnx:"axis"`            // that slices are compared along; nil: single elements
	Sorted *bool `onnx:"sorted,nil=true"` // ascending; false: in order of first occurrence; nil: true
}

// Operator makes UniqueConfig a Config.
func (UniqueConfig) Operator() op.Name { return op.Name{Name: "Unique"} }

func unique() *op.Op {
	return &op.Op{
		Name: "Unique", Since: []int{11},
		Doc: "The different elements or slices, where each stands first, which of them each one is, and how often it occurs.",
		In:  "X T", Out: "Y T, indices? int64, inverse_indices? int64, counts? int64", Attrs: UniqueConfig{},
		Infer: inferUnique,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				now := *c
				now.Ctx = x.Context() // not that of the lowering, which may have ended
				res, err := uniqueValues(pool(x), &now, in[0])
				if err != nil {
					return err
				}
				for i, d := range out {
					if d == nil {
						continue
					}
					from := append(res, res[1])[i].(*tensor.Dense)
					if !slices.Equal(from.Shape(), d.Shape()) {
						return c.Errorf("found %v, the program was compiled for %v", from.Shape(), d.Shape())
					}
					kernel.Copy(pool(x), d.Raw, from.Raw)
				}
				return nil
			}, nil
		},
		Strings: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
			res, err := uniqueValues(poolOf(c), c, in[0])
			if err != nil {
				return nil, err
			}
			return append(res, res[1])[:len(c.Out)], nil
		},
		Grad: uniqueGradient, Pinned: "compares elements",
		Hidden: func(c *op.Call) []op.Type { return []op.Type{op.T(dtype.Int64, uniqueCount(c))} },
	}
}

// uniqueCount returns the number of different elements or slices.
func uniqueCount(c *op.Call) op.Dim {
	cfg := c.Config.(UniqueConfig)
	if cfg.Axis == nil {
		return c.Out[0].Shape[0]
	}
	axis, _ := c.Axis(*cfg.Axis, len(c.Out[0].Shape)) // inference has checked it
	return c.Out[0].Shape[axis]
}

// uniqueGradient passes each gradient to the first of the equal elements, whose position is the hidden output.
func uniqueGradient(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	if dout[0] == nil {
		return nil, nil
	}
	cfg, shape, axis := c.Config.(UniqueConfig), c.In[0].Shape, 0
	if cfg.Axis == nil {
		shape = []op.Dim{op.Product(shape)}
	} else {
		var err error
		if axis, err = c.Axis(*cfg.Axis, len(shape)); err != nil {
			return nil, err
		}
	}
	d, err := c.Apply1(gatherGradConfig{axis, shape}, dout[0], out[len(c.Op.Out.List())])
	if err != nil {
		return nil, err
	}
	d, err = c.ReshapeTo(d, c.In[0].Shape...)
	return gorgonia.Nodes{d}, err
}

func inferUnique(c *op.Call) ([]op.Type, error) {
	partly := []op.Type{{DType: c.In[0].DType, Unranked: true}, op.T(dtype.Int64, op.Unknown()), op.T(dtype.Int64, op.Unknown()), op.T(dtype.Int64, op.Unknown())}
	v, err := c.Value(0)
	if err != nil {
		return partly, err
	}
	out, err := uniqueValues(poolOf(c), c, v)
	if err != nil {
		return nil, err
	}
	for i, v := range out {
		partly[i] = op.TypeOf(v)
	}
	return partly, nil
}

// uniqueValues computes all four outputs.
func uniqueValues(p *kernel.Pool, c *op.Call, v dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(UniqueConfig)
	shape, axis := []int(v.Shape()), 0
	if cfg.Axis == nil {
		n, err := dtype.Count(shape)
		if err != nil {
			return nil, err
		}
		shape = []int{n}
	} else {
		var err error
		if axis, err = c.Axis(*cfg.Axis, len(shape)); err != nil {
			return nil, err
		}
	}
	// The numbers as floats or integers, and the items in order.
	release, err := (*engine.Exec)(nil).Reserve(8*int64(v.Shape().TotalSize()) + 16*int64(shape[axis]))
	if err != nil {
		return nil, err
	}
	defer release()
	compare, err := elementOrder(p, v)
	if err != nil {
		return nil, err
	}
	outer, inner := around(shape, axis)
	n := shape[axis]
	order := func(a, b int) int {
		for o := range outer {
			for i := range inner {
				checkAt(p, i+1)
				if d := compare((o*n+a)*inner+i, (o*n+b)*inner+i); d != 0 {
					return d
				}
			}
		}
		return 0
	}
	first, inverse, counts, err := classes(p, n, order, cfg.Sorted != nil && !*cfg.Sorted)
	if err != nil {
		return nil, err
	}
	index, err := dtype.FromSlice(first, len(first))
	if err != nil {
		return nil, err
	}
	flat, err := compute1(c, ReshapeConfig{Shape: shape, AllowZero: true}, 1, v)
	if err != nil {
		return nil, err
	}
	y, err := compute1(c, GatherConfig{Axis: axis}, 13, flat, index)
	if err != nil {
		return nil, err
	}
	inv, err := dtype.FromSlice(inverse, len(inverse))
	if err != nil {
		return nil, err
	}
	cnt, err := dtype.FromSlice(counts, len(counts))
	return []dtype.Value{y, index, inv, cnt}, err
}

// elementOrder compares elements of a tensor by position.
func elementOrder(p *kernel.Pool, v dtype.Value) (func(a, b int) int, error) {
	if s, ok := v.(*dtype.Strings); ok {
		return func(a, b int) int { return cmp.Compare(s.Elems[a], s.Elems[b]) }, nil
	}
	d, ok := v.(*tensor.Dense)
	if !ok {
		return nil, &op.Error{Op: "Unique", Want: "a tensor", Got: op.TypeOf(v)}
	}
	if dtype.DTypeOf(d).IsFloat() {
		f, err := float64s(p, d)
		return func(a, b int) int { return cmp.Compare(f[a], f[b]) }, err
	}
	n, err := int64s(p, d)
	if dtype.DTypeOf(d) == dtype.Uint64 {
		return func(a, b int) int { return cmp.Compare(uint64(n[a]), uint64(n[b])) }, err
	}
	return func(a, b int) int { return cmp.Compare(n[a], n[b]) }, err
}

// classes sorts n items into classes of equal ones: the first of each class, the class of each
// item and the size of each class, in order or in that of first occurrence.
func classes(p *kernel.Pool, n int, order func(a, b int) int, byOccurrence bool) (first, inverse, counts []int64, err error) {
	pace := p.Pace()
	items := kernel.Uncleared[int](n)
	for i := range items {
		pace.Did(1)
		items[i] = i
	}
	compared := 0
	slices.SortFunc(items, func(a, b int) int { // a stable sort rotates long blocks without comparing
		compared++
		checkAt(p, compared)
		return cmp.Or(order(a, b), cmp.Compare(a, b))
	})
	inverse = kernel.Uncleared[int64](n)
	size := 0
	for k, i := range items {
		if pace.Did(8); k == 0 || order(items[k-1], i) != 0 {
			size++
		}
		inverse[i] = int64(size - 1)
	}
	release, err := (*engine.Exec)(nil).Reserve(6 * 8 * int64(size))
	if err != nil {
		return nil, nil, nil, err
	}
	defer release()
	first, counts = kernel.Uncleared[int64](size), kernel.Zeros[int64](p, size)
	for _, i := range items {
		pace.Did(8)
		class := inverse[i]
		if counts[class] == 0 {
			first[class] = int64(i)
		}
		counts[class]++
	}
	if !byOccurrence {
		return first, inverse, counts, nil
	}
	rank := kernel.Uncleared[int](len(first))
	for i := range rank {
		pace.Did(1)
		rank[i] = i
	}
	slices.SortFunc(rank, func(a, b int) int {
		pace.Did(8)
		return cmp.Compare(first[a], first[b])
	})
	f, k, to := kernel.Uncleared[int64](len(first)), kernel.Uncleared[int64](len(first)), kernel.Uncleared[int64](len(first))
	for new, old := range rank {
		pace.Did(8)
		f[new], k[new], to[old] = first[old], counts[old], int64(new)
	}
	for i, c := range inverse {
		pace.Did(4)
		inverse[i] = to[c]
	}
	return f, inverse, k, nil
}
