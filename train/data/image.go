package data

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoders register themselves with package image
	_ "image/jpeg"
	_ "image/png"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
	_ "golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
	"gorgonia.org/tensor"
)

// mostPixels limits the size that an image file may declare, to half a gigabyte of decoded pixels.
const mostPixels = 1 << 27

// pixelMemory returns about how many bytes a pixel takes while an image is decoded and turned.
func pixelMemory(m color.Model, format string, orientation int) (bytes int64) {
	switch _, indexed := m.(color.Palette); {
	case indexed:
		bytes = 2
	case m == color.GrayModel && format != "jpeg": // gray PNG files may declare a transparent gray
		bytes = 4
	default:
		return 8
	}
	if orientation > 1 { // it is turned as RGBA
		bytes += 4
	}
	return bytes
}

// decode reads an image file and applies its Exif orientation. A panic of the decoder on a corrupt file is returned as an error. release ends the charge
// for the image, when it is no longer used.
func decode(path string) (img image.Image, release func(), err error) {
	list, release, err := decodeStored(path)
	if err != nil {
		return nil, nil, err
	}
	return list[0].turned(), release, nil
}

// stored is an image file, with its pixels as they are stored.
type stored struct {
	image.Image
	path          string
	file          *disk.File
	width, height int
	orientation   int
	memory        int64 // bytes
}

// turned returns the image with its Exif orientation.
func (s *stored) turned() image.Image { return turned(s.Image, s.orientation) }

// decodeStored reads image files without applying their Exif orientations. All are charged at once, until release.
func decodeStored(paths ...string) (list []*stored, release func(), err error) {
	defer func() {
		for _, s := range list {
			s.file.Close()
		}
		if err != nil && release != nil {
			release()
		}
	}()
	sum := int64(0)
	for _, path := range paths {
		f, err := disk.Open(path)
		if err != nil {
			return list, nil, fmt.Errorf("data: %w", err)
		}
		s := &stored{path: path, file: f}
		list = append(list, s)
		if err := s.readable(s.header); err != nil {
			return list, nil, err
		}
		sum += s.memory
	}
	if release, err = takeImages(sum); err != nil {
		return list, nil, fmt.Errorf("data: %s: image of %d×%d pixels: %w", paths[0], list[0].width, list[0].height, err)
	}
	for _, s := range list {
		if err := s.readable(s.decode); err != nil {
			return list, release, err
		}
	}
	return list, release, nil
}

// readable calls read and returns its error, or panic, with the path of the file.
func (s *stored) readable(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file is truncated")
		}
		if err != nil {
			head := make([]byte, 32)
			n, e := s.file.ReadAt(head, 0)
			switch kind := imagefile.Unsupported(head[:n]); {
			case kind != "":
				err = fmt.Errorf("%s is not supported: want JPEG, PNG, GIF, BMP, TIFF, WebP or PNM", kind)
			case !errors.Is(err, image.ErrFormat):
			case n == 0 && e == io.EOF:
				err = errors.New("the file is empty")
			case n == 0:
				err = e // package image takes a file that it cannot read for an unknown format
			default:
				err = fmt.Errorf("%w: want JPEG, PNG, GIF, BMP, TIFF, WebP or PNM", err)
			}
		}
		if named := (*fs.PathError)(nil); errors.As(err, &named) && named.Path == s.path {
			err = named.Err
		}
		if err != nil {
			err = fmt.Errorf("data: %s: %w", s.path, err)
		}
	}()
	return read()
}

func (s *stored) header() error {
	c, format, err := image.DecodeConfig(bufio.NewReader(s.file))
	if err != nil {
		return err
	}
	if c.Width < 1 || c.Height < 1 || c.Width > mostPixels/c.Height {
		return fmt.Errorf("image of %d×%d pixels, want 1 to %d in all", c.Width, c.Height, mostPixels)
	}
	s.width, s.height, s.orientation = c.Width, c.Height, orientation(s.file)
	s.memory = pixelMemory(c.ColorModel, format, s.orientation) * int64(c.Width) * int64(c.Height)
	if _, err := s.file.Seek(0, 0); err != nil {
		return err
	}
	samples, progressive := imagefile.JPEGSamples(s.file)
	if s.memory = max(s.memory, samples); progressive {
		s.memory += 4 * samples
	}
	return nil
}

func (s *stored) decode() (err error) {
	if _, err := s.file.Seek(0, 0); err != nil {
		return err
	}
	img, format, err := image.Decode(bufio.NewReader(s.file))
	s.Image = img
	if err == nil && s.Bounds().Empty() {
		err = fmt.Errorf("image without pixels")
	}
	if err == nil {
		s.Image = opaque(imagefile.Colors(img, format, s.file), true)
	}
	return err
}

// inMemory counts the images that are charged: what has to wait until another is released does so.
var inMemory = struct {
	sync.Mutex
	images, released int
	change           *sync.Cond
}{}

func init() { inMemory.change = sync.NewCond(&inMemory) }

// takeImages charges n bytes until release. If they do not fit beside other images, it waits for these, which wait for nothing.
func takeImages(n int64) (release func(), err error) {
	for {
		inMemory.Lock()
		before := inMemory.released
		inMemory.Unlock()
		err := budget.Charge(n)
		inMemory.Lock()
		if err == nil {
			inMemory.images++
			inMemory.Unlock()
			return func() {
				budget.Discharge(n)
				inMemory.Lock()
				inMemory.images--
				inMemory.released++
				inMemory.change.Broadcast()
				inMemory.Unlock()
			}, nil
		}
		for inMemory.images > 0 && inMemory.released == before {
			inMemory.change.Wait()
		}
		again := inMemory.released != before
		inMemory.Unlock()
		if full, _ := errors.AsType[*budget.Error](err); !again || n > full.Limit {
			return nil, err
		}
	}
}

// Image prepares a decoded image as Eval does.
func (p Preprocess) Image(img image.Image) (*tensor.Dense, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if img == nil || img.Bounds().Empty() {
		return nil, fmt.Errorf("data: image without pixels")
	}
	return p.numbers(p.centre(opaque(img, false)), false), nil
}

// centre scales img so that it covers Size/Crop, and returns the center crop.
func (p Preprocess) centre(img image.Image) *image.RGBA {
	h, w := p.geometry()
	b := img.Bounds()
	coverH, coverW := math.Floor(float64(h)/p.crop()), math.Floor(float64(w)/p.crop())
	up := max(coverH/float64(b.Dy()), coverW/float64(b.Dx()))
	// The side that determines the scale is exact, the other is truncated, as in
	// torchvision.
	toH := max(int(coverH), int(float64(b.Dy())*up+1e-9))
	toW := max(int(coverW), int(float64(b.Dx())*up+1e-9))
	y, x := int(math.RoundToEven(float64(toH-h)/2)), int(math.RoundToEven(float64(toW-w)/2))
	if most := 8 * max(coverH, coverW); float64(toH) > most || float64(toW) > most {
		// Scaling all of a very narrow image would take too much memory.
		out := image.NewRGBA(image.Rect(0, 0, w, h))
		byX, byY := float64(toW)/float64(b.Dx()), float64(toH)/float64(b.Dy())
		draw.BiLinear.Transform(out, f64.Aff3{byX, 0, -float64(x) - byX*float64(b.Min.X), 0, byY, -float64(y) - byY*float64(b.Min.Y)}, img, b, draw.Src, nil)
		return out
	}
	all := image.NewRGBA(image.Rect(0, 0, toW, toH))
	draw.BiLinear.Scale(all, all.Bounds(), img, b, draw.Src, nil)
	return all.SubImage(image.Rect(x, y, x+w, y+h)).(*image.RGBA)
}

// resize scales the part r of img to the size of the tensor.
func (p Preprocess) resize(img image.Image, r image.Rectangle) *image.RGBA {
	h, w := p.geometry()
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(out, out.Bounds(), img, r, draw.Src, nil)
	return out
}

// middle returns the largest centered rectangle in b with the given aspect ratio, width
// divided by height.
func middle(b image.Rectangle, aspect float64) image.Rectangle {
	w, h := b.Dx(), b.Dy()
	if float64(w) > aspect*float64(h) {
		w = max(1, int(math.Round(aspect*float64(h))))
	} else {
		h = max(1, int(math.Round(float64(w)/aspect)))
	}
	w, h = min(w, b.Dx()), min(h, b.Dy())
	x, y := b.Min.X+(b.Dx()-w)/2, b.Min.Y+(b.Dy()-h)/2
	return image.Rect(x, y, x+w, y+h)
}

// part crops a rectangle of random area and aspect ratio and scales it, like
// torchvision's RandomResizedCrop.
func (p Preprocess) part(img image.Image, r *rand.Rand) *image.RGBA {
	h, w := p.geometry()
	b := img.Bounds()
	least := p.least()
	square := float64(w) / float64(h)
	for range 10 {
		area := (least + (1-least)*r.Float64()) * float64(b.Dx()) * float64(b.Dy())
		aspect := square * math.Exp((2*r.Float64()-1)*math.Log(4.0/3))
		cw := int(math.Round(math.Sqrt(area * aspect)))
		ch := int(math.Round(math.Sqrt(area / aspect)))
		if cw < 1 || ch < 1 || cw > b.Dx() || ch > b.Dy() {
			continue
		}
		x, y := b.Min.X+r.IntN(b.Dx()-cw+1), b.Min.Y+r.IntN(b.Dy()-ch+1)
		return p.resize(img, image.Rect(x, y, x+cw, y+ch))
	}
	return p.resize(img, middle(b, square))
}

// numbers converts pixels to a tensor, optionally mirrored.
func (p Preprocess) numbers(img *image.RGBA, mirror bool) *tensor.Dense {
	h, w := p.geometry()
	c := p.channels()
	out := make([]float32, c*h*w)
	var table [3][256]float32 // by channel, the value for each byte
	for k := range c {
		mean, std := pick(p.Mean, k, 0), pick(p.Std, k, 1)
		for v := range table[k] {
			table[k][v] = float32((p.white()*float64(v)/255 - mean) / std)
		}
	}
	at, pixel := h*w, 1 // strides of a channel and of a pixel
	if p.NHWC {
		at, pixel = 1, c
	}
	red, blue := 0, 2
	if p.BGR {
		red, blue = 2, 0
	}
	for y := range h {
		line := img.Pix[y*img.Stride:]
		for x := range w {
			px := line[4*x : 4*x+3 : 4*x+3]
			to := y*w + x
			if mirror {
				to = y*w + w - 1 - x
			}
			to *= pixel
			if p.Gray {
				out[to] = table[0][(299*int(px[0])+587*int(px[1])+114*int(px[2])+500)/1000]
				continue
			}
			out[to+red*at] = table[0][px[0]]
			out[to+at] = table[1][px[1]]
			out[to+blue*at] = table[2][px[2]]
		}
	}
	return tensor.New(tensor.WithShape(p.Shape()...), tensor.WithBacking(out))
}
