package std

import (
	"cmp"

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
			b, err := blocksOf(c)
			if err != nil {
				return nil, err
			}
			return perNumber(c, addBlocks[float32](b), addBlocks[float64](b), addBlocks[int64](b), addBlocks[uint64](b))
		}),
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			b, err := blocksOf(c)
			if err != nil {
				return nil, err
			}
			d, err := c.Apply1(im2colConfig{c.In[0].Shape, b}, dout[0])
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

// imageBlocks is where the columns of Col2Im, [rows, elements of a block, blocks], lie in the images, [rows, image].
type imageBlocks struct {
	rows, columns, image int
	axes                 []blockAxis // of the image
}

// A blockAxis has count blocks, which begin stride apart, the first so far before the image, of elements dilation apart.
type blockAxis struct{ image, block, count, stride, dilation, before int }

func blocksOf(c *op.Call) (*imageBlocks, error) {
	cfg := c.Config.(Col2ImConfig)
	image, block, err := col2imShapes(c)
	if err != nil {
		return nil, err
	}
	w, err := windows(c, image, block, cfg.Strides, cfg.Dilations, cfg.Pads, "", false)
	if err != nil {
		return nil, err
	}
	in, elements, counts := c.In[0].Sizes(), dtype.Product(op.Sizes(block)), dtype.Product(op.Sizes(w.out))
	if counts != in[2] {
		return nil, c.Errorf("has %d blocks, the shapes make %d", in[2], counts)
	}
	b := &imageBlocks{rows: in[0] * in[1] / elements, columns: elements * counts, image: dtype.Product(op.Sizes(image))}
	for a := range image {
		b.axes = append(b.axes, blockAxis{image[a].Size, block[a].Size, w.out[a].Size, w.stride[a], w.dilation[a], w.begin[a]})
	}
	return b, nil
}

// lines calls f for the columns that are in the image and not in its padding: n from the one at column on, whose places begin at place and are stride apart.
func (b *imageBlocks) lines(p *kernel.Pool, f func(column, n, place, stride int)) {
	pace := p.Pace()
	last := b.axes[len(b.axes)-1]
	outer := 1
	for _, a := range b.axes[:len(b.axes)-1] {
		outer *= a.count
	}
	for column := 0; column < b.columns; column += last.count {
		pace.Did(8)
		element, position := column/last.count/outer, column/last.count%outer
		place, step, first, inside := 0, 1, 0, true
		for i := len(b.axes) - 1; i >= 0; i-- {
			a := b.axes[i]
			at := element%a.block*a.dilation - a.before
			element /= a.block
			if i == len(b.axes)-1 {
				first = at
			} else {
				at += position % a.count * a.stride
				position /= a.count
				inside = inside && at >= 0 && at < a.image
				place += at * step
			}
			step *= a.image
		}
		if !inside || first >= last.image {
			continue
		}
		from := max(0, (last.stride-1-first)/last.stride)
		to := min(last.count, (last.image-1-first)/last.stride+1)
		for ; from < to; from += blockElements {
			n := min(blockElements, to-from)
			pace.Did(n)
			f(column+from, n, place+first+from*last.stride, last.stride)
		}
	}
}

// blockElements is the number of elements between two checks of the context.
const blockElements = 16 * kernel.CheckEvery

func addBlocks[T number](b *imageBlocks) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, dst := dtype.Slice[T](in[0]), dtype.Slice[T](out[0])
		pool(x).Run(b.rows, func(_, r int) {
			columns, image := src[r*b.columns:(r+1)*b.columns], dst[r*b.image:(r+1)*b.image]
			kernel.Clear(pool(x).Serial(), image)
			b.lines(pool(x), func(column, n, place, stride int) {
				for _, v := range columns[column : column+n] {
					image[place] += v
					place += stride
				}
			})
		})
		return nil
	}
}

type im2colConfig struct {
	Shape  []op.Dim
	Blocks *imageBlocks
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
			b := c.Config.(im2colConfig).Blocks
			return floatKernel(c, cutBlocks[float32](b), cutBlocks[float64](b)), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func cutBlocks[T kernel.Float](b *imageBlocks) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		src, dst := dtype.Slice[T](in[0]), dtype.Slice[T](out[0])
		pool(x).Run(b.rows, func(_, r int) {
			columns, image := dst[r*b.columns:(r+1)*b.columns], src[r*b.image:(r+1)*b.image]
			kernel.Clear(pool(x).Serial(), columns)
			b.lines(pool(x), func(column, n, place, stride int) {
				for i := range n {
					columns[column+i] = image[place+i*stride]
				}
			})
		})
		return nil
	}
}
