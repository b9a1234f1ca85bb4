package std

import (
	"cmp"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Col2ImConfig has the attributes of Col2Im.
type Col2ImConfig struct {
	Dilations []int `onnx:"dilations"` // of the kernel, per spatial axis; nil: 1
	Pads      []int `onnx:"pads"`      // elements added before each spatial axis, then after each; nil: 0
	Strides   []int `onnx:"strides"`   // per spatial axis; nil: 1
}

// Operator makes Col2ImConfig a Config.
func (Col2ImConfig) Operator() op.Name { return op.Name{Name: "Col2Im"} }

func col2Im() *op.Op {
	return &op.Op{
		Name: "Col2Im", Since: []int{18}, Doc: "Adds blocks, the columns of the input, up to images.",
		In: "input T, image_shape int64 shape, block_shape int64 shape", Out: "output T", Where: op.Where{"T": op.Numeric()}, Attrs: Col2ImConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			image, block, err := col2imShapes(c)
			if err != nil {
				return []op.Type{{DType: c.In[0].DType, Unranked: true}}, err
			}
			if c.In[0].Unranked {
				return []op.Type{c.In[0]}, nil
			}
			in := c.In[0].Shape
			if len(in) != 3 {
				return nil, c.Mismatch(0, "batch, channels times block, and blocks", c.In[0])
			}
			n := op.D(1)
			for _, k := range block {
				n = n.Mul(k)
			}
			ch := in[1].Div(n)
			if ch.Mul(n).Differ(in[1]) {
				return nil, c.Errorf("%v rows do not divide into blocks of %v", in[1], n)
			}
			return convOutput(c, append([]op.Dim{in[0], ch}, image...))
		},
		Kernel: widened(func(c *op.Call) (op.Kernel, error) {
			m, err := col2imMap(c)
			if err != nil {
				return nil, err
			}
			return perNumber(c, addBlocks[float32](m), addBlocks[float64](m), addBlocks[int64](m), addBlocks[uint64](m))
		}),
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			m, err := col2imMap(c)
			if err != nil {
				return nil, err
			}
			d, err := c.Apply1(im2colConfig{c.In[0].Shape, m}, dout[0])
			return gorgonia.Nodes{d}, err
		},
		Pinned: "channels and block share an axis",
	}
}

// col2imShapes returns the spatial shapes of image and block.
func col2imShapes(c *op.Call) (image, block []op.Dim, err error) {
	if image, err = c.Dims(1); err != nil {
		return nil, nil, err
	}
	if block, err = c.Dims(2); err != nil {
		return nil, nil, err
	}
	if len(image) != len(block) || len(image) == 0 {
		return nil, nil, c.Errorf("image has %d axes, block %d", len(image), len(block))
	}
	if err := cmp.Or(noNegative(c, 1, image), noNegative(c, 2, block)); err != nil {
		return nil, nil, err
	}
	for i := range image {
		for _, d := range []op.Dim{image[i], block[i]} {
			if d.Sym == "" && (d.Size < 1 || d.Size > maxExtent) {
				return nil, nil, c.Errorf("image %v or block %v is out of range", image, block)
			}
		}
	}
	_, err = windows(c, image, block, c.Config.(Col2ImConfig).Strides, c.Config.(Col2ImConfig).Dilations, c.Config.(Col2ImConfig).Pads, "", false)
	return image, block, err
}

// blockMap has the offsets in an image of the elements of a row of columns [block·blocks], −1 for
// elements in the padding.
type blockMap struct {
	Rows, Image int
	At          []int
}

func col2imMap(c *op.Call) (*blockMap, error) {
	cfg := c.Config.(Col2ImConfig)
	image, block, err := col2imShapes(c)
	if err != nil {
		return nil, err
	}
	w, err := windows(c, image, block, cfg.Strides, cfg.Dilations, cfg.Pads, "", false)
	if err != nil {
		return nil, err
	}
	in, k, o, im := c.In[0].Sizes(), op.Sizes(block), op.Sizes(w.out), op.Sizes(image)
	if dtype.Product(o) != in[2] {
		return nil, c.Errorf("has %d blocks, the shapes make %d", in[2], dtype.Product(o))
	}
	elements := dtype.Product(k) * in[2]
	m, err := budget.Made(8*int64(elements), func() *blockMap {
		return &blockMap{Rows: in[0] * in[1] / max(dtype.Product(k), 1), Image: dtype.Product(im), At: make([]int, elements)}
	})
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	pace := poolOf(c).Pace()
	for i := range m.At {
		pace.Did(8)
		p, q, at, step := i/in[2], i%in[2], 0, 1
		for a := len(k) - 1; a >= 0; a-- {
			x := q%o[a]*w.stride[a] + p%k[a]*w.dilation[a] - w.begin[a]
			p, q = p/k[a], q/o[a]
			if x < 0 || x >= im[a] || at < 0 {
				at = -1
				continue
			}
			at += x * step
			step *= im[a]
		}
		m.At[i] = at
	}
	return m, nil
}

// blockElements is the number of elements between two checks of the context.
const blockElements = 16 * kernel.CheckEvery

func addBlocks[T number](m *blockMap) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, dst := dtype.Slice[T](in[0]), dtype.Slice[T](out[0])
		pool(x).Run(m.Rows, func(_, r int) {
			d := dst[r*m.Image : (r+1)*m.Image]
			clear(d)
			columns := src[r*len(m.At) : (r+1)*len(m.At)]
			for lo := 0; lo < len(columns); lo += blockElements {
				pool(x).Check()
				for i, v := range columns[lo:min(lo+blockElements, len(columns))] {
					if k := m.At[lo+i]; k >= 0 {
						d[k] += v
					}
				}
			}
		})
		return nil
	}
}

type im2colConfig struct {
	Shape []op.Dim
	Map   *blockMap
}

func (im2colConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "Im2Col"} }

func im2Col() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "Im2Col", Since: []int{1}, Doc: "Gradient of Col2Im: cuts images into blocks.",
		In: "dY T", Out: "dX T", Where: op.Where{"T": op.Floats()}, Attrs: im2colConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{c.In[0].With(c.Config.(im2colConfig).Shape...)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			m := c.Config.(im2colConfig).Map
			return floatKernel(c, cutBlocks[float32](m), cutBlocks[float64](m)), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func cutBlocks[T kernel.Float](m *blockMap) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, dst := dtype.Slice[T](in[0]), dtype.Slice[T](out[0])
		pool(x).Run(m.Rows, func(_, r int) {
			for lo := 0; lo < len(m.At); lo += blockElements {
				pool(x).Check()
				for i, k := range m.At[lo:min(lo+blockElements, len(m.At))] {
					v := T(0)
					if k >= 0 {
						v = src[r*m.Image+k]
					}
					dst[r*len(m.At)+lo+i] = v
				}
			}
		})
		return nil
	}
}
