package data

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"gorgonia.org/tensor"
)

// Tagged is a set of images with any number of tags each (multi-label).
type Tagged struct {
	Items []TaggedItem // in the order of the file
	Tags  []string     // sorted: tag i is Tags[i]
}

// TaggedItem is an image file and its tags, in ascending order.
type TaggedItem struct {
	Path string // of the image file
	Tags []int  // indices of its tags
}

// tagHeads are the possible names of the two columns of a table of tags.
var tagHeads = [2][]string{{"file", "files", "filename", "file_name", "image", "image_name", "path", "image"}, {"tags", "labels", "tag", "label", "classes", "class"}}

// tagHead is the number of bytes in which the header of a table of tags ends.
const tagHead = 4096

// IsTagFile reports whether a CSV file has the two columns of ReadTags, by its header.
func IsTagFile(path string) bool {
	f, err := disk.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := csv.NewReader(io.LimitReader(f, tagHead)).Read()
	return err == nil && isTagHead(head)
}

func isTagHead(head []string) bool {
	if len(head) != 2 {
		return false
	}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		if !slices.Contains(tagHeads[i], name) {
			return false
		}
	}
	return true
}

// perTagged is about how many bytes an image and its tags take besides their text.
const perTagged = 400

// ReadTags reads a CSV file with the header file,tags: image files, relative to its folder, and their tags, separated
// by spaces, semicolons or bars; tags may be empty. Errors name the line.
func ReadTags(path string) (*Tagged, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	defer f.Close()
	bounded := budget.NewRecords(f, ',')
	r := csv.NewReader(bounded)
	r.FieldsPerRecord = -1
	var records [][]string
	var taken budget.Tally
	defer taken.Free()
	for {
		bounded.Next()
		rec, err := r.Read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = taken.Add(perTagged + 4*int64(len(strings.Join(rec, ""))) + 16*int64(len(rec)))
		}
		if err != nil {
			return nil, fmt.Errorf("data: %s: %w", path, err)
		}
		records = append(records, rec)
	}
	if len(records) < 2 || !isTagHead(records[0]) {
		return nil, fmt.Errorf("data: %s: want the header line \"file,tags\" and a line for each image", path)
	}
	words := make([][]string, len(records)-1)
	t := &Tagged{}
	for i, rec := range records[1:] {
		if len(rec) != 2 {
			return nil, fmt.Errorf("data: %s: line %d has %d columns, want a file and its tags", path, i+2, len(rec))
		}
		file := filepath.FromSlash(strings.TrimSpace(rec[0]))
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			return nil, fmt.Errorf("data: %s: line %d: there is no image %s", path, i+2, file)
		}
		t.Items = append(t.Items, TaggedItem{Path: file})
		words[i] = strings.FieldsFunc(rec[1], func(c rune) bool { return strings.ContainsRune(" ;|,", c) })
		t.Tags = append(t.Tags, words[i]...)
	}
	slices.Sort(t.Tags)
	if t.Tags = slices.Compact(t.Tags); len(t.Tags) == 0 {
		return nil, fmt.Errorf("data: %s: no image has a tag", path)
	}
	for i, list := range words {
		for _, w := range list {
			k, _ := slices.BinarySearch(t.Tags, w)
			t.Items[i].Tags = append(t.Items[i].Tags, k)
		}
		slices.Sort(t.Items[i].Tags)
	}
	budget.Transfer(&taken, t)
	return t, nil
}

// Images returns the images only, prepared by p.
func (t *Tagged) Images(p Preprocess) Dataset[Sample] {
	return Map(Of(t.Items...), func(i TaggedItem, _ *rand.Rand) (Sample, error) {
		return p.Eval(ImageFile{Path: i.Path, Class: -1}, nil)
	})
}

// All returns every image with its tags, without augmentation: the target is float32 [tags], 1 for the tags of the
// image.
func (t *Tagged) All(p Preprocess) Dataset[Sample] {
	return Map(Of(t.Items...), func(i TaggedItem, _ *rand.Rand) (Sample, error) { return t.sample(i, p, nil) })
}

// Split holds out a fraction of the images randomly, from seed, and augments the others.
func (t *Tagged) Split(val float64, seed uint64, p Preprocess) (fit, held Dataset[Sample]) {
	picked, rest := heldOut(len(t.Items), val, seed)
	all := Of(t.Items...)
	return Map(Subset(all, rest), func(i TaggedItem, r *rand.Rand) (Sample, error) { return t.sample(i, p, r) }),
		Map(Subset(all, picked), func(i TaggedItem, _ *rand.Rand) (Sample, error) { return t.sample(i, p, nil) })
}

func (t *Tagged) sample(i TaggedItem, p Preprocess, r *rand.Rand) (Sample, error) {
	s, err := p.Augment(ImageFile{Path: i.Path, Class: -1}, r)
	if err != nil {
		return s, err
	}
	y := make([]float32, len(t.Tags))
	for _, k := range i.Tags {
		y[k] = 1
	}
	s.Y = []*tensor.Dense{tensor.New(tensor.WithShape(len(y)), tensor.WithBacking(y))}
	return s, nil
}
