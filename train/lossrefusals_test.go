package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// attached builds a loss on outputs and targets of the given types and returns its value and what was noted.
func attached(t *testing.T, l Loss, out, want []string) (loss *nn.Value, err error) {
	t.Helper()
	g := nn.New("g")
	err = g.Edit(func(e *nn.Edit) {
		var x, y []*nn.Value
		for _, typ := range out {
			v := e.Node(op.Plain("Identity"), e.Input(e.New("x"), typ)).Out(0)
			e.Output(e.New("y"), v)
			x = append(x, v)
		}
		for _, typ := range want {
			y = append(y, e.Input(e.New("t"), typ))
		}
		if loss = l.Build(e, x, y); e.Err() == nil {
			e.Output("loss", loss)
		}
	})
	return loss, err
}

// TestLossTypes checks which outputs and targets losses accept, and their errors for others.
func TestLossTypes(t *testing.T) {
	const scores = "float32[N,3]"
	two := []float64{1, 2}
	for _, c := range []struct {
		l         Loss
		out, want string // types, with spaces between
		text      string // "": it fits
	}{
		{CrossEntropy{}, scores, "int64[N]", ""}, {CrossEntropy{}, scores, "int32[N]", ""}, {CrossEntropy{}, scores, scores, ""}, {CrossEntropy{}, "float32[N,3,5]", "int64[N,5]", ""},
		{CrossEntropy{}, "float32[N,3,1,1]", "int64[N]", ""}, {CrossEntropy{}, "float32[N,3,1,1]", scores, ""}, {CrossEntropy{Axis: -1}, "float32[N,5,3]", "int64[N,5]", ""}, {CrossEntropy{Axis: -1}, "float32[N,5,3]", "float32[N,5,3]", ""},
		{CrossEntropy{LabelSmoothing: 1}, scores, "int64[N]", ""}, {CrossEntropy{ClassWeights: []float64{1, 2, 3}}, scores, "int64[N]", ""},
		{CrossEntropy{}, "", "int64[N]", "cross-entropy: the model has no output"}, {CrossEntropy{}, scores, "", "cross-entropy: the samples have no target"},
		{CrossEntropy{}, scores, "int64[N] int64[N]", "cross-entropy: compares one target with the first output, the samples have 2"},
		{CrossEntropy{LabelSmoothing: -0.1}, scores, "int64[N]", "label smoothing is -0.1: want 0 to 1"}, {CrossEntropy{LabelSmoothing: 1.1}, scores, "int64[N]", "label smoothing is 1.1"}, {CrossEntropy{LabelSmoothing: math.NaN()}, scores, "int64[N]", "label smoothing is NaN"},
		{CrossEntropy{}, "float32[N]", "int64[N]", "has no axis of classes"}, {CrossEntropy{}, "float32[N,C]", "int64[N]", "the number of classes, axis 1 of the output float32[N,C], is not fixed"},
		{CrossEntropy{}, scores, "int64[N,2]", "want scores [N, classes, …] and a class [N, …] for each"}, {CrossEntropy{}, "float32[N,3,2]", "int64[N]", "want scores"}, {CrossEntropy{}, scores, "float32[N]", "want scores"},
		{CrossEntropy{}, "float32[N,3,5]", "int64[N,4]", "cross-entropy: the output is float32[N,3,5], the target int64[N,4]"}, {CrossEntropy{}, "float32[6,3]", "int64[5]", "the target int64[5]"}, {CrossEntropy{}, scores, "float32[N,4]", "the target float32[N,4]"},
		{CrossEntropy{ClassWeights: two}, scores, "int64[N]", "cross-entropy: 2 class weights for 3 classes"}, {CrossEntropy{ClassWeights: two}, scores, scores, "2 class weights for 3 classes"},
		{NLL{}, scores, "int64[N]", ""}, {NLL{}, scores, scores, "NLL: the target is float32[N,3]: want classes, int64"}, {NLL{ClassWeights: two}, scores, "int64[N]", "NLL: 2 class weights for 3 classes"}, {NLL{}, "float32[N]", "int64[N]", "NLL: the output is"},
		{KL{}, scores, scores, ""}, {KL{}, "float32[N,1]", "float32[N,1]", ""}, {KL{}, scores, "float32[N,4]", "KL: the output is float32[N,3], the target float32[N,4]: want one target for each element"}, {KL{}, "float32[N,C]", "float32[N,C]", "KL: the output is float32[N,C]: want [N, classes, …]"},
		{KL{}, "float32[N,3,L]", "float32[N,3,L]", "KL: the size of a sample, float32[N,3,L], is not fixed"}, {KL{Sum: true}, "float32[N,3,L]", "float32[N,3,L]", ""},
		{CrossEntropy{}, "float32[]", "int64[]", "cross-entropy: the output float32[] has no axis of classes"},
		{MSE{}, scores, scores, ""}, {MSE{}, "float32[N,1]", "float64[N]", ""},
		{MSE{}, "float32[N,2]", "float32[N]", "MSE: the output is float32[N,2], the target float32[N]"}, {L1{}, "float32[N]", "float32[N,2]", "L1: the output is"}, {MSE{}, "float32[N,1,1]", "float32[N]", "MSE: the output is"},
		{Huber{Delta: 0.5, Smooth: true}, scores, scores, ""}, {Huber{Delta: -1}, scores, scores, "Huber: Delta is -1: want a positive number"}, {Huber{Delta: math.Inf(1)}, scores, scores, "Delta is +Inf"}, {Huber{Delta: math.NaN()}, scores, scores, "Delta is NaN"},
		{BCEWithLogits{}, scores, scores, ""}, {BCEWithLogits{PosWeight: []float64{2}}, scores, scores, ""}, {BCEWithLogits{PosWeight: []float64{2, 3, 4}}, scores, "int64[N,3]", ""}, {BCEWithLogits{}, scores, "float32[N]", "BCE: the output is"},
		{Joint{}, scores + " float32[N,1]", "int64[N] float32[N]", ""}, {Joint{Weights: two}, scores + " float64[N,1]", "int64[N] float64[N]", ""}, {Joint{Losses: []Loss{nil, L1{}}}, scores + " float32[N,1]", "int64[N] float32[N]", ""},
		{Joint{}, scores, "", "Joint: the model has 1 outputs, the samples have 0 targets"}, {Joint{}, scores, "int64[N] int64[N]", "Joint: the model has 1 outputs, the samples have 2 targets: want as many"},
		{Joint{Weights: two}, scores, "int64[N]", "Joint: 0 losses and 2 weights for 1 outputs"}, {Joint{Losses: []Loss{nil, nil}}, scores, "int64[N]", "Joint: 2 losses and 0 weights for 1 outputs"}, {Joint{}, "float32[N]", "int64[N]", "has no axis of classes"},
		{Distill{}, scores, "int64[N] float32[N,3]", ""}, {Distill{Alpha: 1, Temperature: 0.5}, scores, "int64[N] float32[N,3]", ""}, {Distill{}, scores, "int64[N]", "distillation: want an output and two targets, the class and the teacher's logits, got 1 targets"},
		{Distill{Alpha: 1.5}, scores, "int64[N] float32[N,3]", "Alpha is 1.5 and Temperature 2"}, {Distill{Alpha: -0.5}, scores, "int64[N] float32[N,3]", "Alpha is -0.5"}, {Distill{Temperature: -1}, scores, "int64[N] float32[N,3]", "Temperature -1"},
		{Distill{Hard: CrossEntropy{Sum: true}}, scores, "int64[N] float32[N,3]", "the cross-entropy must be a mean"}, {Distill{Hard: CrossEntropy{Axis: 2}}, scores, "int64[N] float32[N,3]", "with the classes on axis 1"}, {Distill{Hard: CrossEntropy{Axis: 1}}, scores, "int64[N] float32[N,3]", ""},
		{ExprLoss{}, scores, "int64[N]", "ExprLoss has no function"},
	} {
		loss, err := attached(t, c.l, strings.Fields(c.out), strings.Fields(c.want))
		if c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) || c.text == "" && (err != nil || loss.Type().Rank() != 0) {
			t.Errorf("%T%+v of %s, %s: got %v, want %q", c.l, c.l, c.out, c.want, err, c.text)
		}
	}
}

// TestUnrankedTargets checks that targets of unknown rank are compared when their shapes are known.
func TestUnrankedTargets(t *testing.T) {
	for _, types := range [][2]string{{"float32", "float32[N]"}, {"float32[N]", "float32"}, {"float32", "float64"}} {
		if _, err := attached(t, MSE{}, types[:1], types[1:]); err != nil {
			t.Errorf("%v: %v", types, err)
		}
	}
}

// TestWeightOfBatches checks the weights of batches, and which labels are refused before a step.
func TestWeightOfBatches(t *testing.T) {
	minus, two := -1, 2
	labels := list(of(t, []int64{0, 2, 2, -100}, 4))
	for _, c := range []struct {
		l    Weighted
		y    []*tensor.Dense
		want float64
	}{
		{CrossEntropy{}, labels, 3}, {CrossEntropy{Sum: true}, labels, -1}, {CrossEntropy{}, nil, -1}, {CrossEntropy{IgnoreIndex: &two}, labels, 2}, {CrossEntropy{IgnoreIndex: &minus}, labels, 4},
		{CrossEntropy{ClassWeights: []float64{1, 5, 0.25}}, labels, 1.5}, {CrossEntropy{ClassWeights: []float64{1, 5}}, labels, 1}, {CrossEntropy{}, list(dtype.New(dtype.Float32, 7, 3)), 7},
		{NLL{}, labels, 3}, {NLL{Sum: true}, labels, -1}, {MSE{}, list(dtype.New(dtype.Float32, 7, 3)), 7}, {MSE{Sum: true}, list(dtype.New(dtype.Float32, 7)), -1}, {L1{}, nil, -1}, {Huber{}, list(dtype.Scalar(float32(1))), 1},
		{BCEWithLogits{}, list(dtype.New(dtype.Float32, 7)), 7}, {KL{Sum: true}, list(dtype.New(dtype.Float32, 7)), -1}, {Distill{}, list(dtype.New(dtype.Int64, 7)), 7},
	} {
		if got, err := c.l.Weight(c.y); err != nil || got != c.want {
			t.Errorf("%T%+v: %v, %v, want %v", c.l, c.l, got, err, c.want)
		}
	}
	if _, err := (CrossEntropy{}).Weight(list(dtype.New(dtype.Int8, 2))); err == nil || err.Error() != "classes are int8: want int64" {
		t.Error(err)
	}
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		for _, typ := range []string{"float32[N,5,3]", "float32[N]", "float32[N,C]"} {
			e.Output(e.New("y"), e.Node(op.Plain("Identity"), e.Input(e.New("x"), typ)).Out(0))
		}
	}); err != nil {
		t.Fatal(err)
	}
	out := g.Outputs()
	for _, c := range []struct {
		out    []*nn.Value
		y      []int64
		axis   int
		ignore int
		want   string
	}{
		{out, []int64{0, 4, -100}, 0, -100, ""}, {out, []int64{0, 5}, 0, -100, "target 1 of the batch is class 5, the output has 5 classes"}, {out, []int64{-1}, 0, -100, "target 0 of the batch is class -1"}, {out, []int64{-1}, 0, -1, ""},
		{out, []int64{3}, -1, -100, "the output has 3 classes"}, {out, []int64{2}, -1, -100, ""}, {out, []int64{3}, 2, -100, "the output has 3 classes"}, {out, []int64{9}, 3, -100, ""}, {out, []int64{9}, -4, -100, ""},
		{out[1:], []int64{9}, 0, -100, ""}, {out[2:], []int64{9}, 0, -100, ""}, {nil, []int64{9}, 0, -100, ""},
	} {
		err := checkLabels(c.out, list(of(t, c.y, len(c.y))), c.axis, c.ignore)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v on axis %d: %v, want %q", c.y, c.axis, err, c.want)
		}
	}
	if err := checkLabels(out, list(dtype.New(dtype.Float32, 2)), 0, -100); err != nil {
		t.Error(err)
	}
	if err := checkLabels(identity(t, "float32[2,3]").Outputs(), list(of(t, []int64{2, 2}, 2)), -2, -100); err != nil {
		t.Errorf("classes on the axis of the batch: %v", err)
	}
	if err := checkLabels(out, nil, 0, -100); err != nil {
		t.Error(err)
	}
	j := Joint{Losses: []Loss{nil, MSE{}}}
	for _, c := range []struct {
		y    []*tensor.Dense
		want string
	}{
		{list(of(t, []int64{4}, 1), of(t, []int64{9}, 1)), ""}, {list(of(t, []int64{5}, 1), of(t, []int64{9}, 1)), "output y: target 0 of the batch is class 5"}, {list(of(t, []float32{5}, 1)), ""},
	} {
		if err := j.check(out[:2], c.y); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.y, err, c.want)
		}
	}
	second := Joint{Losses: []Loss{MSE{}, nil}}
	if err := second.check([]*nn.Value{out[1], out[0]}, list(of(t, []float32{5}, 1), of(t, []int64{5}, 1))); err == nil || !strings.Contains(err.Error(), "class 5, the output has 5 classes") {
		t.Error(err)
	}
}

// TestTargetTypes checks the targets that a loss requires when none are declared.
func TestTargetTypes(t *testing.T) {
	value := func(typ string) []*nn.Value {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Node(op.Plain("Identity"), e.Input("x", typ)).Out(0)) }); err != nil {
			t.Fatal(err)
		}
		return g.Outputs()
	}
	for _, c := range []struct {
		l     Loss
		out   string
		given []string
		want  string
	}{
		{CrossEntropy{}, "float32[N,3]", nil, "int64[N]"}, {NLL{}, "float32[N,3,5]", nil, "int64[N,5]"}, {CrossEntropy{Axis: -1}, "float32[N,5,3]", nil, "int64[N,5]"}, {CrossEntropy{}, "float32[N,3,1,1]", nil, "int64[N]"}, {CrossEntropy{}, "float32[N,3,5,1]", nil, "int64[N,5]"},
		{CrossEntropy{}, "float32[1,3]", nil, "int64[1]"}, {CrossEntropy{}, "float32[N,3,1,4]", nil, "int64[N,1,4]"}, {MSE{}, "float32[N,3]", nil, "float32[N,3]"}, {MSE{}, "float32[N,3]", []string{"int64[N]", "float32[]"}, "int64[N] float32[]"},
		{CrossEntropy{}, "float32[N]", nil, `output "y" is float32[N], it has no axis of classes`}, {CrossEntropy{Axis: -3}, "float32[N,3]", nil, "it has no axis of classes"}, {CrossEntropy{Axis: -2}, "float32[N,3]", nil, "it has no axis of classes"}, {CrossEntropy{Axis: 2}, "float32[N,3]", nil, "it has no axis of classes"},
		{MSE{}, "seq(float32[N])", nil, `output "y" is seq(float32[N]): give the types of the targets`}, {MSE{}, "float32[N]", []string{"int65"}, "int65"}, {MSE{}, "", nil, "the model has no output"},
	} {
		var out []*nn.Value
		if c.out != "" {
			out = value(c.out)
		}
		types, err := targetTypes(c.l, out, c.given)
		var got []string
		for _, typ := range types {
			got = append(got, typ.String())
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if s := strings.Join(got, " "); s != c.want && !(err != nil && strings.Contains(s, c.want)) {
			t.Errorf("%T of %s: %s, want %s", c.l, c.out, s, c.want)
		}
	}
}

// TestDefaultMetrics checks the default metrics for a loss and an output.
func TestDefaultMetrics(t *testing.T) {
	value := func(f func(e *nn.Edit, x *nn.Value) *nn.Value, typ string) []*nn.Value {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", f(e, e.Input("x", typ))) }); err != nil {
			t.Fatal(err)
		}
		return g.Outputs()
	}
	same := func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Node(op.Plain("Identity"), x).Out(0) }
	sigmoid := func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Node(op.Plain("Sigmoid"), x).Out(0) }
	for _, c := range []struct {
		l    Loss
		out  []*nn.Value
		want []Metric
	}{
		{CrossEntropy{}, value(same, "float32[N,10]"), []Metric{&Accuracy{}}}, {CrossEntropy{}, value(same, "float32[N,11]"), []Metric{&Accuracy{}, &Accuracy{K: 5}}}, {NLL{}, value(same, "float32[N,11]"), []Metric{&Accuracy{}, &Accuracy{K: 5}}},
		{CrossEntropy{Axis: -1}, value(same, "float32[N,3,11]"), []Metric{&Accuracy{Axis: -1}}}, {CrossEntropy{}, value(same, "float32[N,11,3]"), []Metric{&Accuracy{}}}, {CrossEntropy{}, nil, []Metric{&Accuracy{}}},
		{BCEWithLogits{}, value(same, "float32[N,3]"), []Metric{&BinaryAccuracy{Logits: true}}}, {BCEWithLogits{}, value(sigmoid, "float32[N,3]"), []Metric{&BinaryAccuracy{}}}, {BCEWithLogits{}, nil, []Metric{&BinaryAccuracy{}}},
		{MSE{}, nil, []Metric{&Deviation{}}}, {L1{}, nil, []Metric{&Deviation{}}}, {Huber{}, nil, []Metric{&Deviation{}}}, {KL{}, nil, []Metric{}}, {nil, nil, []Metric{}},
	} {
		got := defaultMetrics(c.l, c.out)
		if got == nil || !slices.EqualFunc(got, c.want, func(a, b Metric) bool {
			switch b := b.(type) {
			case *Accuracy:
				a, ok := a.(*Accuracy)
				return ok && *a == *b
			case *BinaryAccuracy:
				a, ok := a.(*BinaryAccuracy)
				return ok && *a == *b
			}
			_, ok := a.(*Deviation)
			return ok
		}) {
			t.Errorf("%T: %v, want %v", c.l, got, c.want)
		}
	}
}

// TestConfigLimits checks invalid settings, and valid ones at their limits.
func TestConfigLimits(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		c    Config
		want string
	}{
		{Config{}, ""}, {Config{Steps: -1}, "Steps is -1: want 0 or more"}, {Config{Batch: -1}, "Batch is -1"}, {Config{Accumulate: -1}, "Accumulate is -1"}, {Config{Patience: -1}, "Patience is -1"}, {Config{Keep: -1}, "Keep is -1"}, {Config{BucketBytes: -1}, "BucketBytes is -1"},
		{Config{ClipNorm: -1}, "ClipNorm is -1"}, {Config{ClipNorm: inf}, "ClipNorm is +Inf"}, {Config{EMA: -0.5}, "EMA is -0.5"}, {Config{EMA: nan}, "EMA is NaN"}, {Config{MinDelta: -1}, "MinDelta is -1"}, {Config{EMA: 1}, "EMA is 1: want a decay below 1"}, {Config{EMA: 0.999}, ""},
		{Config{Mode: "min"}, ""}, {Config{Mode: "max"}, ""}, {Config{Mode: "Max"}, `Mode is "Max": want min or max`}, {Config{Resume: true}, "Resume needs Dir"}, {Config{Resume: true, Dir: "d"}, ""}, {Config{Keep: 1}, "Keep needs Dir"}, {Config{Keep: 1, Dir: "d"}, ""},
		{Config{ReduceIn: dtype.Float32}, "ReduceIn is float32: want Float16 or BFloat16"}, {Config{ReduceIn: dtype.Float16}, ""}, {Config{ReduceIn: dtype.BFloat16}, ""},
	} {
		err := c.c.check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "train: "+c.want)) {
			t.Errorf("%+v: %v, want %q", c.c, err, c.want)
		}
	}
	c := Config{}
	if c.epochs() != 1 || c.accumulate() != 1 || c.batch() != 32 || c.bucket() != 4<<20 || c.rule() != (optim.AdamW{}) {
		t.Errorf("defaults %d, %d, %d, %d, %v", c.epochs(), c.accumulate(), c.batch(), c.bucket(), c.rule())
	}
	c = Config{Epochs: 3, Accumulate: 2, Batch: 5, BucketBytes: 7, Rule: optim.SGD{}}
	if c.epochs() != 3 || c.accumulate() != 2 || c.batch() != 5 || c.bucket() != 7 || c.rule() != (optim.SGD{}) {
		t.Errorf("settings %d, %d, %d, %d, %v", c.epochs(), c.accumulate(), c.batch(), c.bucket(), c.rule())
	}
}
