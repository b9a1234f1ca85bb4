package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// imageRows reports whether a table has an image of the size of g's only input in each row.
func (d *dataset) imageRows(g *nn.Graph, path string) bool { return d.rowShape(g, path) != nil }

// rowShape returns the shape of the images in the rows of a table, [1, height, width] or [3, height, width], for g's only input: rows have a
// column for each pixel, or for each of its three colors, and possibly one for the target. The result is nil for other tables.
func (d *dataset) rowShape(g *nn.Graph, path string) []int {
	h, w, ok := imageSize(g)
	if !ok || !isTable(path) || d.text != "" || d.texts != nil || data.IsTagFile(path) {
		return nil
	}
	columns := len(d.header(path))
	for _, c := range []int{1, 3} {
		if n := columns - c*h*w; n == 0 || n == 1 {
			return []int{c, h, w}
		}
	}
	return nil
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

// imageSize returns the size of the images that g takes; ok is false unless its only input takes images as floating-point numbers.
func imageSize(g *nn.Graph) (height, width int, ok bool) {
	if !takesImages(g) || !g.Inputs()[0].Type().DType.IsFloat() {
		return 0, 0, false
	}
	p, err := data.Guess(g.Inputs()[0].Type().Sizes())
	p.NHWC = false
	return p.Shape()[1], p.Shape()[2], err == nil
}

// imagesOfRows reads such a table. Without --target, the target is the column with one of the usual names or, of the first and the last, the
// one that varies; a table with just the pixels has none.
func (d *dataset) imagesOfRows(g *nn.Graph, path string) (s samples, err error) {
	shape := d.rowShape(g, path)
	r, err := d.reader()
	if err != nil {
		return s, err
	}
	names := d.header(path)
	kinds := map[string]table.ColumnKind{}
	for _, name := range names {
		kinds[name] = table.Number
	}
	if r.NoTarget = len(names) == shape[0]*shape[1]*shape[2]; r.NoTarget {
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
	if err == nil && r.Task == table.Auto && scored(g, t) {
		r.Task = table.Classes
		t, err = r.Read(path)
	}
	if err != nil {
		return s, err
	}
	rows := upTo(t.Len())
	if !r.NoTarget {
		rows = t.Complete()
	}
	x, err := pixelsOfRows(t, rows, shape)
	if err != nil {
		return s, err
	}
	said := fmt.Sprintf("a gray image of %d×%d in each row", shape[1], shape[2])
	if shape[0] == 3 {
		if d.colors = storedColors(g.Meta()); len(rows) >= sureRows || d.colors == "" {
			d.colors = orderOfColors(x)
		}
		order := "all red, then all green, then all blue"
		if d.colors == inPixels {
			toPlanes(x)
			order = "red, green and blue of each pixel together"
		}
		said = fmt.Sprintf("a color image of %d×%d in each row, %s", shape[1], shape[2], order)
	}
	var y *tensor.Dense
	if !r.NoTarget {
		if y, err = t.Targets(rows); err != nil {
			return s, err
		}
		said += "; the target is " + t.Target.Name
	}
	if !r.NoTarget || shape[0] == 3 {
		d.note(path, said)
	}
	s.classes, s.pixels = t.Classes, true
	s.tensors, err = data.Tensors(x, y)
	return s, err
}

// scored reports whether the numbers of t's target are all indices of g's class scores.
func scored(g *nn.Graph, t *table.Table) bool {
	if t.Target == nil || t.Classes != nil || len(g.Outputs()) != 1 {
		return false
	}
	out := g.Outputs()[0].Type()
	if out.Rank() != 2 || out.Shape[1].Size < 2 {
		return false
	}
	for _, row := range t.Complete() {
		if v := t.Target.Number[row]; v < 0 || v >= float64(out.Shape[1].Size) || v != math.Trunc(v) {
			return false
		}
	}
	return true
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

// pixelsOfRows returns rows of a table as images [rows, channels, height, width] from 0 to 1.
func pixelsOfRows(t *table.Table, rows, shape []int) (*tensor.Dense, error) {
	x := dtype.New(dtype.Float32, slices.Insert(slices.Clone(shape), 0, len(rows))...)
	v, pixels := x.Float32s(), shape[0]*shape[1]*shape[2]
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
			v[i*pixels+k] = float32(f)
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

// metaColors is the metadata key for the colorOrder of the rows that a model was trained on.
const metaColors = "graft.colors"

// colorOrder is the order of the color values of an image in a row; the zero value is not known.
type colorOrder string

const (
	inPlanes colorOrder = "planes" // a plane for each color, as in CIFAR
	inPixels colorOrder = "pixels" // the three colors of each pixel in succession, as an image in memory
)

// storedColors returns the order in a model's metadata.
func storedColors(meta map[string]string) colorOrder {
	if c := colorOrder(meta[metaColors]); c == inPlanes || c == inPixels {
		return c
	}
	return ""
}

// sureRows is the number of rows from which their smoothness decides; with fewer, the order that the model was trained on does, if it is known.
const sureRows = 20

// orderOfColors finds out in which order rows have the colors of their images x, [rows, 3, height, width]: in the true order neighboring pixels
// differ less.
func orderOfColors(x *tensor.Dense) colorOrder {
	shape, v := x.Shape(), x.Float32s()
	if roughness(v, shape, shape[2]*shape[3], 1) <= roughness(v, shape, 1, 3) {
		return inPlanes
	}
	return inPixels
}

// toPlanes brings the colors of images whose pixels have theirs in succession into planes.
func toPlanes(x *tensor.Dense) {
	size := x.Shape()[2] * x.Shape()[3]
	planes := make([]float32, 3*size)
	for row := range slices.Chunk(x.Float32s(), 3*size) {
		for i := range row {
			planes[i%3*size+i/3] = row[i]
		}
		copy(row, planes)
	}
}

// roughness returns the sum of absolute differences between neighboring pixels of images [rows, 3, height, width] whose colors are color
// elements apart, and whose pixels pixel elements.
func roughness(v []float32, shape []int, color, pixel int) (sum float64) {
	h, w := shape[2], shape[3]
	for row := range slices.Chunk(v, 3*h*w) {
		for at := range row {
			c, p := at/(h*w), at%(h*w)
			i := c*color + p*pixel
			if p%w+1 < w {
				sum += math.Abs(float64(row[i+pixel] - row[i]))
			}
			if p+w < h*w {
				sum += math.Abs(float64(row[i+w*pixel] - row[i]))
			}
		}
	}
	return sum
}
