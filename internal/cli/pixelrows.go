package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// imageRows reports whether a table has a gray image of the size of g's only input in each row: a column for each pixel, and possibly one
// for the target.
func (d *dataset) imageRows(g *nn.Graph, path string) bool {
	h, w, ok := graySize(g)
	if !ok || !isTable(path) || d.text != "" || d.texts != nil || data.IsTagFile(path) {
		return false
	}
	n := len(d.header(path)) - h*w
	return n == 0 || n == 1
}

// lookAtRows finds out whether each row of the table to train on is an image; models begins with the file of the model.
func (t *training) lookAtRows(models []string) error {
	if t.fresh != "" || t.asStored || models[0] == "" || !isTable(t.data) {
		return nil
	}
	g, err := t.load(models[0])
	if err != nil {
		return err
	}
	t.rowImages = t.imageRows(g, t.data)
	return nil
}

// graySize returns the size of the images that g takes; ok is false unless its only input takes gray ones.
func graySize(g *nn.Graph) (height, width int, ok bool) {
	if !takesImages(g) || !g.Inputs()[0].Type().DType.IsFloat() {
		return 0, 0, false
	}
	p, err := data.Guess(g.Inputs()[0].Type().Sizes())
	p.NHWC = false
	return p.Shape()[1], p.Shape()[2], err == nil && p.Gray
}

// imagesOfRows reads such a table. Without --target, the target is the column with one of the usual names or, of the first and the last, the
// one that varies; a table with just the pixels has none.
func (d *dataset) imagesOfRows(g *nn.Graph, path string) (s samples, err error) {
	h, w, _ := graySize(g)
	r, err := d.reader()
	if err != nil {
		return s, err
	}
	names := d.header(path)
	kinds := map[string]table.ColumnKind{}
	for _, name := range names {
		kinds[name] = table.Number
	}
	if r.NoTarget = len(names) == h*w; r.NoTarget {
		r.Target = ""
	} else if r.Target == "" {
		if r.Target, err = d.targetOfPixels(r, path, names); err != nil {
			return s, err
		}
	}
	if i, err := strconv.Atoi(r.Target); err == nil && i >= 0 && i < len(names) && !slices.Contains(names, r.Target) {
		r.Target = names[i]
	}
	delete(kinds, r.Target)
	r.Kinds = kinds
	t, err := r.Read(path)
	if err != nil {
		return s, err
	}
	rows := upTo(t.Len())
	if !r.NoTarget {
		rows = t.Complete()
	}
	x, err := pixelsOfRows(t, rows, h, w)
	if err != nil {
		return s, err
	}
	var y *tensor.Dense
	if !r.NoTarget {
		if y, err = t.Targets(rows); err != nil {
			return s, err
		}
		d.note(path, fmt.Sprintf("a gray image of %d×%d in each row; the target is %s", h, w, t.Target.Name))
	}
	s.classes, s.pixels = t.Classes, true
	s.tensors, err = data.Tensors(x, y)
	return s, err
}

// targetOfPixels returns the column with the target of a table of images.
func (d *dataset) targetOfPixels(r table.Reader, path string, names []string) (string, error) {
	for _, name := range names {
		if slices.Contains([]string{"label", "labels", "class", "target", "digit", "y"}, strings.ToLower(name)) {
			return name, nil
		}
	}
	first, last := names[0], names[len(names)-1]
	r.NoTarget, r.Kinds = true, map[string]table.ColumnKind{last: table.Category}
	for _, name := range names[:len(names)-1] {
		r.Kinds[name] = table.Ignore
	}
	t, err := r.Read(path)
	if err != nil {
		return "", err
	}
	if c := t.Column(last); c != nil && len(c.Words) > 1 {
		return last, nil
	}
	return first, nil
}

// pixelsOfRows returns rows of a table as images [rows, 1, height, width] from 0 to 1.
func pixelsOfRows(t *table.Table, rows []int, h, w int) (*tensor.Dense, error) {
	x := dtype.New(dtype.Float32, len(rows), 1, h, w)
	v := x.Float32s()
	scale, most := float32(1), 0.0
	for k, c := range t.Columns {
		if row := c.Gap(rows); row >= 0 {
			return nil, fmt.Errorf("%s: line %d, column %s: the pixel is missing", t.Path, t.Lines[row], c.Name)
		}
		for i, row := range rows {
			f := c.Number[row]
			if f < 0 || f > 255 {
				return nil, fmt.Errorf("%s: line %d, column %s: %v is not a pixel: want numbers from 0 to 255, or from 0 to 1", t.Path, t.Lines[row], c.Name, f)
			}
			most = max(most, f)
			v[i*h*w+k] = float32(f)
		}
	}
	if most > 1 {
		scale = 255
	}
	for i := range v {
		v[i] /= scale
	}
	return x, nil
}
