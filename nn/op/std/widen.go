package std

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// number are the types for which generic kernels of this package are instantiated; widened converts every other
// numeric type to one of these.
type number interface {
	~float32 | ~float64 | ~int64 | ~uint64
}

// wide returns the type to which a narrow one is converted: float32 or int64.
func wide(d op.DType) op.DType {
	switch {
	case d == dtype.Float64, d == dtype.Uint64, d == dtype.Undefined, d == dtype.String, d.IsComplex():
		return d
	case d.IsFloat():
		return dtype.Float32
	}
	return dtype.Int64
}

// widened makes a kernel maker that knows float32, float64, int64 and uint64 only serve every
// numeric type and bool: narrow inputs and outputs are converted on the way.
func widened(k func(c *op.Call) (op.Kernel, error)) func(c *op.Call) (op.Kernel, error) {
	return func(c *op.Call) (op.Kernel, error) {
		w := *c
		var narrow bool
		w.In, narrow = widenTypes(c.In, narrow)
		w.Out, narrow = widenTypes(c.Out, narrow)
		f, err := k(&w)
		if err != nil || !narrow {
			return f, err
		}
		return func(x *op.Exec, out, in []*tensor.Dense) error {
			return runWidened(x, f, &w, out, in)
		}, nil
	}
}

func widenTypes(types []op.Type, narrow bool) ([]op.Type, bool) {
	list := append([]op.Type(nil), types...)
	for i, t := range list {
		if list[i].DType = wide(t.DType); list[i].DType != t.DType {
			narrow = true
		}
	}
	return list, narrow
}

func runWidened(x *op.Exec, f op.Kernel, w *op.Call, out, in []*tensor.Dense) error {
	release, err := x.Reserve(copies(in, w.In) + copies(out, w.Out))
	if err != nil {
		return err
	}
	defer release()
	ins, outs := append([]*tensor.Dense(nil), in...), append([]*tensor.Dense(nil), out...)
	for i, d := range in {
		if d == nil || i >= len(w.In) {
			continue
		}
		if ins[i], err = convertTo(pool(x), w.In[i].DType, d); err != nil {
			return err
		}
	}
	for i, d := range out {
		if d != nil && i < len(w.Out) && dtype.Of(d.Dtype()) != w.Out[i].DType {
			outs[i] = engine.Uncleared(w.Out[i].DType, d.Shape()...)
		}
	}
	if err := f(x, outs, ins); err != nil {
		return err
	}
	for i, d := range out {
		if outs[i] != d {
			if err := convert(pool(x), dtype.Cast{}, d, outs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// copies returns the number of bytes of tensors that must be converted to other types.
func copies(list []*tensor.Dense, types []op.Type) (n int64) {
	for i, d := range list {
		if d != nil && i < len(types) && dtype.Of(d.Dtype()) != types[i].DType {
			n += int64(d.Shape().TotalSize()) * int64(types[i].DType.Size())
		}
	}
	return n
}

// indexInts returns the elements of an int32 or int64 tensor, in scratch memory.
func indexInts(x *op.Exec, t *tensor.Dense) []int {
	n := x.Int(t.Shape().TotalSize())
	if dtype.Of(t.Dtype()) == dtype.Int32 {
		setInts(pool(x), n, dtype.Slice[int32](t))
	} else {
		setInts(pool(x), n, dtype.Slice[int64](t))
	}
	return n
}

func setInts[I int32 | int64](p *kernel.Pool, dst []int, src []I) {
	p.Range(len(dst), kernel.ElementGrain, func(lo, hi int) {
		for i, v := range src[lo:hi] {
			dst[lo+i] = int(v)
		}
	})
}

// wrapIndices makes negative indices count from the end of an axis of the given length and
// refuses those outside.
func wrapIndices(p *kernel.Pool, c *op.Call, index []int, length int) error {
	for i, v := range index {
		checkAt(p, i+1)
		if v < 0 {
			v += length
		}
		if v < 0 || v >= length {
			return c.Errorf("index %d is outside of an axis of length %d", index[i], length)
		}
		index[i] = v
	}
	return nil
}
