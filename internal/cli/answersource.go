package cli

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// sampleSource is a source of samples by index.
type sampleSource struct {
	n       int
	columns []string // names of raw columns; nil where there are none
	name    func(i int) string
	raw     func(i int) []string
	feed    func(ctx context.Context, index []int) (nn.Feed, error)
	words   func(i int, along []choice) ([]choice, []string) // of texts with a class for each word: the words, and which class each has; nil elsewhere
	size    func(i int) (image.Point, error)                 // of image files; nil elsewhere
	goesOn  func(i int) bool                                 // the next sample is of the same text
}

// ordinal is the name of a sample that is a row, an object or an element of an array: its number from 1.
func ordinal(i int) string { return strconv.Itoa(i + 1) }

// samplesOf opens DATA for the model g.
func (p *prediction) samplesOf(ctx context.Context, g *nn.Graph, path string, notes io.Writer) (*sampleSource, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case path == "-":
		return p.standardInput(ctx, g, notes)
	case isConll(path):
		return p.conllOf(ctx, g, path)
	case isTable(path):
		return p.tableOf(ctx, g, path, notes)
	case ext == ".npz" || ext == ".npy":
		return p.arraysOf(ctx, g, path, notes)
	case ext == ".jsonl" || ext == ".ndjson" || ext == ".json":
		b, err := disk.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return p.objectsOf(ctx, g, path, b)
	case ext == ".bin" || holdsIDX(path):
		s, err := p.open(ctx, path, true)
		if err != nil {
			return nil, err
		}
		return p.preparedSource(ctx, g, s.tensors, notes)
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() && filepath.Ext(path) != "" && !imagefile.Named(path) {
		return nil, fmt.Errorf("%s: want an image, a folder of images, a table (.csv, .tsv), arrays (.npz, .npy), JSON lines (.jsonl), a CIFAR file (.bin), IMAGES,LABELS, or - for standard input", path)
	}
	return p.imagesOf(ctx, g, path, notes)
}

// holdsIDX reports whether path is a folder with MNIST's files, or names two of them.
func holdsIDX(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return strings.Contains(path, ",")
	}
	_, labels := data.FindIDX(path, true)
	return labels != ""
}

// standardInput returns a table, JSON lines, an image or arrays, detected from the first bytes.
func (p *prediction) standardInput(ctx context.Context, g *nn.Graph, notes io.Writer) (*sampleSource, error) {
	b, err := budget.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	if t := bytes.TrimSpace(b); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		return p.objectsOf(ctx, g, "standard input", b)
	}
	ext := contents(b)
	if ext == ".csv" && takesImages(g) {
		return nil, fmt.Errorf("standard input is text, the model takes images (input %v): want an image, such as < rose.jpg", ports(g.Inputs())[0])
	}
	f, release, err := disk.Scratch("graft-*" + ext)
	if err != nil {
		return nil, err
	}
	p.release = release
	if _, err := f.Write(b); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	const called = "standard input"
	renamed := func(err error) error {
		if err == nil {
			return nil
		}
		return plain{strings.ReplaceAll(err.Error(), f.Name(), called), err}
	}
	var said strings.Builder
	s, err := p.samplesOf(ctx, g, f.Name(), &said)
	fmt.Fprint(notes, strings.ReplaceAll(said.String(), f.Name(), called))
	if err != nil {
		return nil, renamed(err)
	}
	name, feed := s.name, s.feed
	s.name = func(i int) string { return strings.ReplaceAll(name(i), f.Name(), called) }
	s.feed = func(ctx context.Context, index []int) (nn.Feed, error) {
		feed, err := feed(ctx, index)
		return feed, renamed(err)
	}
	return s, nil
}

// contents returns the file extension for data that begins with b: an image, arrays or a table.
func contents(b []byte) string {
	switch kind := http.DetectContentType(b); {
	case strings.HasPrefix(kind, "image/"):
		return "." + strings.TrimPrefix(kind, "image/")
	case bytes.HasPrefix(b, []byte("II*\x00")), bytes.HasPrefix(b, []byte("MM\x00*")):
		return ".tiff"
	case bytes.HasPrefix(b, []byte("PK\x03\x04")):
		return ".npz"
	case bytes.HasPrefix(b, []byte("\x93NUMPY")):
		return ".npy"
	}
	return ".csv"
}

func (p *prediction) tableOf(ctx context.Context, g *nn.Graph, path string, notes io.Writer) (*sampleSource, error) {
	if p.texts != nil {
		return p.textsOf(ctx, path)
	}
	if p.imageRows(g, path) {
		rows, err := p.imagesOfRows(g, path)
		if err != nil {
			return nil, err
		}
		for _, note := range p.notes {
			fmt.Fprintln(notes, note)
		}
		s, err := p.preparedSource(ctx, g, rows.tensors, notes)
		if err == nil {
			s.name = ordinal
		}
		return s, err
	}
	if takesImages(g) {
		return nil, fmt.Errorf("%s is a table, the model takes images (input %v): want an image or a folder of images", path, ports(g.Inputs())[0])
	}
	if p.answersByColumn(g, path) || g.Meta()[metaTargets] != "" {
		t, schema, err := p.sideColumns(g, path, true)
		if err != nil {
			return nil, err
		}
		return &sampleSource{
			n: t.Len(), columns: t.Names, raw: t.Raw,
			name: ordinal,
			feed: func(_ context.Context, index []int) (nn.Feed, error) { return schema.Feed(t, index) },
		}, nil
	}
	c, err := p.dataset.columns(g, path, true)
	if err != nil {
		return nil, err
	}
	for _, line := range strays(c.table) {
		fmt.Fprintln(notes, line)
	}
	return p.scaled(&sampleSource{
		n: c.table.Len(), columns: c.table.Names, raw: c.table.Raw,
		name: ordinal,
		feed: func(_ context.Context, index []int) (nn.Feed, error) { return c.schema.Feed(c.table, index) },
	}, path, g)
}

// arraysOf reads arrays by input name, or the only one. Arrays that hold images are preprocessed like
// them, others by --mean, --std and --range.
func (p *prediction) arraysOf(ctx context.Context, g *nn.Graph, path string, notes io.Writer) (*sampleSource, error) {
	read, err := readArrays(g, path, notes)
	if err != nil {
		return nil, err
	}
	x, err := p.pixelArray(ctx, path, g, read)
	if err != nil {
		return nil, err
	}
	if x != nil {
		return p.pixelsOf(ctx, g, x, notes)
	}
	all := nn.Feed{}
	for _, v := range g.Inputs() {
		d, note, err := suited(v, withChannel(v, read[v.Name()]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if note != "" {
			fmt.Fprintf(notes, "%s: %s\n", path, note)
		}
		all[v.Name()] = d
	}
	s, err := stackedSource(all, path)
	if err != nil {
		return nil, err
	}
	return p.scaled(s, path, g)
}

// readArrays returns the arrays of a file by input name, unchanged.
func readArrays(g *nn.Graph, path string, notes io.Writer) (map[string]*tensor.Dense, error) {
	all := map[string]*tensor.Dense{}
	for _, v := range g.Inputs() {
		var x value
		var err error
		if strings.EqualFold(filepath.Ext(path), ".npy") {
			if len(g.Inputs()) > 1 {
				return nil, fmt.Errorf("%s holds one array, the model has the inputs %v: an .npz archive has one for each", path, ports(g.Inputs()))
			}
			x, err = data.NPY(path)
		} else {
			var note string
			if x, note, err = fromArchive(path, v.Name(), len(g.Inputs()) == 1); note != "" {
				fmt.Fprintln(notes, note)
			}
		}
		if err != nil {
			return nil, err
		}
		d, ok := x.(*tensor.Dense)
		if !ok {
			return nil, fmt.Errorf("%s: input %s: got %s, want an array of numbers", path, v.Name(), dtype.Describe(x))
		}
		all[v.Name()] = d
	}
	return all, nil
}

// suited converts an array of samples to the element type of an input, and compares its other axes with the input's.
func suited(v *nn.Value, x value) (d *tensor.Dense, note string, err error) {
	d, ok := x.(*tensor.Dense)
	if !ok {
		return nil, "", fmt.Errorf("input %s: got %s, want an array of numbers", v.Name(), dtype.Describe(x))
	}
	t := v.Type()
	fits := t.Unranked || d.Dims() == len(t.Shape)
	for i, dim := range t.Shape {
		fits = fits && (i == 0 || !dim.Known() || dim.Size == d.Shape()[i])
	}
	if !fits {
		return nil, "", fmt.Errorf("array for input %s: want %v, got %v", v.Name(), t, op.TypeOf(d))
	}
	from, to := dtype.Of(d.Dtype()), t.DType
	if from == to {
		return d, "", nil
	}
	c, err := dtype.ConvertTo(to, d)
	if err != nil {
		return nil, "", fmt.Errorf("input %s: %w", v.Name(), err)
	}
	return c, fmt.Sprintf("array for input %s converted from %v to %v", v.Name(), from, to), nil
}

// stackedSource is samples along the first axis of arrays.
func stackedSource(all nn.Feed, path string) (*sampleSource, error) {
	n := -1
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name].Shape()
		if len(s) == 0 {
			return nil, fmt.Errorf("%s: array for input %s is a scalar, want a first axis of samples", path, name)
		}
		if n >= 0 && s[0] != n {
			return nil, fmt.Errorf("%s: array for input %s has %d samples, another %d", path, name, s[0], n)
		}
		n = s[0]
	}
	return &sampleSource{
		n: n, name: ordinal,
		feed: func(_ context.Context, index []int) (nn.Feed, error) {
			return pick(all, index)
		},
	}, nil
}

func pickStrings(s *dtype.Strings, index []int) *dtype.Strings {
	width := len(s.Elems) / max(1, s.Dims[0])
	out := &dtype.Strings{Dims: slices.Clone(s.Dims)}
	out.Dims[0] = len(index)
	for _, i := range index {
		out.Elems = append(out.Elems, s.Elems[i*width:(i+1)*width]...)
	}
	return out
}

// objectsOf reads JSON objects, one after the other or in a list; keys are the model's columns or inputs.
func (p *prediction) objectsOf(ctx context.Context, g *nn.Graph, path string, b []byte) (*sampleSource, error) {
	rows, err := objects(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: empty: want JSON objects, one on each line", path)
	}
	s, err := rowSource(ctx, g, path, rows, 0, p.texts)
	if err != nil || takesImages(g) {
		return s, err
	}
	return p.scaled(s, path, g)
}

// rowSource is a source of samples from objects; t tokenizes texts, nil if the model does not read any.
func rowSource(ctx context.Context, g *nn.Graph, path string, rows []map[string]any, before int, t *texts) (*sampleSource, error) {
	schema, known, err := table.ReadMeta(g.Meta())
	if err != nil {
		return nil, err
	}
	if t != nil && t.Words {
		list, err := t.wordLists(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return t.wordSource(ctx, list)
	}
	s := &sampleSource{n: len(rows), name: ordinal}
	s.feed = func(ctx context.Context, index []int) (nn.Feed, error) {
		picked := make([]map[string]any, len(index))
		for k, i := range index {
			picked[k] = rows[i]
		}
		var feed nn.Feed
		var err error
		if t != nil {
			feed, err = t.feedObjects(ctx, picked)
		} else if known {
			feed, err = schema.FeedObjects(picked)
		} else {
			feed, err = fromObjects(g, picked)
		}
		if err != nil && len(index) == 1 {
			err = fmt.Errorf("%s: object %d: %w", path, before+index[0]+1, err)
		}
		for k := range index { // one by one: which of them is it
			if err == nil || len(index) == 1 {
				break
			}
			if _, one := s.feed(ctx, index[k:k+1]); one != nil {
				return nil, one
			}
		}
		return feed, err
	}
	return s, nil
}

// imagesOf returns an image, or all images below a folder.
func (p *prediction) imagesOf(ctx context.Context, g *nn.Graph, path string, notes io.Writer) (*sampleSource, error) {
	files, err := imageFiles(path)
	if err != nil {
		return nil, err
	}
	if !takesImages(g) {
		return nil, fmt.Errorf("%s: the model does not take images: its inputs are %v", path, ports(g.Inputs()))
	}
	in := g.Inputs()[0]
	if p.found == nil { // one preparation for the images of all paths
		all := files
		for _, other := range p.paths {
			if more, err := imageFiles(other); err == nil && other != path {
				all = append(all, slices.DeleteFunc(more, func(f string) bool { return !imagefile.Named(f) })...)
			}
		}
		note, err := p.openSize(ctx, g, all)
		if err != nil {
			return nil, err
		}
		if note != "" {
			fmt.Fprintln(notes, note)
		}
		found, err := p.settle(ctx, g, in.Type(), func(base data.Preprocess) ([]*tensor.Dense, error) {
			return measuredImages(base, all), nil
		})
		if err != nil {
			return nil, err
		}
		tellFound(notes, found)
		p.found = &found
	}
	prep := p.found
	return &sampleSource{
		n: len(files), name: func(i int) string { return files[i] },
		size: func(i int) (image.Point, error) { return data.ImageSize(files[i]) },
		feed: func(_ context.Context, index []int) (nn.Feed, error) {
			var list []data.Sample
			for _, i := range index {
				s, err := p.prepareFile(*prep, files[i])
				if err != nil {
					return nil, err
				}
				list = append(list, s)
			}
			b, err := data.Collate(list)
			if err != nil {
				return nil, err
			}
			return nn.Feed{in.Name(): b.X[0]}, nil
		},
	}, nil
}

// prepareFile reads an image: its center, or all of it for outputs that are images.
func (p *preparing) prepareFile(prep train.Preparation, path string) (data.Sample, error) {
	if !p.uncropped {
		return prep.Eval(data.ImageFile{Path: path, Class: -1}, nil)
	}
	x, err := wholeImage(prep.Preprocess, path)
	return data.Sample{X: []*tensor.Dense{x}}, err
}

// measuredImages returns some of the files that can be decoded, with values from 0 to 1 and the size of base.
func measuredImages(base data.Preprocess, files []string) (list []*tensor.Dense) {
	plain := data.Preprocess{Size: base.Size, Width: base.Width, Crop: base.Crop, Gray: base.Gray}
	n := min(len(files), measuredOn(plain))
	for i := range n {
		if x, err := plain.Eval(data.ImageFile{Path: files[i*len(files)/n], Class: -1}, nil); err == nil {
			list = append(list, x.X[0])
		}
	}
	return list
}

// imageFiles lists the images below a folder, or the one that path names.
func imageFiles(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err = imagefile.List(path)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no images in this folder", path)
	}
	return files, err
}
