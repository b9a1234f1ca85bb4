package data

import (
	"fmt"
	"image"
	"image/color"

	"golang.org/x/image/draw"
	"gorgonia.org/tensor"
)

// Placement maps an image to the tensor that was made of it: its point x is at ScaleX·x + Left of an image of Width
// by Height.
type Placement struct {
	Width, Height  float64
	ScaleX, ScaleY float64 // pixels of the tensor per pixel of the image
	Left, Top      float64 // position of the image in the tensor
}

// Whole prepares the whole image, where Image crops its center: stretched to the size of p or, with letterbox, scaled
// equally in both directions and centered on gray (114 of 255, as YOLO does). It returns the placement of the image in
// the tensor.
func (p Preprocess) Whole(img image.Image, letterbox bool) (*tensor.Dense, Placement, error) {
	if err := p.Check(); err != nil {
		return nil, Placement{}, err
	}
	if img == nil || img.Bounds().Empty() {
		return nil, Placement{}, fmt.Errorf("data: image without pixels")
	}
	h, w := p.geometry()
	b := img.Bounds()
	to := image.Rect(0, 0, w, h)
	out := image.NewRGBA(to)
	if letterbox {
		r := min(float64(w)/float64(b.Dx()), float64(h)/float64(b.Dy()))
		inW, inH := max(1, int(r*float64(b.Dx())+0.5)), max(1, int(r*float64(b.Dy())+0.5))
		to = image.Rect(0, 0, inW, inH).Add(image.Pt((w-inW)/2, (h-inH)/2))
		draw.Draw(out, out.Bounds(), image.NewUniform(color.Gray{114}), image.Point{}, draw.Src)
	}
	draw.BiLinear.Scale(out, to, opaque(img, false), b, draw.Src, nil)
	return p.numbers(out, false), Placement{
		Width: float64(w), Height: float64(h), Left: float64(to.Min.X), Top: float64(to.Min.Y),
		ScaleX: float64(to.Dx()) / float64(b.Dx()), ScaleY: float64(to.Dy()) / float64(b.Dy()),
	}, nil
}

// OpenImageOf is OpenImage for an image of a known size (0: any). If only the pixels as stored have that size, the Exif
// orientation is not applied.
func OpenImageOf(path string, width, height int) (image.Image, error) {
	list, release, err := decodeStored(path)
	if err != nil {
		return nil, err
	}
	defer release()
	img, up := list[0].Image, list[0].turned()
	size := image.Pt(width, height)
	switch {
	case width == 0 || height == 0 || up.Bounds().Size() == size:
		return up, nil
	case img.Bounds().Size() == size:
		return img, nil
	}
	return nil, fmt.Errorf("data: %s has %d×%d pixels, want %d×%d", path, up.Bounds().Dx(), up.Bounds().Dy(), width, height)
}
