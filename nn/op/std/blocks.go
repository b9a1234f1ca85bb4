package std

import (
	"math/bits"
	"sync"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// blocks describes which blocks of a tensor an index tensor selects. GatherElements, GatherND and the
// scatter operators differ only in this.
type blocks struct {
	size  int // elements of a block
	count int // number of selected blocks
	// part sets at to the offsets of the blocks from number lo on.
	part func(at []int, index *tensor.Dense, lo int) error
}

// elementBlocks selects single elements: the index replaces the element's coordinate along the axis.
func elementBlocks(c *op.Call, data, index []int, axis int) blocks {
	strides, length, last := rowStrides(data), data[axis], len(index)-1
	step, along := strides[axis], 1
	if axis == last {
		along = 0
	}
	return blocks{1, dtype.Product(index), func(at []int, t *tensor.Dense, lo int) error {
		places := placesOf(t)
		for len(at) > 0 {
			rest, first := lo/index[last], lo%index[last]
			base := first * along
			for a := last - 1; a >= 0; a-- {
				if a != axis {
					base += rest % index[a] * strides[a]
				}
				rest /= index[a]
			}
			n := min(len(at), index[last]-first)
			if bad := places(at[:n], lo, length, base, step, along); bad < n {
				return c.Errorf("index %d is outside of an axis of length %d", indexAt(t, lo+bad), length)
			}
			at, lo = at[n:], lo+n
		}
		return nil
	}}
}

// placesOf returns a function that sets at to the offsets base + v*step of the indices v from number lo of t on, where
// base grows by along each time. Negative indices count from the end of an axis of the given length. It returns the
// number of offsets before the first index that is out of range.
func placesOf(t *tensor.Dense) func(at []int, lo, length, base, step, along int) int {
	if dtype.Of(t.Dtype()) == dtype.Int32 {
		return places(dtype.Slice[int32](t))
	}
	return places(dtype.Slice[int64](t))
}

func places[I int32 | int64](index []I) func(at []int, lo, length, base, step, along int) int {
	return func(at []int, lo, length, base, step, along int) int {
		for i, v := range index[lo:][:len(at)] {
			k := int(v)
			k += length & (k >> (bits.UintSize - 1))
			if uint(k) >= uint(length) {
				return i
			}
			at[i] = base + k*step
			base += along
		}
		return len(at)
	}
}

// indexAt returns index number i of t.
func indexAt(t *tensor.Dense, i int) int {
	if dtype.Of(t.Dtype()) == dtype.Int32 {
		return int(dtype.Slice[int32](t)[i])
	}
	return int(dtype.Slice[int64](t)[i])
}

// tupleBlocks selects by coordinate tuples: the last axis of the index tensor holds the coordinates on the axes
// after the batch axes; a block consists of the remaining axes.
func tupleBlocks(c *op.Call, data, index []int, batch int) blocks {
	strides := rowStrides(data)
	k := index[len(index)-1]
	size := dtype.Product(data[batch+k:])
	perBatch, batchSize := dtype.Product(index[batch:len(index)-1]), dtype.Product(data[batch:])
	return blocks{size, dtype.Product(index[:len(index)-1]), func(at []int, t *tensor.Dense, lo int) error {
		places := placesOf(t)
		var one [1]int
		for i := range at {
			r := lo + i
			at[i] = r / perBatch * batchSize
			for j := range k {
				n := data[batch+j]
				if places(one[:], r*k+j, n, at[i], strides[batch+j], 0) == 0 {
					return c.Errorf("index %d is outside of axis %d of length %d", indexAt(t, r*k+j), batch+j, n)
				}
				at[i] = one[0]
			}
		}
		return nil
	}}
}

// all returns the offsets of all blocks, in scratch memory.
func (b blocks) all(x *op.Exec, index *tensor.Dense) ([]int, error) {
	at := x.Int(b.count)
	return at, b.each(pool(x).Serial(), index, func(lo int, places []int) { copy(at[lo:], places) })
}

// each calls f, on p, for ranges of blocks, with the number lo of the first and the offsets of all.
func (b blocks) each(p *kernel.Pool, index *tensor.Dense, f func(lo int, at []int)) error {
	const most = 512
	chunk := max(1, min(most, checkEvery/max(b.size, 1)))
	var lock sync.Mutex
	var failed error
	p.Range((b.count+chunk-1)/chunk, 8, func(from, to int) {
		var buffer [most]int
		pace := p.Pace()
		for i := from; i < to; i++ {
			at := buffer[:min(chunk, b.count-i*chunk)]
			if err := b.part(at, index, i*chunk); err != nil {
				lock.Lock()
				failed = err
				lock.Unlock()
				return
			}
			f(i*chunk, at)
			pace.Did(len(at) * b.size)
		}
	})
	return failed
}

// gather copies the blocks, of elements of width bytes, contiguously.
func (b blocks) gather(x *op.Exec, dst, src []byte, index *tensor.Dense, width int) error {
	n := b.size * width
	if b.size == 1 && width == 4 {
		to, from := words[uint32](dst), words[uint32](src)
		return b.each(pool(x), index, func(lo int, at []int) {
			to := to[lo:][:len(at)]
			for i, k := range at {
				to[i] = from[k]
			}
		})
	}
	return b.each(pool(x), index, func(lo int, at []int) {
		p := pool(x)
		for i, k := range at {
			kernel.Copy(p, dst[(lo+i)*n:][:n], src[k*width:])
		}
	})
}

// scatter is the inverse of gather; of repeated blocks the last one is kept.
func (b blocks) scatter(p *kernel.Pool, dst, src []byte, index *tensor.Dense, width int) error {
	n := b.size * width
	if b.size == 1 && width == 4 {
		to, from := words[uint32](dst), words[uint32](src)
		return b.each(p, index, func(lo int, at []int) {
			from := from[lo:][:len(at)]
			for i, k := range at {
				to[k] = from[i]
			}
		})
	}
	return b.each(p, index, func(lo int, at []int) {
		for i, k := range at {
			kernel.Copy(p, dst[k*width:][:n], src[(lo+i)*n:])
		}
	})
}

// scatterWith combines the existing blocks with the updates, in order.
func scatterWith[T number](p *kernel.Pool, b blocks, dst, src []T, index *tensor.Dense, f func(a, b T) T) error {
	return b.each(p, index, func(lo int, at []int) {
		src := src[lo*b.size:]
		for i, k := range at {
			d := dst[k : k+b.size]
			for j, v := range src[i*b.size:][:b.size] {
				d[j] = f(d[j], v)
			}
		}
	})
}

// scatterAdd is scatterWith for sums.
func scatterAdd[T number](p *kernel.Pool, b blocks, dst, src []T, index *tensor.Dense) error {
	return b.each(p, index, func(lo int, at []int) {
		src := src[lo*b.size:]
		if b.size == 1 {
			src := src[:len(at)]
			for i, k := range at {
				dst[k] += src[i]
			}
			return
		}
		for i, k := range at {
			addInto(p, dst[k:k+b.size], src[i*b.size:][:b.size])
		}
	})
}

// addInto adds src to dst.
func addInto[T number](p *kernel.Pool, dst, src []T) {
	if d, ok := any(dst).([]float32); ok {
		if len(d) < checkEvery {
			p = nil
		}
		elementwise.Add(p, d, d, any(src).([]float32))
		return
	}
	for i, v := range src {
		dst[i] += v
	}
}

// blockSumConfig adds blocks up in zeros: the gradient of everything that gathers.
type blockSumConfig struct {
	Shape []op.Dim
	Axis  int // of element blocks
	Tuple bool
	Batch int // of tuple blocks
}

func (blockSumConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "BlockSum"} }

func (cfg blockSumConfig) blocks(c *op.Call) blocks {
	if cfg.Tuple {
		return tupleBlocks(c, op.Sizes(cfg.Shape), c.In[1].Sizes(), cfg.Batch)
	}
	return elementBlocks(c, op.Sizes(cfg.Shape), c.In[1].Sizes(), cfg.Axis)
}

func blockSum() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "BlockSum", Since: []int{1}, Decompose: spelled(spellBlockSum), Doc: "Gradient of gathering: adds blocks up where they came from.",
		In: "dY T, indices Tind", Out: "dX T",
		Where: op.Where{"T": {dtype.Float32, dtype.Float64}, "Tind": op.Indices()}, Attrs: blockSumConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(blockSumConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			b := c.Config.(blockSumConfig).blocks(c)
			if c.In[0].DType == dtype.Float64 {
				return blockSumKernel[float64](b), nil
			}
			return blockSumKernel[float32](b), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func blockSumKernel[T kernel.Float](b blocks) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		kernel.Clear(pool(x), out[0].Raw)
		return scatterAdd(pool(x).Serial(), b, dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), in[1])
	}
}
