package cli

import (
	"image"
	"image/color"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"golang.org/x/image/draw"
	"gorgonia.org/tensor"
)

// mapHeight is the minimum height of drawn maps, which are scaled by an integer.
const mapHeight = 224

// beside draws the input image and, to its right, the same in gray under the map.
func beside(x *tensor.Dense, p data.Preprocess, heat image.Image) (image.Image, error) {
	seen, err := looked(x, p)
	if err != nil {
		return nil, err
	}
	size := seen.Bounds().Size()
	factor := max(1, (mapHeight+size.Y-1)/size.Y)
	if size.Y < 2 || size.X > 4*mapHeight {
		factor = 1
	}
	w, h := size.X*factor, size.Y*factor
	out := image.NewRGBA(image.Rect(0, 0, 2*w, h))
	draw.NearestNeighbor.Scale(out, image.Rect(0, 0, w, h), seen, seen.Bounds(), draw.Src, nil)
	for y := range size.Y {
		for x := range size.X {
			c := heat.At(x, y).(color.RGBA)
			under := 0.5 * float64(color.GrayModel.Convert(seen.At(x, y)).(color.Gray).Y)
			light := func(v uint8) uint8 { return uint8(255 - (255-float64(v))*(255-under)/255) }
			over := image.NewUniform(color.RGBA{light(c.R), light(c.G), light(c.B), 255})
			draw.Draw(out, image.Rect(w+x*factor, y*factor, w+(x+1)*factor, (y+1)*factor), over, image.Point{}, draw.Src)
		}
	}
	return out, nil
}

// looked returns an input of one sample as an image: with p inverted or, if that leaves the range of pixels, scaled from
// its minimum to its maximum.
func looked(x *tensor.Dense, p data.Preprocess) (*image.RGBA, error) {
	v, err := dtype.Float64s(x)
	if err != nil {
		return nil, err
	}
	s := x.Shape()
	c, h, w := s[1], s[2], s[3]
	if p.NHWC {
		h, w, c = s[1], s[2], s[3]
	}
	of := func(list []float64, k int, none float64) float64 {
		switch {
		case len(list) == 0:
			return none
		case len(list) == 1:
			return list[0]
		}
		return list[k]
	}
	white := p.Range
	if white == 0 {
		white = 1
	}
	levels := make([]float64, h*w*c) // by pixel, in the order red, green, blue
	for k := range c {
		channel := k
		if p.BGR && c == 3 {
			channel = 2 - k
		}
		for i := range h * w {
			at := k*h*w + i
			if p.NHWC {
				at = i*c + k
			}
			levels[i*c+channel] = (v[at]*of(p.Std, channel, 1) + of(p.Mean, channel, 0)) / white
		}
	}
	if low, high := slices.Min(levels), slices.Max(levels); low < -0.01 || high > 1.01 {
		for i := range levels {
			levels[i] = (levels[i] - low) / max(high-low, 1e-9)
		}
	}
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range h * w {
		var rgb [3]uint8
		for k := range rgb {
			rgb[k] = uint8(math.Round(255 * min(1, max(0, levels[i*c+min(k, c-1)]))))
		}
		img.SetRGBA(i%w, i/w, color.RGBA{rgb[0], rgb[1], rgb[2], 255})
	}
	return img, nil
}
