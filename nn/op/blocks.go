package op

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// blocks says which blocks of a tensor an index tensor picks. GatherElements, GatherND and the
// scatter operators are the same but for this.
type blocks struct {
	size int // elements of a block
	// at gives, for each index, where its block begins.
	at func(x *engine.Exec, index *tensor.Dense) ([]int, error)
}

// elementBlocks picks single elements: the index replaces the coordinate of its own position
// along the axis.
func elementBlocks(c *Call, data, index []int, axis int) blocks {
	strides := rowStrides(data)
	length := data[axis]
	return blocks{1, func(x *engine.Exec, t *tensor.Dense) ([]int, error) {
		at := indexInts(x, t)
		if err := wrapIndices(c, at, length); err != nil {
			return nil, err
		}
		if len(at) == 0 {
			return at, nil
		}
		last := len(index) - 1
		for row := range len(at) / index[last] {
			base, rest := 0, row
			for a := last - 1; a >= 0; a-- {
				if a != axis {
					base += rest % index[a] * strides[a]
				}
				rest /= index[a]
			}
			k := at[row*index[last]:][:index[last]]
			for j, v := range k {
				if k[j] = base + v; axis != last {
					k[j] = base + v*strides[axis] + j
				}
			}
		}
		return at, nil
	}}
}

// tupleBlocks picks by coordinates: the last axis of the index tensor holds those of the axes
// behind the batch axes, the block is what they leave.
func tupleBlocks(c *Call, data, index []int, batch int) blocks {
	strides := rowStrides(data)
	k := index[len(index)-1]
	size := 1
	for _, n := range data[batch+k:] {
		size *= n
	}
	perBatch, batchSize := 1, 1
	for _, n := range index[batch : len(index)-1] {
		perBatch *= n
	}
	for _, n := range data[batch:] {
		batchSize *= n
	}
	count := 1
	for _, n := range index[:len(index)-1] {
		count *= n
	}
	return blocks{size, func(x *engine.Exec, t *tensor.Dense) ([]int, error) {
		tuples := indexInts(x, t)
		at := x.Int(count)
		for r := range at {
			at[r] = r / perBatch * batchSize
			for j, v := range tuples[r*k : (r+1)*k] {
				n := data[batch+j]
				if v < 0 {
					v += n
				}
				if v < 0 || v >= n {
					return nil, c.Errorf("index %d is outside of axis %d of length %d", tuples[r*k+j], batch+j, n)
				}
				at[r] += v * strides[batch+j]
			}
		}
		return at, nil
	}}
}

// gather copies the blocks, elements of width bytes, behind one another.
func (b blocks) gather(x *engine.Exec, dst, src []byte, index *tensor.Dense, width int) error {
	at, err := b.at(x, index)
	if err != nil {
		return err
	}
	n := b.size * width
	if b.size == 1 && width == 4 {
		to, from := words[uint32](dst), words[uint32](src)
		x.Pool().Range(len(at), 4096, func(lo, hi int) {
			for r, k := range at[lo:hi] {
				to[lo+r] = from[k]
			}
		})
		return nil
	}
	x.Pool().Range(len(at), max(1, 16384/max(n, 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			copy(dst[r*n:(r+1)*n], src[at[r]*width:at[r]*width+n])
		}
	})
	return nil
}

// scatter is the inverse of gather; of blocks that are met twice the last one stays.
func (b blocks) scatter(x *engine.Exec, dst, src []byte, index *tensor.Dense, width int) error {
	at, err := b.at(x, index)
	if err != nil {
		return err
	}
	n := b.size * width
	if b.size == 1 && width == 4 {
		to, from := words[uint32](dst), words[uint32](src)
		for r, k := range at {
			to[k] = from[r]
		}
		return nil
	}
	for r, k := range at {
		copy(dst[k*width:k*width+n], src[r*n:(r+1)*n])
	}
	return nil
}

// scatterWith combines what is there with what comes, in order.
func scatterWith[T number](x *engine.Exec, b blocks, dst, src []T, index *tensor.Dense, f func(a, b T) T) error {
	at, err := b.at(x, index)
	if err != nil {
		return err
	}
	for r, k := range at {
		d := dst[k : k+b.size]
		for i, v := range src[r*b.size : (r+1)*b.size] {
			d[i] = f(d[i], v)
		}
	}
	return nil
}

// blockSumConfig adds blocks up in zeros: the gradient of everything that gathers.
type blockSumConfig struct {
	Shape []Dim
	Axis  int // of element blocks
	Tuple bool
	Batch int // of tuple blocks
}

func (blockSumConfig) Op() *Op { return standard(Internal, "BlockSum") }

func (cfg blockSumConfig) blocks(c *Call) blocks {
	if cfg.Tuple {
		return tupleBlocks(c, sizes(cfg.Shape), c.In[1].Sizes(), cfg.Batch)
	}
	return elementBlocks(c, sizes(cfg.Shape), c.In[1].Sizes(), cfg.Axis)
}

func blockSum() *Op {
	return &Op{
		Domain: Internal, Name: "BlockSum", Since: []int{1}, Doc: "Gradient of gathering: adds blocks up where they came from.",
		In: "dY T, indices Tind", Out: "dX T",
		Where: Where{"T": {dtype.Float32, dtype.Float64}, "Tind": Indices}, Attrs: blockSumConfig{},
		Infer: func(c *Call) ([]Type, error) {
			return []Type{c.In[0].With(c.Config.(blockSumConfig).Shape...)}, nil
		},
		Kernel: func(c *Call) (engine.Kernel, error) {
			b := c.Config.(blockSumConfig).blocks(c)
			if c.In[0].DType == dtype.Float64 {
				return blockSumKernel[float64](b), nil
			}
			return blockSumKernel[float32](b), nil
		},
		GradMissing: notTwice, Pinned: "gradient",
	}
}

func blockSumKernel[T kernel.Float](b blocks) engine.Kernel {
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		clear(out[0].Raw)
		at, err := b.at(x, in[1])
		if err != nil {
			return err
		}
		dx, dy := dtype.Slice[T](out[0]), dtype.Slice[T](in[0])
		if b.size == 1 {
			for r, k := range at {
				dx[k] += dy[r]
			}
			return nil
		}
		for r, k := range at {
			d := dx[k : k+b.size]
			kernel.Add(nil, d, d, dy[r*b.size:(r+1)*b.size])
		}
		return nil
	}
}
