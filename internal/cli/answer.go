package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// answerer converts a model's outputs to answers.
type answerer struct {
	computer
	kind   string // classes, tags, yes, values, mask, image, positions or arrays
	labels []string
	logits bool                 // scores are logits, to which a sigmoid or softmax is applied
	fed    image.Point          // size of the images that the model takes; zero: they are not files
	each   map[string]*answerer // of several outputs whose meaning is known; nil elsewhere
}

// answer is the result for one sample.
type answer struct {
	top    []choice
	tags   []string // of a model for tags: those with a probability of ½ or more; nil for others
	values []float64
	along  []choice          // of a sequence: the class of each position, or of each word
	words  []string          // of along; nil where positions are not words
	parts  map[string]answer // of several outputs, each by its name
	whole  nn.Feed           // of arrays: all outputs, without the batch axis
	image  *tensor.Dense
	size   image.Point       // of the image file; zero: there is none
	files  map[string]string // files that were drawn
	err    error             // the sample cannot be read
}

// choice is a class and its probability.
type choice struct {
	Label       string  `json:"label"`
	Probability float64 `json:"probability"`
}

// newAnswerer determines the kind of a model's answers from its metadata, its last operators and the shape of its first
// output.
func newAnswerer(g *nn.Graph, as string) (*answerer, error) {
	a := &answerer{computer: computer{g: g}, kind: as, logits: !yesOrNo(g)}
	schema, known, err := table.ReadMeta(g.Meta())
	if err != nil {
		return nil, err
	}
	if a.labels, err = labelsOf(g); err != nil {
		return nil, err
	}
	if a.labels == nil {
		a.labels = schema.Classes
	}
	if len(g.Outputs()) == 0 {
		return nil, fmt.Errorf("the model has no output")
	}
	switch as {
	case "classes", "values", "mask", "image", "arrays":
		return a, nil
	case "":
	default:
		return nil, fmt.Errorf("--as %s: want classes, values, mask, image or arrays", as)
	}
	t := g.Outputs()[0].Type()
	n, sized := scores(g.Outputs())
	flat := t.Rank() == 1 || t.Rank() >= 2 && !slices.ContainsFunc(t.Sizes()[2:], func(d int) bool { return d != 1 })
	switch {
	case !t.DType.IsFloat() || len(g.Outputs()) > 1:
		a.kind = "arrays"
		if a.each, err = eachOutput(g); err != nil {
			return nil, err
		}
	case g.Meta()[metaTask] == "positions" && t.Rank() == 3:
		a.kind = "positions"
	case flat && (g.Meta()[metaTask] == "tags" || g.Meta()[metaTask] == "values"):
		a.kind = g.Meta()[metaTask]
	case g.Meta()[metaTask] == "mask" && t.Rank() == 4:
		a.kind = "mask"
	case t.Rank() == 4 && !flat && sized && (n == 1 || n == 3) && len(a.labels) != n:
		a.kind = "image"
	case t.Rank() == 4 && !flat && sized && n > 1:
		a.kind = "mask"
	case !flat:
		a.kind = "arrays"
	case known && schema.Classes == nil:
		a.kind = "values"
	case t.Rank() == 1 || n == 1:
		if a.kind = "values"; len(a.labels) == 2 || !a.logits {
			a.kind = "yes"
		}
	default:
		a.kind = "classes"
	}
	return a, nil
}

// drawn reports whether answers are images.
func (a *answerer) drawn() bool { return a.kind == "mask" || a.kind == "image" }

// of returns the answers for samples of s; the last sample is repeated if the model has a larger fixed batch. A sample
// that cannot be read has an answer with an error.
func (a *answerer) of(ctx context.Context, s *sampleSource, index []int, size int) ([]answer, error) {
	asked := slices.Clone(index)
	if _, fixed := fixedBatch(a.g); fixed {
		for len(asked) < size {
			asked = append(asked, index[len(index)-1])
		}
	}
	feed, err := s.feed(ctx, asked)
	if err != nil {
		return a.apart(ctx, s, index, size, err)
	}
	list, err := a.answers(ctx, feed)
	if errors.Is(err, errScoresNaN) {
		return a.apart(ctx, s, index, size, fmt.Errorf("%s: %w", s.name(index[0]), err))
	}
	if err != nil {
		return nil, err
	}
	if len(list) < len(index) {
		return nil, fmt.Errorf("the model returned %d results for %d samples; --batch 1 asks for one at a time", len(list), len(index))
	}
	return list[:len(index)], nil
}

// apart runs each of the samples separately, to determine which of them an error is about. It returns an error that is about none of them.
func (a *answerer) apart(ctx context.Context, s *sampleSource, index []int, size int, err error) (list []answer, _ error) {
	if ctx.Err() != nil || disk.Exhausted(err) {
		return nil, err
	}
	if len(index) == 1 {
		return []answer{{err: err}}, nil
	}
	for _, i := range index {
		one, err := a.of(ctx, s, []int{i}, size)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	return list, nil
}

// errScoresNaN: the scores of a sample are not numbers.
var errScoresNaN = errors.New("the model's scores are NaN: is a number missing, or too large for it?")

// answers runs the model.
func (a *answerer) answers(ctx context.Context, feed nn.Feed) ([]answer, error) {
	out, err := a.eval(ctx, feed)
	if err != nil {
		return nil, err
	}
	return a.read(out)
}

// names returns the names of the outputs.
func (a *answerer) names() (names []string) {
	for _, v := range a.g.Outputs() {
		names = append(names, v.Name())
	}
	return names
}

// read converts the outputs to answers.
func (a *answerer) read(out nn.Feed) (list []answer, err error) {
	names := a.names()
	if a.each != nil {
		return a.readEach(out, names)
	}
	d, ok := out[names[0]].(*tensor.Dense)
	if a.kind == "arrays" || !ok || d.Dims() == 0 {
		return apart(out, names)
	}
	list = make([]answer, d.Shape()[0])
	for i := range list {
		if list[i], err = a.one(dtype.Pick(d, 0, []int{i})); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readEach returns an answer for each output, by name.
func (a *answerer) readEach(out nn.Feed, names []string) (list []answer, err error) {
	for _, name := range names {
		d, ok := out[name].(*tensor.Dense)
		if !ok || d.Dims() == 0 || list != nil && d.Shape()[0] != len(list) {
			return nil, fmt.Errorf("output %s has the shape %v, want a row for each of the %d samples", name, out[name].Shape(), len(list))
		}
		if list == nil {
			list = make([]answer, d.Shape()[0])
		}
		for i := range list {
			if list[i].parts == nil {
				list[i].parts = map[string]answer{}
			}
			if list[i].parts[name], err = a.each[name].one(dtype.Pick(d, 0, []int{i})); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// one returns the answer of a row of the first output.
func (a *answerer) one(row *tensor.Dense) (x answer, err error) {
	if a.drawn() {
		x.image = row
		return x, nil
	}
	if x.values, err = dtype.Float64s(row); err != nil {
		return x, err
	}
	kind := a.kind
	if kind == "classes" && !a.logits {
		kind = "tags" // a Sigmoid has turned the scores into independent probabilities
	}
	switch kind {
	case "positions":
		if x.along, err = a.alongSequence(row); err != nil {
			return x, err
		}
		x.values = nil
	case "yes":
		p := x.values[0]
		if a.logits {
			p = 1 / (1 + math.Exp(-p))
		}
		x.top = []choice{{a.label(1), p}, {a.label(0), 1 - p}}
		if p < 0.5 {
			slices.Reverse(x.top)
		}
	case "tags":
		for c, p := range x.values {
			if a.logits {
				p = 1 / (1 + math.Exp(-p))
			}
			x.top = append(x.top, choice{a.label(c), p})
		}
		slices.SortStableFunc(x.top, func(a, b choice) int { return cmp.Compare(b.Probability, a.Probability) })
		if a.kind != "tags" {
			break
		}
		x.tags = []string{}
		for _, c := range x.top {
			if c.Probability >= 0.5 {
				x.tags = append(x.tags, c.Label)
			}
		}
	case "classes":
		if slices.ContainsFunc(x.values, math.IsNaN) {
			return x, errScoresNaN
		}
		flat, err := dtype.FromSlice(slices.Clone(x.values), len(x.values))
		if err != nil {
			return x, err
		}
		classes, scores, err := data.Top(flat, len(x.values))
		if err != nil {
			return x, err
		}
		for i, c := range classes {
			x.top = append(x.top, choice{a.label(c), scores[i]})
		}
	}
	return x, nil
}

// alongSequence returns the most likely class of each position of a row [1, C, T] or [1, T, C].
func (a *answerer) alongSequence(row *tensor.Dense) (list []choice, err error) {
	t := a.g.Outputs()[0].Type().Shape
	last := t[2].Known() && (!t[1].Known() || t[1].Size != len(a.labels) && t[2].Size == len(a.labels))
	v, err := dtype.Float64s(row)
	if err != nil {
		return nil, err
	}
	classes, length, class, position := row.Shape()[1], row.Shape()[2], row.Shape()[2], 1 // sizes and strides
	if last {
		classes, length, class, position = length, classes, 1, length
	}
	for i := range length {
		scores := make([]float64, classes)
		for c := range scores {
			scores[c] = v[i*position+c*class]
		}
		flat, err := dtype.FromSlice(scores, classes)
		if err != nil {
			return nil, err
		}
		top, shares, err := data.Top(flat, 1)
		if err != nil {
			return nil, err
		}
		list = append(list, choice{a.label(top[0]), shares[0]})
	}
	return list, nil
}

// label returns the name of a class, or its number.
func (a *answerer) label(class int) string {
	if class < len(a.labels) {
		return a.labels[class]
	}
	return fmt.Sprint(class)
}

// apart splits outputs along their first axis; if its length differs between them, they are one answer.
func apart(out nn.Feed, names []string) ([]answer, error) {
	n := -1
	for _, name := range names {
		s := out[name].Shape()
		if _, dense := out[name].(*tensor.Dense); !dense || len(s) == 0 || n >= 0 && s[0] != n {
			return []answer{{whole: out}}, nil
		}
		n = s[0]
	}
	list := make([]answer, n)
	for i := range list {
		list[i].whole = nn.Feed{}
		for _, name := range names {
			row := dtype.Pick(out[name].(*tensor.Dense), 0, []int{i})
			view, err := dtype.View(row, row.Shape()[1:]...)
			if err != nil {
				return nil, err
			}
			list[i].whole[name] = view
		}
	}
	return list, nil
}

// fields returns the answer as JSON, without the sample's name.
func (x answer) fields(top int) map[string]any {
	all := map[string]any{}
	for name, v := range x.whole {
		all[name] = asObject(onnxio.NamedValue{Value: v}).nested()
	}
	for name, part := range x.parts {
		all[name] = part.fields(top)
	}
	switch {
	case x.top != nil:
		all["label"], all["probability"], all["top"] = x.top[0].Label, x.top[0].Probability, x.top[:min(top, len(x.top))]
		if x.tags != nil {
			all["tags"] = x.tags
		}
	case x.along != nil:
		var labels []string
		var sure []float64
		for _, c := range x.along {
			labels, sure = append(labels, c.Label), append(sure, c.Probability)
		}
		if all["labels"], all["probabilities"] = labels, sure; x.words != nil {
			all["words"] = x.words
		}
	case len(x.values) == 1:
		all["value"] = finite(x.values[0])
	case x.values != nil:
		var list []any
		for _, v := range x.values {
			list = append(list, finite(v))
		}
		all["values"] = list
	}
	for what, file := range x.files {
		all[what] = file
	}
	return all
}

// finite converts a number to JSON: NaN and the infinities are strings.
func finite(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	if f := float64(float32(v)); f == v {
		return float32(v)
	}
	return v
}

// nested returns the elements as nested lists of the tensor's shape.
func (o object) nested() any {
	list, ok := o.Data.([]any)
	if ints, is := o.Data.([]int64); is {
		ok = true
		for _, v := range ints {
			list = append(list, v)
		}
	}
	if !ok || len(o.Shape) == 0 {
		if ok && len(list) == 1 {
			return list[0]
		}
		return o.Data
	}
	for axis := len(o.Shape) - 1; axis > 0; axis-- {
		var rows []any
		for n := o.Shape[axis]; n > 0 && len(list) >= n; list = list[n:] {
			rows = append(rows, list[:n:n])
		}
		list = rows
	}
	return list
}
