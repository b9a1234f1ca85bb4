package data

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
	"golang.org/x/image/draw"
	"gorgonia.org/tensor"
)

// Masks is a folder of images with a folder of masks, which have the class of each pixel.
type Masks struct {
	Items   []MaskItem // sorted by the image's path
	Classes int        // one more than the largest class
	binary  bool       // masks are black and white
}

// MaskItem is an image file and its mask.
type MaskItem struct{ Image, Mask string }

// void is the gray level of pixels without a class, as in PASCAL VOC.
const void = 255

// maskDirs are the possible names of the two folders.
var maskDirs = [2][]string{{"images", "image", "imgs", "JPEGImages"}, {"masks", "mask", "labels", "annotations", "SegmentationClass"}}

// IsMaskFolder reports whether dir has a folder of images and one of masks.
func IsMaskFolder(dir string) bool {
	_, _, ok := findMasks(dir)
	return ok
}

func findMasks(dir string) (images, masks string, ok bool) {
	find := func(names []string) string {
		for _, n := range names {
			if info, err := os.Stat(filepath.Join(dir, n)); err == nil && info.IsDir() {
				return filepath.Join(dir, n)
			}
		}
		return ""
	}
	images, masks = find(maskDirs[0]), find(maskDirs[1])
	return images, masks, images != "" && masks != ""
}

// MaskFolder pairs the files of dir/images and dir/masks (also imgs, mask, labels or annotations) by name: a.jpg with
// a.png or a_mask.png. Masks are PNG files, either with a palette, whose indices are classes, or gray, whose levels
// are; black and white are classes 0 and 1, and level 255 besides others is ignored. An image without a mask, and a
// mask without an image, are errors. Every mask is read; the first that cannot be is an error.
func MaskFolder(dir string) (*Masks, error) {
	m, bad, err := ReadableMasks(dir)
	if err == nil && len(bad) > 0 {
		err = bad[0].Err
	}
	return m, err
}

// ReadableMasks is MaskFolder without the images whose masks cannot be read; these are returned as the second result,
// with class −1.
func ReadableMasks(dir string) (*Masks, []BadItem, error) {
	images, masks, ok := findMasks(dir)
	if !ok {
		return nil, nil, fmt.Errorf("data: %s: no folders images and masks in it", dir)
	}
	of := map[string]string{}
	list, err := entries(masks)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range list {
		if !e.Dir && imagefile.Named(e.Name) {
			name := stem(e.Name)
			of[name] = filepath.Join(masks, e.Name)
			if short := unmarked(name); short != name && of[short] == "" {
				of[short] = filepath.Join(masks, e.Name)
			}
		}
	}
	m := &Masks{}
	pictures, err := entries(images)
	if err != nil {
		return nil, nil, err
	}
	has := map[string]bool{}
	for _, e := range pictures {
		if e.Dir || !imagefile.Named(e.Name) {
			continue
		}
		mask := of[stem(e.Name)]
		if mask == "" {
			return nil, nil, fmt.Errorf("data: %s has no mask with the same name in %s", filepath.Join(images, e.Name), masks)
		}
		m.Items = append(m.Items, MaskItem{filepath.Join(images, e.Name), mask})
		has[stem(e.Name)] = true
	}
	for _, e := range list {
		if name := stem(e.Name); !e.Dir && imagefile.Named(e.Name) && !has[name] && !has[unmarked(name)] {
			return nil, nil, fmt.Errorf("data: %s has no image with the same name in %s", filepath.Join(masks, e.Name), images)
		}
	}
	if len(m.Items) == 0 {
		return nil, nil, fmt.Errorf("data: %s: no images in it", images)
	}
	bad, err := m.look()
	return m, bad, err
}

func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// unmarked returns the name of a mask without what marks it as one.
func unmarked(name string) string {
	for _, end := range []string{"_mask", "-mask", "_label", "_seg"} {
		if short, cut := strings.CutSuffix(name, end); cut {
			return short
		}
	}
	return name
}

// look reads all masks to find the classes, and removes the images whose masks cannot be read.
func (m *Masks) look() (bad []BadItem, err error) {
	var seen [256]bool
	for _, i := range m.Items {
		img, release, err := decode(i.Mask)
		if disk.Exhausted(err) {
			return nil, err
		}
		if err == nil {
			err = note(&seen, img)
			release()
			if err != nil {
				err = fmt.Errorf("data: %s: %w", i.Mask, err)
			}
		}
		if err != nil {
			bad = append(bad, BadItem{ImageFile{Path: i.Image, Class: -1}, err})
		}
	}
	if m.Drop(bad...); len(m.Items) == 0 {
		return bad, bad[0].Err
	}
	return bad, m.count(seen)
}

// note records the levels that occur in a mask.
func note(seen *[256]bool, img image.Image) error {
	level, err := levels(img)
	if err != nil {
		return err
	}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			seen[level(x, y)] = true
		}
	}
	return nil
}

// count determines the number of classes from the levels of all masks.
func (m *Masks) count(seen [256]bool) error {
	var list []int
	for v, ok := range seen {
		if ok {
			list = append(list, v)
		}
	}
	if m.binary = slices.Equal(list, []int{0, void}); m.binary {
		m.Classes = 2
		return nil
	}
	list = slices.DeleteFunc(list, func(v int) bool { return v == void })
	if len(list) == 0 {
		return errors.New("data: the masks are all of one level: there is nothing to learn")
	}
	if m.Classes = list[len(list)-1] + 1; m.Classes > 2*len(list)+20 {
		return fmt.Errorf("data: the masks have the levels %v: want classes numbered from 0", list)
	}
	if m.Classes < 2 {
		return errors.New("data: the masks have one class, 0: there is nothing to learn")
	}
	return nil
}

// levels returns a function for the level of each pixel in the file.
func levels(img image.Image) (func(x, y int) byte, error) {
	switch m := img.(type) {
	case *image.Paletted:
		return m.ColorIndexAt, nil
	case *image.Gray:
		return func(x, y int) byte { return m.GrayAt(x, y).Y }, nil
	case *image.Gray16:
		return func(x, y int) byte { return byte(min(void, m.Gray16At(x, y).Y)) }, nil
	}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); r != g || g != b {
				return nil, errors.New("a mask in colour: want a palette, or gray levels")
			}
		}
	}
	return func(x, y int) byte { return color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y }, nil
}

// Images returns the images only, prepared by p.
func (m *Masks) Images(p Preprocess) Dataset[Sample] {
	return Map(Of(m.Items...), func(i MaskItem, _ *rand.Rand) (Sample, error) {
		return p.Eval(ImageFile{Path: i.Image, Class: -1}, nil)
	})
}

// All returns every image with its mask, without augmentation. An image is stretched to the size of p; its mask, the
// target int64 [height, width], is scaled by nearest neighbour to the given size. Ignored pixels are −100.
func (m *Masks) All(p Preprocess, height, width int) Dataset[Sample] {
	return Map(Of(m.Items...), func(i MaskItem, _ *rand.Rand) (Sample, error) { return m.sample(i, p, height, width, nil) })
}

// Split holds out a fraction of the images randomly, from seed, and augments the others together with their masks:
// random crops, horizontal flips unless NoFlip is set, and the changes of Policy.
func (m *Masks) Split(val float64, seed uint64, p Preprocess, height, width int) (fit, held Dataset[Sample]) {
	picked, others := heldOut(len(m.Items), val, seed)
	all := Of(m.Items...)
	rest, first := Subset(all, picked), Subset(all, others)
	return Map(first, func(i MaskItem, r *rand.Rand) (Sample, error) { return m.sample(i, p, height, width, r) }),
		Map(rest, func(i MaskItem, _ *rand.Rand) (Sample, error) { return m.sample(i, p, height, width, nil) })
}

func (m *Masks) sample(i MaskItem, p Preprocess, height, width int, r *rand.Rand) (s Sample, err error) {
	if err := p.Check(); err != nil {
		return s, err
	}
	img, mask, release, err := i.decode()
	if err != nil {
		return s, err
	}
	defer release()
	b, c := img.Bounds(), mask.Bounds()
	level, err := levels(mask)
	if err != nil {
		return s, fmt.Errorf("data: %s: %w", i.Mask, err)
	}
	part, mirror := b, false
	augmented := r != nil && p.Policy != NoAugmentation
	if augmented {
		part, mirror = p.window(b, r), !p.NoFlip && r.IntN(2) == 1
	}
	h, w := p.geometry()
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(small, small.Bounds(), img, part, draw.Src, nil)
	if augmented && p.Policy == Strong {
		jitter(small, r) // only colours: the mask is not changed
	}
	y := make([]int64, height*width)
	for k := range y {
		row, col := k/width, k%width
		if mirror {
			col = width - 1 - col
		}
		at := level(c.Min.X+part.Min.X-b.Min.X+(2*col+1)*part.Dx()/(2*width), c.Min.Y+part.Min.Y-b.Min.Y+(2*row+1)*part.Dy()/(2*height))
		switch {
		case m.binary && at == void:
			y[k] = 1
		case at == void:
			y[k] = -100
		default:
			y[k] = int64(at)
		}
	}
	s.X = []*tensor.Dense{p.numbers(small, mirror)}
	s.Y = []*tensor.Dense{tensor.New(tensor.WithShape(height, width), tensor.WithBacking(y))}
	return s, nil
}

// decode reads an image and its mask, in the same orientation. release ends the charge for both.
func (i MaskItem) decode() (img, mask image.Image, release func(), err error) {
	list, release, err := decodeStored(i.Image, i.Mask)
	if err != nil {
		return nil, nil, nil, err
	}
	img, mask = list[0].Image, list[1].turned()
	if up := list[0].turned(); up.Bounds().Size() == mask.Bounds().Size() { // otherwise the mask matches the pixels as stored
		img = up
	}
	if b, c := img.Bounds(), mask.Bounds(); b.Dx() != c.Dx() || b.Dy() != c.Dy() {
		release()
		return nil, nil, nil, fmt.Errorf("data: %s is %d×%d pixels, its mask %s %d×%d", i.Image, b.Dx(), b.Dy(), i.Mask, c.Dx(), c.Dy())
	}
	return img, mask, release, nil
}

// window returns a random part of b with b's aspect ratio; its smallest area is that of Augment.
func (p Preprocess) window(b image.Rectangle, r *rand.Rand) image.Rectangle {
	least := max(p.least(), 0.25)
	side := least + (1-least)*r.Float64()
	w, h := max(1, int(side*float64(b.Dx()))), max(1, int(side*float64(b.Dy())))
	x, y := b.Min.X+r.IntN(b.Dx()-w+1), b.Min.Y+r.IntN(b.Dy()-h+1)
	return image.Rect(x, y, x+w, y+h)
}
