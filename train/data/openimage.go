package data

import (
	"bufio"
	"fmt"
	"image"

	"github.com/graft-ml/graft/internal/disk"
	"gorgonia.org/tensor"
)

// OpenImage decodes an image file, applies its Exif orientation, and drops transparency: the colours of transparent pixels are those that are stored. Errors name
// the file.
func OpenImage(path string) (image.Image, error) {
	img, release, err := decode(path)
	if err != nil {
		return nil, err
	}
	release()
	return img, nil
}

// ImageSize returns the width and height of an image file from its header, with its Exif orientation applied.
func ImageSize(path string) (image.Point, error) {
	f, err := disk.Open(path)
	if err != nil {
		return image.Point{}, fmt.Errorf("data: %w", err)
	}
	defer f.Close()
	c, _, err := image.DecodeConfig(bufio.NewReader(f))
	if err != nil {
		return image.Point{}, fmt.Errorf("data: %s: %w", path, err)
	}
	if orientation(f) > 4 {
		return image.Pt(c.Height, c.Width), nil
	}
	return image.Pt(c.Width, c.Height), nil
}

// AsImage converts a tensor float32 [1 or 3, height, width], from 0 (black) to 1 (white), to an image.
func AsImage(x *tensor.Dense) (image.Image, error) {
	if x == nil {
		return nil, errNoTensor
	}
	s := x.Shape()
	if x.Dtype() != tensor.Float32 || len(s) != 3 || s[0] != 1 && s[0] != 3 || elements(s) == 0 || !contiguous(x) {
		return nil, fmt.Errorf("data: %v of shape %v, want an image: float32 [1 or 3, height, width]", x.Dtype(), s)
	}
	return asImage(x), nil
}
