package boxes

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
)

// longestPath limits names of files, in bytes: no system has longer paths, and errors quote them.
const longestPath = 4096

// Box is a rectangle in pixels, from the left and top edge to the right and bottom one.
type Box struct{ X0, Y0, X1, Y1 float64 }

// Area returns the area of the box, 0 if its edges are in the wrong order.
func (b Box) Area() float64 { return max(0, b.X1-b.X0) * max(0, b.Y1-b.Y0) }

// overlap returns the area that two boxes share.
func (b Box) overlap(c Box) float64 {
	return max(0, min(b.X1, c.X1)-max(b.X0, c.X0)) * max(0, min(b.Y1, c.Y1)-max(b.Y0, c.Y0))
}

// IoU returns the area of the intersection of two boxes divided by that of their union.
func (b Box) IoU(c Box) float64 {
	o := b.overlap(c)
	if o == 0 {
		return 0
	}
	return o / (b.Area() + c.Area() - o)
}

// Truth is a true box of an image.
type Truth struct {
	Box
	Category int     // index in Set.Categories
	Area     float64 // area of the object; that of the box if the file has none
	Crowd    bool    // a group of objects: detections in it are ignored
}

// Image is a file with its true boxes.
type Image struct {
	ID            int64   // as in the annotations
	File          string  // its name
	Width, Height int     // 0: not in the file
	Truth         []Truth // true boxes
}

// Category is a class of boxes, with its number in the file.
type Category struct {
	ID   int64
	Name string
}

// GroundTruth is a set of annotated images.
type GroundTruth struct {
	Images     []Image    // by ID
	Categories []Category // by ID
}

// file is the part of COCO's format that boxes need.
type file struct {
	Images []struct {
		ID     *int64 `json:"id"`
		File   string `json:"file_name"`
		Width  int    `json:"width"`
		Height int    `json:"height"`
	} `json:"images"`
	Annotations []struct {
		Image    int64     `json:"image_id"`
		Category int64     `json:"category_id"`
		Box      []float64 `json:"bbox"`
		Area     *float64  `json:"area"`
		Crowd    flag      `json:"iscrowd"`
	} `json:"annotations"`
	Categories []struct {
		ID   *int64 `json:"id"`
		Name string `json:"name"`
	} `json:"categories"`
}

// flag is a boolean that files hold as 0 or 1, or as false or true.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "0", "false", "null":
		*f = false
	case "1", "true":
		*f = true
	default:
		return fmt.Errorf("iscrowd is %s, want 0 or 1", b)
	}
	return nil
}

// Load reads an annotation file in COCO's format: images, annotations with a bbox [left, top, width, height],
// categories.
func Load(path string) (*GroundTruth, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, fmt.Errorf("boxes: %w", err)
	}
	defer f.Close()
	s, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("boxes: %s: %w", path, err)
	}
	return s, nil
}

// Read is Load for an open file.
func Read(r io.Reader) (*GroundTruth, error) {
	var f file
	if r == nil {
		return nil, errors.New("boxes: the reader is nil")
	}
	b, err := budget.ReadAll(r)
	if err == nil {
		err = budget.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case len(f.Images) == 0:
		return nil, fmt.Errorf("no images: want a COCO file, an object with images, annotations and categories")
	case len(f.Categories) == 0:
		return nil, fmt.Errorf("no categories: want a COCO file, an object with images, annotations and categories")
	}
	s := &GroundTruth{}
	places := map[int64]int{}
	for i, c := range f.Categories {
		if c.ID == nil {
			return nil, fmt.Errorf("category %d has no id", i)
		}
		s.Categories = append(s.Categories, Category{*c.ID, c.Name})
	}
	slices.SortStableFunc(s.Categories, func(a, b Category) int { return cmp.Compare(a.ID, b.ID) })
	for i, c := range s.Categories {
		if _, twice := places[c.ID]; twice {
			return nil, fmt.Errorf("two categories have the id %d", c.ID)
		}
		places[c.ID] = i
	}
	images := map[int64]int{}
	for i, p := range f.Images {
		if p.ID == nil || p.File == "" {
			return nil, fmt.Errorf("image %d has no id or no file_name", i)
		}
		if len(p.File) > longestPath {
			return nil, fmt.Errorf("image %d has a file_name of %d bytes, want at most %d", i, len(p.File), longestPath)
		}
		s.Images = append(s.Images, Image{ID: *p.ID, File: p.File, Width: p.Width, Height: p.Height})
	}
	slices.SortStableFunc(s.Images, func(a, b Image) int { return cmp.Compare(a.ID, b.ID) })
	for i, p := range s.Images {
		if _, twice := images[p.ID]; twice {
			return nil, fmt.Errorf("two images have the id %d", p.ID)
		}
		images[p.ID] = i
	}
	for i, a := range f.Annotations {
		p, ok := images[a.Image]
		if !ok {
			return nil, fmt.Errorf("annotation %d is of image %d, which is not among the images", i, a.Image)
		}
		c, ok := places[a.Category]
		if !ok {
			return nil, fmt.Errorf("annotation %d is of category %d, which is not among the categories", i, a.Category)
		}
		if len(a.Box) != 4 || slices.ContainsFunc(a.Box, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) || a.Box[2] < 0 || a.Box[3] < 0 {
			return nil, fmt.Errorf("annotation %d has the bbox %s, want left, top, width and height", i, boxText(a.Box))
		}
		t := Truth{Box: Box{a.Box[0], a.Box[1], a.Box[0] + a.Box[2], a.Box[1] + a.Box[3]}, Category: c, Crowd: bool(a.Crowd)}
		if t.Area = t.Box.Area(); a.Area != nil {
			t.Area = *a.Area
		}
		s.Images[p].Truth = append(s.Images[p].Truth, t)
	}
	return s, nil
}

// boxText returns the numbers of a box that is not one, or how many there are.
func boxText(b []float64) string {
	if len(b) > 8 {
		return fmt.Sprintf("of %d numbers", len(b))
	}
	return fmt.Sprint(b)
}
