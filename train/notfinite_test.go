package train_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// fragile normalizes x, whose variance may be too large for its type, and adds the root of p·z, which has no gradient at 0.
func fragile(t *testing.T, typ op.DType) *nn.Graph {
	t.Helper()
	g := nn.New("fragile")
	if err := g.Edit(func(e *nn.Edit) {
		param := func(name string, i initial.Filler, dims ...int) *nn.Value { return e.ParamOf(name, typ, i, dims...) }
		x, z := e.Input("x", typ.String()+"[N,4]"), e.Input("z", typ.String()+"[N,3]")
		h := e.Node(std.BatchNormalizationConfig{}, x, param("scale", initial.Ones{}, 4), param("shift", initial.Ones{}, 4), param("mean", initial.Zeros{}, 4), param("var", initial.Ones{}, 4)).Out(0)
		h = e.Node(std.GemmConfig{TransB: true}, h, param("w", initial.Ones{}, 3, 4), param("b", initial.Zeros{}, 3)).Out(0)
		e.Output("y", e.Node(op.Plain("Add"), h, e.Node(op.Plain("Sqrt"), e.Node(op.Plain("Mul"), z, param("p", initial.Ones{}, 3)).Out(0)).Out(0)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// leaning is mean(outputs)·mean(targets), or mean(outputs) + mean(targets).
func leaning(join string) train.Loss {
	return train.LossFunc(func(e *nn.Edit, out, want []*nn.Value) *nn.Value {
		mean := func(v *nn.Value) *nn.Value { return e.Node(std.ReduceMeanConfig{KeepDims: new(bool)}, v).Out(0) }
		return e.Node(op.Plain(join), mean(out[0]), mean(want[0])).Out(0)
	})
}

// fragileBatch has six samples, of which those from the given one on are multiplied by the factors.
func fragileBatch(typ op.DType, from int, x, z, y float64) data.Sample {
	fill := func(cols int, factor float64, f func(i int) float64) *tensor.Dense {
		d := dtype.New(typ, 6, cols)
		for i := range 6 * cols {
			v := f(i)
			if i >= from*cols {
				v *= factor
			}
			if typ == dtype.Float32 {
				dtype.Slice[float32](d)[i] = float32(v)
			} else {
				dtype.Slice[float64](d)[i] = v
			}
		}
		return d
	}
	one := func(int) float64 { return 1 }
	return data.Sample{X: []*tensor.Dense{fill(4, x, func(i int) float64 { return math.Sin(float64(7 * i)) }), fill(3, z, one)}, Y: []*tensor.Dense{fill(1, y, one)}}
}

// notFinite are the ways in which a step is not finite: in the data of the batch, alone.
var notFinite = map[string]struct {
	want     string
	typ      op.DType
	join     string // of the loss
	x, z, y  float64
	alone    bool // not as one of several batches, whose gradients are averaged
	anywhere bool // in a part of the batch, too
}{
	"loss":      {"the loss is NaN", dtype.Float32, "Add", 1, 1, math.NaN(), false, true},
	"gradient":  {"the gradient of p is not finite", dtype.Float32, "Add", 1, 0, 1, false, true},
	"statistic": {"the statistic var is not finite", dtype.Float32, "Add", 1e25, 1, 1, false, false},
	"norm":      {"the gradient has norm +Inf", dtype.Float64, "Mul", 1, 1, 6.5e153, true, false},
}

// TestNotFinite: whatever is not finite in a step, the loss, a gradient, their norm or a statistic alone, in whatever part of it, and however
// it updates: the step is refused, changes nothing, and the next one is that of a trainer that never saw it.
func TestNotFinite(t *testing.T) {
	configs := map[string]train.Config{
		"SGD": {Rule: optim.SGD{LR: 0.1, Momentum: 0.9}}, "AdamW": {EMA: 0.9}, "Lion": {Rule: optim.Lion{}}, "whole": {Whole: true, EMA: 0.9}, "clipped": {ClipNorm: 1, Rule: optim.SGD{LR: 0.1}},
		"observed": {OnGradient: func(*nn.Param, *tensor.Dense) error { return nil }}, "accumulated": {Accumulate: 3, EMA: 0.5}, "in parts": {Batch: 6, MicroBatch: 2}, "frozen": {Rule: optim.SGD{LR: 0.1}},
	}
	for _, name := range slices.Sorted(maps.Keys(notFinite)) {
		f := notFinite[name]
		for how, c := range configs {
			if f.alone && (how == "accumulated" || how == "in parts") {
				continue
			}
			from := 0
			if f.anywhere {
				from = 4
			}
			c.Loss, c.Metrics, c.Log = leaning(f.join), []train.Metric{}, train.Quiet
			good, bad := fragileBatch(f.typ, 0, 1, 1, 1), fragileBatch(f.typ, from, f.x, f.z, f.y)
			var trainers [2]*train.Trainer
			for i := range trainers {
				g := fragile(t, f.typ)
				if err := g.Edit(func(e *nn.Edit) { e.SetFrozen(e.Value("w").Param(), how == "frozen") }); err != nil {
					t.Fatal(err)
				}
				var err error
				if trainers[i], err = train.New(g, c); err != nil {
					t.Fatal(err)
				}
			}
			steps := func(tr *train.Trainer, n int) {
				t.Helper()
				for range n {
					if _, err := tr.Step(context.Background(), good); err != nil {
						t.Fatal(name, how, err)
					}
				}
			}
			group := max(1, c.Accumulate)
			for at := range group { // the batch of a group that has the fault
				steps(trainers[0], group)
				steps(trainers[1], group)
				before := everything(t, trainers[0])
				steps(trainers[0], at)
				info, err := trainers[0].Step(context.Background(), bad)
				for k := at + 1; k < group && err == nil; k++ { // gradients are checked before the update
					info, err = trainers[0].Step(context.Background(), good)
				}
				if err == nil || !strings.Contains(err.Error(), f.want) || !strings.Contains(err.Error(), "nothing was changed by it") || info.Updated {
					t.Fatalf("%s, %s, from sample %d, batch %d: %+v, %v", name, how, from, at, info, err)
				}
				same(t, fmt.Sprintf("%s, %s, from sample %d, batch %d", name, how, from, at), before, everything(t, trainers[0]))
			}
			steps(trainers[0], group)
			steps(trainers[1], group)
			same(t, name+", "+how+", the next step", everything(t, trainers[1]), everything(t, trainers[0]))
		}
	}
}
