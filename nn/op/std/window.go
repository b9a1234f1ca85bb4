package std

import (
	"math/bits"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// window is the geometry of a convolution or a pooling: one entry per spatial axis.
type window struct {
	kernel, out                  []op.Dim
	stride, dilation, begin, end []int
	ceil                         bool
	known                        bool // begin and end are the numbers in force
}

// maxExtent limits the sizes that attributes may declare for one axis, so that sums and products of a few
// of them fit an int.
const maxExtent = 1 << (bits.UintSize/2 - 1)

// windows resolves the attributes of a sliding window over spatial axes in. Absent lists are
// ones (strides, dilations) and zeros (pads).
func windows(c *op.Call, in, kernel []op.Dim, strides, dilations, pads []int, autoPad string, ceil bool) (*window, error) {
	n := len(in)
	w := &window{kernel: kernel, ceil: ceil, known: true}
	var err error
	if w.stride, err = perAxis(c, "strides", strides, n); err != nil {
		return nil, err
	}
	if w.dilation, err = perAxis(c, "dilations", dilations, n); err != nil {
		return nil, err
	}
	if len(kernel) != n {
		return nil, c.Errorf("kernel has %d dimensions, the input %d spatial ones", len(kernel), n)
	}
	for _, k := range kernel {
		if k.Known() && (k.Size < 1 || k.Size > maxExtent) {
			return nil, c.Errorf("kernel dimension %v is out of range", k)
		}
	}
	w.out = make([]op.Dim, n)
	switch autoPad {
	case "", "NOTSET":
		if pads, err = bothEnds(c, pads, n); err != nil {
			return nil, err
		}
		w.begin, w.end = pads[:n], pads[n:]
	case "VALID":
		w.begin, w.end, w.ceil = make([]int, n), make([]int, n), false
	case "SAME_UPPER", "SAME_LOWER":
		w.samePads(in, autoPad == "SAME_UPPER")
		return w, bounded(c, w, in)
	default:
		return nil, c.Errorf("auto_pad %q is unknown", autoPad)
	}
	for i, d := range in {
		if w.out[i], err = slide(c, w, i, d); err != nil {
			return nil, err
		}
	}
	return w, bounded(c, w, in)
}

// bounded refuses windows and borders that no kernel could lay out: a few bytes of attributes claim
// them. Strides along an axis with one position mean nothing, and become 1.
func bounded(c *op.Call, w *window, in []op.Dim) error {
	w.stride = slices.Clone(w.stride)
	plane, points, size := 1, 1, 1
	for i, d := range in {
		if w.out[i].Known() && w.out[i].Size <= 1 && !w.out[i].Symbolic() {
			w.stride[i] = 1
		}
		if !w.known || !d.Known() || !w.kernel[i].Known() {
			return nil
		}
		if k := w.kernel[i].Size; w.extent(i).Size > maxExtent || k > op.MaxElements/points {
			return c.Errorf("a kernel of %v with dilations %v is too large", w.kernel, w.dilation)
		}
		long := d.Size + w.begin[i] + w.end[i]
		if long > maxExtent || long > op.MaxElements/max(plane, 1) {
			return c.Errorf("spatial axes %v padded by %v and %v are too large", in, w.begin, w.end)
		}
		plane, points, size = plane*long, points*w.kernel[i].Size, size*d.Size
	}
	if points > maxMapped && points > size {
		return c.Errorf("a kernel of %v has %d points, more than the input's %d", w.kernel, points, size)
	}
	if plane > maxBorder && plane/8 > size {
		return c.Errorf("padding %v and %v makes planes of %d elements from %d", w.begin, w.end, plane, size)
	}
	return nil
}

// maxBorder is the size of a padded plane above which padding must not be most of it.
const maxBorder = 1 << 28

// extent returns the length that the kernel covers along axis i.
func (w *window) extent(i int) op.Dim {
	return w.kernel[i].Sub(op.D(1)).Mul(op.D(w.dilation[i])).Add(op.D(1))
}

// slide counts the positions of the window along axis i of length d.
func slide(c *op.Call, w *window, i int, d op.Dim) (op.Dim, error) {
	if w.kernel[i] == op.Unknown() || d == op.Unknown() {
		return op.Unknown(), nil
	}
	stride, ext := w.stride[i], w.extent(i)
	space := d.Add(op.D(w.begin[i] + w.end[i])).Sub(ext)
	if space.Sym == "" && space.Size < 0 || d.Known() && w.kernel[i].Known() && d.Size+w.begin[i]+w.end[i] < ext.Size {
		return op.Unknown(), c.Errorf("spatial axis %d of length %v with padding %d+%d is shorter than the kernel's %v", i, d, w.begin[i], w.end[i], ext)
	}
	if !w.ceil || stride == 1 {
		return space.Div(op.D(stride)).Add(op.D(1)), nil
	}
	out := space.Add(op.D(stride - 1)).Div(op.D(stride)).Add(op.D(1))
	if ext.Known() && w.end[i]+stride <= ext.Size {
		return out, nil
	}
	// A window must not begin in the padding after the end.
	return out.Min(d.Add(op.D(w.begin[i])).Sub(op.D(1)).Div(op.D(stride)).Add(op.D(1))), nil
}

// samePads makes the output ceil(in/stride) long; an odd padding has its larger half at the end (upper) or in front.
func (w *window) samePads(in []op.Dim, upper bool) {
	n := len(in)
	w.begin, w.end = make([]int, n), make([]int, n)
	for i, d := range in {
		stride := w.stride[i]
		if d == op.Unknown() {
			w.out[i], w.known = op.Unknown(), false
			continue
		}
		w.out[i] = d.Add(op.D(stride - 1)).Div(op.D(stride))
		if !d.Known() || !w.kernel[i].Known() {
			w.known = false
			continue
		}
		total := max((w.out[i].Size-1)*stride+w.extent(i).Size-d.Size, 0)
		w.begin[i] = total / 2
		if !upper {
			w.begin[i] = total - total/2
		}
		w.end[i] = total - w.begin[i]
	}
}

// perAxis checks a list of n positive numbers; an empty list means ones.
func perAxis(c *op.Call, name string, v []int, n int) ([]int, error) {
	if len(v) == 0 {
		return slices.Repeat([]int{1}, n), nil
	}
	if len(v) != n {
		return nil, c.Errorf("%s %v: want %d numbers", name, v, n)
	}
	for _, x := range v {
		if x < 1 || x > maxExtent {
			return nil, c.Errorf("%s %v: %d is out of range", name, v, x)
		}
	}
	return v, nil
}

// bothEnds checks pads: all begins, then all ends.
func bothEnds(c *op.Call, pads []int, n int) ([]int, error) {
	if len(pads) == 0 {
		return make([]int, 2*n), nil
	}
	if len(pads) != 2*n {
		return nil, c.Errorf("pads %v: want %d numbers", pads, 2*n)
	}
	for _, p := range pads {
		if p < 0 || p > maxExtent {
			return nil, c.Errorf("pads %v: %d is out of range", pads, p)
		}
	}
	return pads, nil
}

// spatialAxes checks that input 0 has batch, channels and 1 to 3 spatial axes and returns those.
func spatialAxes(c *op.Call) ([]op.Dim, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	if rank < 3 || rank > 5 {
		return nil, c.Mismatch(0, "batch, channels and 1 to 3 spatial axes", c.In[0])
	}
	return c.In[0].Shape[2:], nil
}
