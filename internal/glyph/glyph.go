package glyph

import (
	"fmt"
	"image"
	"image/draw"
	"math"
	"math/rand/v2"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Size is the width and height of an image in pixels.
const Size = 28

// Set renders n images of the characters of classes, in turn: image i shows character i modulo their number.
// images is [n,1,Size,Size], row-major, values 0 (ground) to 1 (ink); labels[i] is the index into the characters of
// classes. It is an error when classes is empty or holds a character twice or one that the faces lack.
func Set(classes string, n int, seed uint64) (images []float32, labels []int64, err error) {
	p, err := newPen(classes)
	if err != nil {
		return nil, nil, err
	}
	if n < 0 {
		return nil, nil, fmt.Errorf("glyph: %d images asked for", n)
	}
	images = make([]float32, n*Size*Size)
	labels = make([]int64, n)
	for i := range n {
		labels[i] = int64(i % len(p.runes))
		pic, err := p.render(i, seed)
		if err != nil {
			return nil, nil, err
		}
		for j, v := range pic.Pix {
			images[i*Size*Size+j] = float32(v) / 255
		}
	}
	return images, labels, nil
}

// pen holds the parsed faces and what is reused between images.
type pen struct {
	runes []rune
	faces []*sfnt.Font
	buf   sfnt.Buffer
	ink   *vector.Rasterizer
}

func newPen(classes string) (*pen, error) {
	p := &pen{runes: []rune(classes), ink: vector.NewRasterizer(Size, Size)}
	if len(p.runes) == 0 {
		return nil, fmt.Errorf("glyph: no classes")
	}
	for _, ttf := range [][]byte{goregular.TTF, gomedium.TTF, gobold.TTF, goitalic.TTF, gobolditalic.TTF, gomono.TTF, gomonobold.TTF} {
		face, err := sfnt.Parse(ttf)
		if err != nil {
			return nil, fmt.Errorf("glyph: %w", err)
		}
		p.faces = append(p.faces, face)
	}
	seen := map[rune]bool{}
	for _, r := range p.runes {
		if seen[r] {
			return nil, fmt.Errorf("glyph: class %q is listed twice", r)
		}
		seen[r] = true
		for _, face := range p.faces {
			if i, err := face.GlyphIndex(&p.buf, r); err != nil || i == 0 {
				return nil, fmt.Errorf("glyph: no outline for %q", r)
			}
		}
	}
	return p, nil
}

// render renders image i of a seed: every image has its own random generator.
func (p *pen) render(i int, seed uint64) (*image.Gray, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	if err := p.trace(p.runes[i%len(p.runes)], rng); err != nil {
		return nil, err
	}
	mask := image.NewAlpha(image.Rect(0, 0, Size, Size))
	p.ink.DrawOp = draw.Src
	p.ink.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})

	ground, ink := 0.15*rng.Float64(), 0.65+0.35*rng.Float64()
	noise := 0.12 * rng.Float64()
	pic := image.NewGray(mask.Bounds())
	for j, a := range mask.Pix {
		v := ground + (ink-ground)*float64(a)/255 + noise*rng.NormFloat64()
		pic.Pix[j] = uint8(math.Round(255 * min(max(v, 0), 1)))
	}
	return pic, nil
}

// trace hands the outline of r to the rasterizer: scaled, slanted, rotated about its middle and moved.
func (p *pen) trace(r rune, rng *rand.Rand) error {
	face := p.faces[rng.IntN(len(p.faces))]
	index, err := face.GlyphIndex(&p.buf, r)
	if err != nil {
		return fmt.Errorf("glyph: %q: %w", r, err)
	}
	// The outline is loaded large, so that its fixed-point grid does not show, and then scaled.
	const em = 256
	outline, err := face.LoadGlyph(&p.buf, index, fixed.I(em), nil)
	if err != nil {
		return fmt.Errorf("glyph: %q: %w", r, err)
	}
	box := outline.Bounds()
	midX, midY := float64(box.Min.X+box.Max.X)/128, float64(box.Min.Y+box.Max.Y)/128
	uniform := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	scale := uniform(19, 29) / em
	stretch, slant := uniform(0.85, 1.15), uniform(-0.15, 0.15)
	sin, cos := math.Sincos(uniform(-15, 15) * math.Pi / 180)
	toX, toY := Size/2+uniform(-2.5, 2.5), Size/2+uniform(-2.5, 2.5)
	at := func(q fixed.Point26_6) (float32, float32) {
		y := (float64(q.Y)/64 - midY) * scale
		x := (float64(q.X)/64-midX)*scale*stretch - slant*y
		return float32(toX + cos*x - sin*y), float32(toY + sin*x + cos*y)
	}

	p.ink.Reset(Size, Size)
	for _, s := range outline {
		x0, y0 := at(s.Args[0])
		x1, y1 := at(s.Args[1])
		x2, y2 := at(s.Args[2])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			p.ink.ClosePath()
			p.ink.MoveTo(x0, y0)
		case sfnt.SegmentOpLineTo:
			p.ink.LineTo(x0, y0)
		case sfnt.SegmentOpQuadTo:
			p.ink.QuadTo(x0, y0, x1, y1)
		case sfnt.SegmentOpCubeTo:
			p.ink.CubeTo(x0, y0, x1, y1, x2, y2)
		}
	}
	p.ink.ClosePath()
	return nil
}
