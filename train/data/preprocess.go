package data

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// Preprocess describes how an image becomes a tensor. It belongs to a model, and is stored in its metadata
// (Preprocess.Meta).
//
// An element of the tensor is (Range·p − Mean)/Std, where p is the pixel from 0 (black) to 1 (white); transparency is dropped, as PIL's convert("RGB") does. The zero value is
// Unit at 224×224.
type Preprocess struct {
	Size  int     `json:"size,omitempty"`  // height of the tensor; 0: 224
	Width int     `json:"width,omitempty"` // width; 0: Size
	Crop  float64 `json:"crop,omitempty"`  // Eval scales to Size/Crop and crops the center; 0: 0.875
	Range float64 `json:"range,omitempty"` // value of white before Mean and Std; 0: 1
	// Mean and Std have a value per channel, in the order red, green, blue regardless of
	// BGR, or one value for all; nil: 0 and 1.
	Mean []float64 `json:"mean,omitempty"`
	Std  []float64 `json:"std,omitempty"`
	BGR  bool      `json:"bgr,omitempty"`  // channels in the order blue, green, red
	Gray bool      `json:"gray,omitempty"` // one channel of luminance
	NHWC bool      `json:"nhwc,omitempty"` // channels last: [height, width, channels]

	MinArea float64 `json:"-"` // smallest fraction of the image's area that Augment crops; 0: 0.08
	NoFlip  bool    `json:"-"` // Augment does not flip: for digits, signs, text

	Policy Augmentation `json:"-"` // how Augment and Vary change images
}

// The usual preprocessing of images. The values may be copied and changed, but their slices
// must not be written to.
var (
	// ImageNet is that of torchvision: 0 … 1, normalized by the mean and deviation of ImageNet.
	ImageNet = Preprocess{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}
	// Caffe has the channels blue, green, red from 0 … 255, less the mean.
	Caffe = Preprocess{Range: 255, Mean: []float64{123.68, 116.779, 103.939}, BGR: true}
	// Unit is 0 … 1.
	Unit = Preprocess{}
	// Raw is 0 … 255.
	Raw = Preprocess{Range: 255}
)

// ImageFile is an image file and its class; −1 is not a class.
type ImageFile struct {
	Path  string // of the image file
	Class int    // its class
}

// geometry returns the size of the tensor.
func (p Preprocess) geometry() (height, width int) {
	height = p.Size
	if height == 0 {
		height = 224
	}
	width = p.Width
	if width == 0 {
		width = height
	}
	return height, width
}

func (p Preprocess) channels() int {
	if p.Gray {
		return 1
	}
	return 3
}

// Shape returns the shape of the tensors that p makes, without batch axis.
func (p Preprocess) Shape() []int {
	h, w := p.geometry()
	if p.NHWC {
		return []int{h, w, p.channels()}
	}
	return []int{p.channels(), h, w}
}

// Check returns an error for invalid settings.
func (p Preprocess) Check() error {
	const most = 1 << 14
	h, w := p.geometry()
	if h < 1 || w < 1 || h > most || w > most {
		return fmt.Errorf("data: preprocess: size %d×%d, want 1 to %d each way", h, w, most)
	}
	if c := p.crop(); !(c > 0 && c <= 1) || float64(max(h, w))/c > most {
		return fmt.Errorf("data: preprocess: crop is %v, want a fraction of the size in (0, 1]", c)
	}
	if p.MinArea < 0 || p.MinArea > 1 || math.IsNaN(p.MinArea) {
		return fmt.Errorf("data: preprocess: least area is %v, want a fraction in (0, 1]", p.MinArea)
	}
	if r := p.white(); math.IsNaN(r) || math.IsInf(r, 0) {
		return fmt.Errorf("data: preprocess: range is %v", r)
	}
	for _, s := range []struct {
		name string
		v    []float64
		zero bool
	}{{"mean", p.Mean, true}, {"std", p.Std, false}} {
		if n := len(s.v); n > 1 && n != p.channels() {
			return fmt.Errorf("data: preprocess: %s has %d values, want 1 or %d", s.name, n, p.channels())
		}
		for _, v := range s.v {
			if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && !s.zero {
				return fmt.Errorf("data: preprocess: %s is %v", s.name, s.v)
			}
		}
	}
	return nil
}

func (p Preprocess) crop() float64 {
	if p.Crop == 0 {
		return 0.875
	}
	return p.Crop
}

func (p Preprocess) white() float64 {
	if p.Range == 0 {
		return 1
	}
	return p.Range
}

// pick returns v[c]; v[0] if v has one value for all channels, def if v is empty.
func pick(v []float64, c int, def float64) float64 {
	switch len(v) {
	case 0:
		return def
	case 1:
		return v[0]
	}
	return v[c]
}

// Eval reads an image for evaluation: scaled so that the shorter side, relative to the tensor, is Size/Crop, and
// center-cropped. X is one float32 tensor of p's Shape, Y the class as int64 of rank 0, or nothing for class −1. r is
// not used.
func (p Preprocess) Eval(i ImageFile, _ *rand.Rand) (Sample, error) {
	return p.sample(i, nil, nil)
}

// Augment reads an image for training: a random crop of random area and aspect ratio (3:4 to 4:3), scaled to Size,
// flipped horizontally with probability ½, and changed as Policy says. With a nil r it is Eval.
func (p Preprocess) Augment(i ImageFile, r *rand.Rand) (Sample, error) {
	return p.sample(i, r, nil)
}

// Open reads one image as Eval does, with a batch axis: [1, 3, 224, 224] for the zero value.
func (p Preprocess) Open(path string) (*tensor.Dense, error) {
	s, err := p.Eval(ImageFile{Path: path, Class: -1}, nil)
	if err != nil {
		return nil, err
	}
	b, err := Collate([]Sample{s})
	if err != nil {
		return nil, err
	}
	return b.X[0], nil
}

// String describes p on one line.
func (p Preprocess) String() string {
	h, w := p.geometry()
	order, layout := "RGB", "NCHW"
	switch {
	case p.Gray:
		order = "gray"
	case p.BGR:
		order = "BGR"
	}
	if p.NHWC {
		layout = "NHWC"
	}
	s := fmt.Sprintf("%d×%d %s %s, crop %g, 0…%g", h, w, order, layout, p.crop(), p.white())
	if len(p.Mean) > 0 {
		s += fmt.Sprintf(", mean %g", p.Mean)
	}
	if len(p.Std) > 0 {
		s += fmt.Sprintf(", std %g", p.Std)
	}
	return s
}

// For adapts p to a model's input of rank 4: size, channels and layout. A dimension of 0 or less is unknown and does
// not change p.
func (p Preprocess) For(dims []int) (Preprocess, error) {
	channels := func(d int) bool { return d == 1 || d == 3 }
	var c, h, w int
	switch {
	case len(dims) == 4 && channels(dims[1]):
		c, h, w, p.NHWC = dims[1], dims[2], dims[3], false
	case len(dims) == 4 && channels(dims[3]):
		h, w, c, p.NHWC = dims[1], dims[2], dims[3], true
	default:
		return p, fmt.Errorf("data: an input of shape %v takes no images: want [N, C, H, W] or [N, H, W, C] with 1 or 3 channels", dims)
	}
	if p.Gray = c == 1; p.Gray {
		p.BGR = false
		if len(p.Mean) > 1 {
			p.Mean = nil
		}
		if len(p.Std) > 1 {
			p.Std = nil
		}
	}
	if h > 0 {
		p.Size, p.Width = h, 0
	}
	if w > 0 && w != p.Size {
		p.Width = w
	}
	return p, p.Check()
}

// Guess returns a preprocessing for a model of which only the shape of the input is known: ImageNet for three channels,
// Unit for one. Small inputs, up to 64 pixels wide, are not cropped.
func Guess(dims []int) (Preprocess, error) {
	p, err := ImageNet.For(dims)
	if h, w := p.geometry(); err == nil && max(h, w) <= 64 {
		p.Crop = 1
	}
	return p, err
}
