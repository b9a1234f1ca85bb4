package table

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
)

// Build adds the raw columns as inputs, and their encoding. It returns the features, float32 [N, features].
func (p *Encoder) Build(e *nn.Edit) *nn.Value {
	p.inputs(e)
	b := builder{e}
	var parts []*nn.Value
	if x, _ := p.raw(e); x != nil {
		parts = append(parts, p.scaled(b, x)...)
	}
	for _, f := range p.Fields {
		if words := p.words[f.Name]; words != nil {
			parts = append(parts, p.category(b, f.Name, words))
		}
	}
	if e.Err() != nil {
		return nil
	}
	v := b.concat(parts...)
	if e.Err() == nil {
		e.RenameValue(v, e.New("features"))
	}
	return v
}

// inputs adds an input [N, 1] for each column.
func (p *Encoder) inputs(e *nn.Edit) {
	for _, f := range p.Fields {
		e.Input(f.Name, f.Type+"[N,1]")
	}
}

// raw returns one matrix of all numbers and of the numbers from dates, NaN if missing; nil if there are none.
func (p *Encoder) raw(e *nn.Edit) (*nn.Value, []string) {
	b := builder{e}
	var parts []*nn.Value
	var names []string
	for _, f := range p.Fields {
		if e.Err() != nil {
			return nil, nil
		}
		v := e.Value(f.Name)
		center, coarse := p.center[f.Name]
		if f.Kind == Category {
			continue
		}
		part := v
		if coarse {
			part = b.cast(b.do("Sub", v, b.scalar(f.Name+".center", dtype.Float64, center)), dtype.Float32)
		}
		parts, names = append(parts, part), append(names, f.Name)
		if f.Kind != Date {
			continue
		}
		for _, a := range angles {
			if a.clock && !p.clock[f.Name] {
				continue
			}
			turn := b.do("Mul", v, b.scalar(f.Name+"."+a.name, dtype.Float64, 1/a.days))
			turn = b.cast(b.do("Sub", turn, b.do("Floor", turn)), dtype.Float32)
			turn = b.do("Mul", turn, b.scalar("turn", dtype.Float32, 2*math.Pi))
			parts = append(parts, b.do("Sin", turn), b.do("Cos", turn))
			names = append(names, f.Name+" "+a.name+" sin", f.Name+" "+a.name+" cos")
		}
	}
	if len(parts) == 0 || e.Err() != nil {
		return nil, nil
	}
	return b.concat(parts...), names
}

// angles are the cycles in which dates are encoded. Weeks start on Thursday, the day of 1970-01-01.
var angles = []struct {
	name  string
	days  float64
	clock bool // only for dates with times
}{{"year", 365.2425, false}, {"week", 7, false}, {"day", 1, true}}

// scaled imputes missing numbers, scales all numbers, and adds features that mark missing ones.
func (p *Encoder) scaled(b builder, x *nn.Value) []*nn.Value {
	n := len(p.mean)
	none := b.do("IsNaN", x)
	var y *nn.Value
	if p.knots != nil {
		y = p.ranked(b, x, none)
	} else {
		y = b.do("Mul", b.do("Sub", x, b.numbers("mean", dtype.Float32, p.mean, n)), b.numbers("inverse_deviation", dtype.Float32, p.inverse, n))
	}
	parts := []*nn.Value{b.do("Where", none, b.scalar("zero", dtype.Float32, 0), y)}
	if len(p.marked) > 0 {
		marks := b.cast(none, dtype.Float32)
		if len(p.marked) < n && b.e.Err() == nil {
			marks = b.put("", "Gather", map[string]any{"axis": int64(1)}, marks, b.e.Ints("marked", p.marked...))
		}
		parts = append(parts, marks)
	}
	return parts
}

// ranked maps each number to the fraction of rows below it, scaled to −1 … 1: a sum of linear ramps between knots.
func (p *Encoder) ranked(b builder, x, none *nn.Value) *nn.Value {
	n := len(p.knots)
	low, slope, height := make([]float64, n*steps), make([]float64, n*steps), make([]float64, steps)
	for c, q := range p.knots {
		for k := range steps {
			low[c*steps+k] = q[k]
			slope[c*steps+k] = 1 / max(q[k+1]-q[k], 1e-6*max(math.Abs(q[k]), math.Abs(q[k+1]), 1e-30))
			height[k] = 2.0 / steps
		}
	}
	mean := b.numbers("mean", dtype.Float32, p.mean, n)
	x = b.do("Where", none, mean, x)
	if b.e.Err() != nil {
		return nil
	}
	x = b.do("Reshape", x, b.e.Ints("each", 0, n, 1))
	x = b.do("Mul", b.do("Sub", x, b.numbers("knots", dtype.Float32, low, n, steps)), b.numbers("slopes", dtype.Float32, slope, n, steps))
	x = b.do("Clip", x, b.scalar("zero", dtype.Float32, 0), b.scalar("one", dtype.Float32, 1))
	x = b.do("MatMul", x, b.numbers("heights", dtype.Float32, height, steps, 1))
	if b.e.Err() != nil {
		return nil
	}
	x = b.do("Reshape", x, b.e.Ints("row", 0, n))
	return b.do("Sub", x, b.scalar("one", dtype.Float32, 1))
}

// category one-hot encodes the categories of a column, or looks up a trained embedding. The index after the last is for categories
// unknown in training: OneHot has no feature for it, the embedding has a vector.
func (p *Encoder) category(b builder, name string, words []string) *nn.Value {
	if b.e.Err() != nil {
		return nil
	}
	positions := make([]int64, len(words))
	for i := range positions {
		positions[i] = int64(i)
	}
	code := b.put("ai.onnx.ml", "LabelEncoder", map[string]any{
		"keys_strings": words, "values_int64s": positions, "default_int64": int64(len(words)),
	}, b.e.Value(name))
	if b.e.Err() != nil {
		return nil
	}
	if p.embedded(name) {
		size := min(50, int(1.6*math.Pow(float64(len(words)), 0.56))) // fastai's rule of thumb
		v := b.e.Apply(layers.Embedding{Num: len(words) + 1, Dim: size, Name: name + ".embedding", Init: initial.Normal{Std: 0.1}}, code)
		return b.row(v, size)
	}
	v := b.do("OneHot", code, b.depth(len(words)), b.numbers("off_on", dtype.Float32, []float64{0, 1}, 2))
	return b.row(v, len(words))
}

// row removes the axis of the column: [N, 1, size] becomes [N, size].
func (b builder) row(v *nn.Value, size int) *nn.Value {
	if b.e.Err() != nil {
		return nil
	}
	return b.do("Reshape", v, b.e.Ints("row", 0, size))
}

func (b builder) depth(n int) *nn.Value {
	d, err := dtype.FromInts(dtype.Int64, []int{n})
	b.e.Fail(err)
	return b.e.Const(fmt.Sprintf("depth_%d", n), d)
}

// Scaling returns a layer that scales a matrix of numbers, the columns of s side by side.
func (p *Encoder) Scaling(s Schema) nn.Layer {
	return nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		b := builder{e}
		n := len(s.Fields)
		mean, inverse := make([]float64, n), make([]float64, n)
		var knots [][]float64
		for i, f := range s.Fields {
			// A constant column becomes 0.
			if k := slices.Index(p.Names, f.Name); k >= 0 {
				mean[i], inverse[i] = p.mean[k]+p.center[f.Name], p.inverse[k]
				if p.knots != nil {
					knots = append(knots, p.knots[k])
				}
			} else if p.knots != nil {
				knots = append(knots, make([]float64, steps+1))
			}
		}
		q := &Encoder{mean: mean, inverse: inverse, knots: knots}
		return q.scaled(b, in[0])[:1]
	})
}
