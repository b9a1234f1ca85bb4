package boxes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/train/data"
)

// Output is an output of a detector for one image, in row-major order.
type Output struct {
	Name    string
	Shape   []int
	Values  []float64
	Integer bool
}

// Decoder decodes the outputs of a detector, image by image. It understands
//
//   - boxes [N,4], scores [N] and classes [N], optionally with the number of valid ones: detectors that include non-maximum suppression
//     (torchvision, TensorFlow's model zoo). One output [N,6] is box, score, class.
//   - boxes [N,4] and scores [N,C], or one output [4+C,N], [N,4+C] or, with an objectness score in the fifth place, [N,5+C] (YOLO): candidates,
//     to which non-maximum suppression per class is applied.
//
// Leading axes of size 1 are ignored. Outputs from before the decoding of boxes are refused: heads of several scales,
// and numbers that are neither corners nor a center and a size.
type Decoder struct {
	Categories []Category // of the annotations
	Names      []string   // names of the model's classes; nil: categories are matched by number
	Order      string     // box format: xyxy (corners), yxyx, xywh (left, top, width, height), cxcywh (center, width, height); "": detected
	First      *int       // class number of the first category in the model; nil: detected
	Suppress   float64    // IoU threshold of non-maximum suppression; 0: 0.65

	images   []raw
	classes  int  // number of scores of a candidate; 0: an output has the class indices
	logits   bool // according to the name of the scores
	farthest float64
	zero     bool // class 0 occurred
	unknown  int  // a class that is not the id of a category; -1: none

	upright, inverted int // boxes whose size is not negative, and those whose size is
}

// raw holds the detections of one image, with the model's class numbers and coordinates.
type raw struct {
	at   data.Placement
	list []Detection
}

const (
	faint = 0.001 // lower scores are ignored
	most  = 300   // boxes of an image
	few   = 20    // too few boxes to detect a format
)

// Add decodes the outputs for the next image.
func (r *Decoder) Add(out []Output, at data.Placement) error {
	if r.images == nil {
		r.unknown = -1
	}
	for i := range out {
		out[i].squeeze()
	}
	list, err := r.read(out)
	if err != nil {
		return err
	}
	if err := r.decoded(few); err != nil {
		return err
	}
	for _, d := range list {
		r.farthest = max(r.farthest, d.X0, d.Y0, d.X1, d.Y1)
	}
	r.images = append(r.images, raw{at, list})
	return nil
}

// decoded returns an error if many of more than n boxes have a negative size, as undecoded offsets from anchors do.
func (r *Decoder) decoded(n int) error {
	if all := r.upright + r.inverted; all > n && 10*r.inverted > all {
		return fmt.Errorf("boxes: read as %s, %d of %d boxes have a negative size: these look like numbers that are still to be decoded, by anchors; append the decoding to the model, or evaluate decoded boxes from a COCO results file", r.Order, r.inverted, all)
	}
	return nil
}

// scales returns an error if there are several outputs of boxes of different lengths, one for each scale.
func scales(out []Output) error {
	var heads []Output
	for _, o := range out {
		if len(o.Shape) == 2 && o.Shape[1] == 4 && !o.Integer && !named(o.Name, "score", "prob", "conf", "cls", "class", "raw_") {
			heads = append(heads, o)
		}
	}
	if len(heads) > 1 && slices.ContainsFunc(heads, func(o Output) bool { return o.Shape[0] != heads[0].Shape[0] }) {
		return fmt.Errorf("boxes: the model gives boxes of several scales, %s: heads that are still to be decoded and joined; append the decoding to the model, or evaluate decoded boxes from a COCO results file", shapes(heads))
	}
	return nil
}

// squeeze removes leading axes of size 1, but keeps a single box [1,4].
func (o *Output) squeeze() {
	for n := len(o.Shape); n > 1 && o.Shape[0] == 1; n-- {
		if n == 2 && o.Shape[1] == 4 && !o.Integer && !named(o.Name, "score", "prob", "conf", "class", "label") {
			return
		}
		o.Shape = o.Shape[1:]
	}
}

func (r *Decoder) read(out []Output) ([]Detection, error) {
	if err := scales(out); err != nil {
		return nil, err
	}
	corners := slices.IndexFunc(out, func(o Output) bool {
		return len(o.Shape) == 2 && o.Shape[1] == 4 && !o.Integer && (len(out) == 2 || len(out[0].Shape) != 2 || !named(o.Name, "score", "prob", "conf"))
	})
	if corners < 0 {
		if len(out) == 1 && len(out[0].Shape) == 2 {
			return r.single(out[0])
		}
		return nil, fmt.Errorf("boxes: the model gives %s: want boxes [N,4] beside scores [N] and classes [N], or scores [N,classes]; or one output of candidates", shapes(out))
	}
	n := out[corners].Shape[0]
	var numbers, scores *Output
	count := n
	for i := range out {
		o := &out[i]
		switch {
		case i == corners:
		case len(o.Values) == 1 && n != 1 && named(o.Name, "num"):
			count = min(n, max(0, int(o.Values[0])))
		case len(o.Shape) == 1 && o.Shape[0] == n && (o.Integer || named(o.Name, "class", "label")):
			numbers = o
		case len(o.Shape) == 1 && o.Shape[0] == n, len(o.Shape) == 2 && (o.Shape[0] == n || o.Shape[1] == n):
			if scores == nil {
				scores = o
			}
		}
	}
	if scores == nil {
		return nil, fmt.Errorf("boxes: the model gives %s: there is no score for each of %d boxes", shapes(out), n)
	}
	if len(scores.Shape) == 2 && !(numbers != nil && scores.Shape[1] == 1) {
		return r.candidates(out[corners], *scores)
	}
	r.orient(out[corners], "xyxy")
	var list []Detection
	for i := range count {
		class := 0
		if numbers != nil {
			class = int(numbers.Values[i])
		}
		list = r.keep(list, out[corners].Values[4*i:][:4], class, scores.Values[i])
	}
	return list, nil
}

// single reads one output of rows: box, score and class, or candidates.
func (r *Decoder) single(o Output) ([]Detection, error) {
	rows, columns, k := o.Shape[0], o.Shape[1], len(r.Categories)
	at := func(row, column int) float64 { return o.Values[row*columns+column] }
	if columns == 6 && rows <= 1000 {
		boxes := Output{Name: o.Name}
		for i := range rows {
			boxes.Values = append(boxes.Values, o.Values[6*i:][:4]...)
		}
		r.orient(boxes, "xyxy")
		var list []Detection
		for i := range rows {
			list = r.keep(list, boxes.Values[4*i:][:4], int(at(i, 5)), at(i, 4))
		}
		return list, nil
	}
	if n := len(r.Names); n > 0 {
		k = n
	}
	turned := rows < columns
	if turned {
		rows, columns = columns, rows
		at = func(row, column int) float64 { return o.Values[column*o.Shape[1]+row] }
	}
	own := columns == 5+k
	if columns != 4+k && !own {
		return nil, fmt.Errorf("boxes: the output %s is %v: want 4 or 5 numbers and a score for each of %d categories", o.Name, o.Shape, k)
	}
	boxes, scores := Output{Name: o.Name, Shape: []int{rows, 4}}, Output{Name: o.Name, Shape: []int{rows, k}}
	for i := range rows {
		sure := 1.0
		if own {
			sure = at(i, 4)
		}
		for c := range 4 {
			boxes.Values = append(boxes.Values, at(i, c))
		}
		for c := columns - k; c < columns; c++ {
			scores.Values = append(scores.Values, sure*at(i, c))
		}
	}
	if r.Order == "" {
		r.Order = "cxcywh"
	}
	return r.candidates(boxes, scores)
}

// candidates reads boxes with a score for each class, and applies non-maximum suppression.
func (r *Decoder) candidates(b, s Output) ([]Detection, error) {
	n := b.Shape[0]
	r.orient(b, "xyxy")
	r.logits = named(s.Name, "logit")
	classes, row, column := s.Shape[1], s.Shape[1], 1
	if s.Shape[0] != n || n == s.Shape[1] && r.classes > 0 && r.classes != classes {
		classes, row, column = s.Shape[0], 1, s.Shape[1]
	}
	r.classes = classes
	skip, err := r.background()
	if err != nil {
		return nil, err
	}
	outside := slices.ContainsFunc(s.Values, func(v float64) bool { return v < 0 || v > 1 })
	byClass := map[int][]Detection{}
	p := make([]float64, classes)
	for i := range n {
		for c := range p {
			p[c] = s.Values[i*row+c*column]
		}
		if outside {
			probabilities(p, skip >= 0)
		}
		for c, v := range p {
			if c != skip && v >= faint {
				byClass[c] = r.keep(byClass[c], b.Values[4*i:][:4], c, v)
			}
		}
	}
	var list []Detection
	for c := range classes {
		list = append(list, suppressed(byClass[c], cmp.Or(r.Suppress, 0.65))...)
	}
	slices.SortStableFunc(list, surer)
	return list[:min(len(list), most)], nil
}

// background returns the background class, −1 if there is none.
func (r *Decoder) background() (int, error) {
	k := len(r.Categories)
	last := slices.MaxFunc(r.Categories, func(a, b Category) int { return cmp.Compare(a.ID, b.ID) }).ID
	switch {
	case r.Names != nil || r.First != nil && r.classes == k+*r.First || r.classes == k:
		return -1, nil
	case r.classes == k+1 && !r.logits:
		return 0, nil
	case r.classes == k+1 || r.logits && int64(r.classes) > last:
		return r.classes - 1, nil
	case int64(r.classes) > last:
		return 0, nil
	}
	return -1, fmt.Errorf("boxes: the model has scores for %d classes, there are %d categories with ids up to %d", r.classes, k, last)
}

// probabilities converts logits in place: by a softmax over the classes if together, which a background class requires, otherwise by
// a sigmoid of each.
func probabilities(p []float64, together bool) {
	if !together {
		for c, v := range p {
			p[c] = 1 / (1 + math.Exp(-v))
		}
		return
	}
	top, sum := slices.Max(p), 0.0
	for c, v := range p {
		p[c] = math.Exp(v - top)
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
}

// surer compares detections by descending score.
func surer(a, b Detection) int { return cmp.Compare(b.Score, a.Score) }

// suppressed returns the detections of one class without those that overlap one with a higher score.
func suppressed(list []Detection, limit float64) (kept []Detection) {
	slices.SortStableFunc(list, surer)
	for _, d := range list {
		if len(kept) == most {
			break
		}
		if !slices.ContainsFunc(kept, func(k Detection) bool { return k.IoU(d.Box) > limit }) {
			kept = append(kept, d)
		}
	}
	return kept
}

// orient determines the format of boxes: by the name of the output, or by the numbers, which are a center and a size if corners would
// be inverted.
func (r *Decoder) orient(b Output, order string) {
	if r.Order != "" || len(b.Values) == 0 {
		return
	}
	switch {
	case named(b.Name, "detection_boxes"):
		order = "yxyx"
	case named(b.Name, "pred_boxes"):
		order = "cxcywh"
	default:
		wrong := 0
		for v := range slices.Chunk(b.Values, 4) {
			if v[2] < v[0] || v[3] < v[1] {
				wrong++
			}
		}
		if 10*wrong*4 > len(b.Values) {
			order = "cxcywh"
		}
	}
	r.Order = order
}

// keep appends a box, unless a number is not finite, the score is not above 0, or the edges are inverted.
func (r *Decoder) keep(list []Detection, v []float64, class int, score float64) []Detection {
	if !(score > 0) || slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return list
	}
	b := Box{v[0], v[1], v[2], v[3]}
	switch r.Order {
	case "yxyx":
		b = Box{v[1], v[0], v[3], v[2]}
	case "xywh":
		b = Box{v[0], v[1], v[0] + v[2], v[1] + v[3]}
	case "cxcywh":
		b = Box{v[0] - v[2]/2, v[1] - v[3]/2, v[0] + v[2]/2, v[1] + v[3]/2}
	}
	if b.X1 < b.X0 || b.Y1 < b.Y0 {
		r.inverted++
		return list
	}
	r.upright++
	if r.classes == 0 {
		r.zero = r.zero || class == 0
		if !slices.ContainsFunc(r.Categories, func(c Category) bool { return c.ID == int64(class) }) {
			r.unknown = max(r.unknown, class)
		}
	}
	return append(list, Detection{Box: b, Category: class, Score: score})
}

// Detections returns those of all images, in order, in pixels of the images, and a description of how they were
// decoded. Coordinates up to 2 are fractions of the input.
func (r *Decoder) Detections() (found [][]Detection, how string, err error) {
	place, classes := r.places()
	width, height, unit := 1.0, 1.0, "pixels of the input"
	relative := r.farthest <= 2
	if relative {
		unit = "fractions of the input"
	}
	for _, p := range r.images {
		f := p.at
		if relative {
			width, height = f.Width, f.Height
		}
		var list []Detection
		for _, d := range p.list {
			c, ok := place(d.Category)
			if !ok {
				continue
			}
			b := Box{(d.X0*width - f.Left) / f.ScaleX, (d.Y0*height - f.Top) / f.ScaleY, (d.X1*width - f.Left) / f.ScaleX, (d.Y1*height - f.Top) / f.ScaleY}
			list = append(list, Detection{Box: b, Category: c, Score: d.Score})
		}
		found = append(found, list)
	}
	return found, fmt.Sprintf("%s in %s, %s", r.Order, unit, classes), nil
}

// places returns the mapping from classes of the model to categories, and a description of how it was determined.
func (r *Decoder) places() (place func(class int) (int, bool), how string) {
	byID := func(class int) (int, bool) {
		i := slices.IndexFunc(r.Categories, func(c Category) bool { return c.ID == int64(class) })
		return i, i >= 0
	}
	from := func(first int) func(int) (int, bool) {
		return func(class int) (int, bool) {
			return class - first, class >= first && class-first < len(r.Categories)
		}
	}
	skip := -1
	if r.classes > 0 {
		skip, _ = r.background() // an error was reported before
	}
	switch k := len(r.Categories); {
	case r.Names != nil:
		return func(class int) (int, bool) {
			if class < 0 || class >= len(r.Names) {
				return 0, false
			}
			i := slices.IndexFunc(r.Categories, func(c Category) bool { return strings.EqualFold(c.Name, r.Names[class]) })
			return i, i >= 0
		}, "classes by the model's names"
	case r.First != nil:
		return from(*r.First), fmt.Sprintf("the first category is class %d", *r.First)
	case r.classes == k || r.classes == k+1 && skip > 0:
		return from(0), "the first category is class 0"
	case r.classes == k+1:
		return from(1), "class 0 is the background"
	case r.classes > 0 || r.unknown < 0:
		return byID, "classes are the ids of the categories"
	case r.zero:
		return from(0), "the first category is class 0"
	}
	return byID, fmt.Sprintf("classes are the ids of the categories, which lack %d", r.unknown)
}

// named reports whether a name contains one of the words.
func named(name string, words ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

func shapes(out []Output) string {
	var list []string
	for _, o := range out {
		list = append(list, fmt.Sprintf("%s %v", o.Name, o.Shape))
	}
	return strings.Join(list, ", ")
}
