package data

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// Tensor prepares an image that is already a tensor: float32 [channels, height, width] with one or three channels (red,
// green, blue), from 0 (black) to 1 (white). The result has p's Shape. Gray is repeated for colour, colour converted to
// luminance for gray; if the size differs, the image is rounded to bytes, scaled and cropped as Eval does.
func (p Preprocess) Tensor(x *tensor.Dense) (*tensor.Dense, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if x == nil {
		return nil, errNoTensor
	}
	s := x.Shape()
	if x.Dtype() != tensor.Float32 || len(s) != 3 || s[0] != 1 && s[0] != 3 || elements(s) == 0 || !contiguous(x) {
		return nil, fmt.Errorf("data: %v of shape %v, want an image: float32 [1 or 3, height, width]", x.Dtype(), s)
	}
	h, w := p.geometry()
	if s[1] != h || s[2] != w {
		return p.Image(asImage(x))
	}
	v := x.Float32s()
	n := h * w
	c := p.channels()
	out := make([]float32, c*n)
	for k := range c {
		from := k
		if p.BGR {
			from = c - 1 - k
		}
		mean, std := pick(p.Mean, from, 0), pick(p.Std, from, 1)
		scale, shift := float32(p.white()/std), float32(-mean/std)
		at, step := k*n, 1
		if p.NHWC {
			at, step = k, c
		}
		for i := range n {
			out[at+i*step] = scale*level(v, n, s[0], from, i, p.Gray) + shift
		}
	}
	return tensor.New(tensor.WithShape(p.Shape()...), tensor.WithBacking(out)), nil
}

// level returns a channel of pixel i of an image with n pixels and the given number of channels.
func level(v []float32, n, channels, channel, i int, gray bool) float32 {
	switch {
	case channels == 1:
		return v[i]
	case gray:
		return 0.299*v[i] + 0.587*v[n+i] + 0.114*v[2*n+i]
	}
	return v[channel*n+i]
}

// asImage rounds a tensor [1 or 3, height, width] to bytes.
func asImage(x *tensor.Dense) *image.RGBA {
	s, v := x.Shape(), x.Float32s()
	n := s[1] * s[2]
	img := image.NewRGBA(image.Rect(0, 0, s[2], s[1]))
	for i := range n {
		for k := range 3 {
			img.Pix[4*i+k] = uint8(math.Round(255 * float64(max(0, min(1, level(v, n, s[0], k, i, false))))))
		}
		img.Pix[4*i+3] = 255
	}
	return img
}

// Prepare applies Preprocess.Tensor to a set whose samples have one image tensor each, as IDX and CIFAR return them.
func (p Preprocess) Prepare(s Dataset[Sample]) Dataset[Sample] {
	return Map(s, func(in Sample, _ *rand.Rand) (Sample, error) {
		if len(in.X) != 1 {
			return Sample{}, fmt.Errorf("data: a sample of %d inputs, want one image", len(in.X))
		}
		x, err := p.Tensor(in.X[0])
		return Sample{X: []*tensor.Dense{x}, Y: in.Y}, err
	})
}

// Images returns a set of images in memory: [N, height, width], [N, channels, height, width] or [N, height, width, channels] with one or
// three channels, uint8 or, from 0 to 1, float32; and classes, integers [N]. Samples are like those of IDX.
func Images(x, y *tensor.Dense) (Dataset[Sample], error) {
	if x == nil || y == nil {
		return nil, errNoTensor
	}
	s := x.Shape()
	class, ok, err := integers(y)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if !ok || y.Dims() != 1 || len(s) == 0 || len(class) != s[0] {
		return nil, fmt.Errorf("data: images of shape %v with labels %v of shape %v, want an integer for each image", s, y.Dtype(), y.Shape())
	}
	if x.Dtype() != tensor.Uint8 && x.Dtype() != tensor.Float32 || !contiguous(x) {
		return nil, fmt.Errorf("data: images are %v, want uint8 or float32", x.Dtype())
	}
	few := func(c int) bool { return c == 1 || c == 3 }
	shape, last := []int(nil), false
	switch {
	case len(s) == 3:
		shape = []int{1, s[1], s[2]}
	case len(s) == 4 && few(s[1]):
		shape = []int{s[1], s[2], s[3]}
	case len(s) == 4 && few(s[3]):
		shape, last = []int{s[3], s[1], s[2]}, true
	default:
		return nil, fmt.Errorf("data: shape %v, want images: [N, height, width], [N, channels, height, width] or [N, height, width, channels]", s)
	}
	if x.Dtype() == tensor.Uint8 {
		from := x.Uint8s()
		if last {
			from = channelsFirst(from, shape)
		}
		return images8{from, shape, class}, nil
	}
	from := x.Float32s()
	if last {
		from = channelsFirst(from, shape)
	}
	return Tensors(tensor.New(tensor.WithShape(append([]int{s[0]}, shape...)...), tensor.WithBacking(from)),
		tensor.New(tensor.WithShape(s[0]), tensor.WithBacking(class)))
}

// channelsFirst transposes images [height, width, channels] to the shape [channels, height, width].
func channelsFirst[T any](from []T, shape []int) []T {
	c, n := shape[0], shape[1]*shape[2]
	to := make([]T, len(from))
	for i := range from {
		image, k := i/(n*c)*n*c, i%(n*c)
		to[image+k%c*n+k/c] = from[i]
	}
	return to
}

// Scale returns s with (white·x − mean)/std for each number x of its one input, which is float32 or float64. mean and
// std have one value, or one for each index of the first axis of a sample; empty ones are 0 and 1.
func Scale(s Dataset[Sample], white float64, mean, std []float64) Dataset[Sample] {
	return Map(s, func(in Sample, _ *rand.Rand) (Sample, error) {
		if len(in.X) != 1 {
			return Sample{}, fmt.Errorf("data: a sample of %d inputs, want one to scale", len(in.X))
		}
		x, err := scaled(in.X[0], white, mean, std)
		return Sample{X: []*tensor.Dense{x}, Y: in.Y}, err
	})
}

func scaled(x *tensor.Dense, white float64, mean, std []float64) (*tensor.Dense, error) {
	shape := x.Shape()
	float := x.Dtype() == tensor.Float32 || x.Dtype() == tensor.Float64
	if !float || !contiguous(x) {
		return nil, fmt.Errorf("data: %v cannot be scaled by a mean and a deviation, want float32 or float64", x.Dtype())
	}
	places := 1
	if len(shape) > 0 {
		places = shape[0]
	}
	for _, v := range [][]float64{mean, std} {
		if len(v) > 1 && len(v) != places {
			return nil, fmt.Errorf("data: %d means or deviations for a sample of shape %v, want 1 or %d", len(v), shape, places)
		}
	}
	v, err := floats32(x)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	out := make([]float32, len(v))
	for i, f := range v {
		k := i / max(1, len(v)/max(1, places))
		out[i] = float32((white*float64(f) - pick(mean, k, 0)) / pick(std, k, 1))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(out)), nil
}
