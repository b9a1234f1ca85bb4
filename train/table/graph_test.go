package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// operators returns the names of a graph's operators in order.
func operators(g *nn.Graph) (list []string) {
	for n := range g.Nodes() {
		list = append(list, n.Type())
	}
	slices.Sort(list)
	return list
}

func fitted(t *testing.T, text string, o Options) (*Table, *Encoder) {
	t.Helper()
	x := read(t, Reader{Format: Format{Header: 1}}, text)
	p, err := Fit(t.Context(), x, x.Complete(), o)
	if err != nil {
		t.Fatal(err)
	}
	return x, p
}

// features are what a preparation makes of the rows that it was fitted to, and the graph that does.
func features(t *testing.T, x *Table, p *Encoder) ([]float32, *nn.Graph) {
	t.Helper()
	g := nn.New("features")
	if err := g.Edit(func(e *nn.Edit) { e.Output("out", p.Build(e)) }); err != nil {
		t.Fatal(err)
	}
	feed, err := p.Feed(x, x.Complete())
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(t.Context(), feed, "out")
	if err != nil {
		t.Fatal(err)
	}
	return dtype.Slice[float32](out["out"].(*tensor.Dense)), g
}

func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
		return
	}
	for i, v := range got {
		if math.Abs(float64(v)-want[i]) > 1e-5 {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// A table costs the operators that its columns need: nothing is joined, marked or picked where there is nothing to it.
func TestFeatureOperators(t *testing.T) {
	for text, want := range map[string]string{
		"a,y\n1,0.5\n3,1.5\n":              "IsNaN Mul Sub Where",
		"a,y\n1,0.5\n?,2.5\n3,1.5\n":       "Cast Concat IsNaN Mul Sub Where",
		"a,b,y\n1,4,0.5\n?,5,2.5\n3,6,1\n": "Cast Concat Concat Gather IsNaN Mul Sub Where",
	} {
		x, p := fitted(t, text, Options{})
		_, g := features(t, x, p)
		list := slices.DeleteFunc(operators(g), func(s string) bool { return s == "Constant" })
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if v, err := g.Value("mean"); err != nil || v.Param() != nil {
			t.Errorf("the means are no constant node: %v", err)
		}
	}
	_, p := fitted(t, "a,y\n1,0.5\n3,1.5\n", Options{})
	for hidden, want := range map[string][]int{"nil": {128, 1}, "given": {4, 1}} {
		n := Network{}
		if hidden == "given" {
			n.Hidden = []int{4}
		}
		g, err := n.New(p, nil, train.Scaling{Deviation: 1})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := g.Value("hidden1.weight"); err != nil || !slices.Equal(v.Type().Sizes(), want) || slices.Contains(operators(g), "Dropout") {
			t.Errorf("hidden %s: %v, %v", hidden, v.Type(), operators(g))
		}
		if _, err := g.Value("hidden2.weight"); (err == nil) != (hidden == "nil") {
			t.Errorf("hidden %s: a second layer: %v", hidden, err)
		}
	}
	g := nn.NewGraph("old", nn.New("").Ops(), map[string]int{"": 1})
	if err := g.Edit(func(e *nn.Edit) { p.Build(e) }); err == nil {
		t.Error("operators that the graph's version lacks")
	}
}

// TestFeatureValues checks features of dates (angles) and of numbers (fraction of smaller rows) computed by hand.
func TestFeatureValues(t *testing.T) {
	x, p := fitted(t, "d,y\n1970-01-01,0.5\n1970-07-02,1.5\n", Options{}) // days 0 and 182
	turn := func(days float64) (float64, float64) { return math.Sincos(2 * math.Pi * 182 / days) }
	yearSin, yearCos := turn(365.2425)
	if want := "[d d year sin d year cos d week sin d week cos]"; fmt.Sprint(p.Names) != want {
		t.Fatalf("%v, want %s", p.Names, want)
	}
	var raw [2][]float64
	for i, day := range []float64{0, 182} {
		s, c := math.Sincos(2 * math.Pi * math.Mod(day/365.2425, 1))
		raw[i] = []float64{day - 91, s, c}
	}
	near(t, "means", []float32{float32(p.mean[0]), float32(p.mean[1]), float32(p.mean[2]), float32(p.mean[3]), float32(p.mean[4])},
		[]float64{0, yearSin / 2, (1 + yearCos) / 2, 0, 1}) // 182 days are 26 weeks
	got, _ := features(t, x, p)
	var want []float64
	for i := range raw {
		for k := range 3 { // of two rows each is one deviation from the mean
			want = append(want, math.Copysign(1, raw[i][k]-raw[1-i][k]))
		}
		want = append(want, 0, 0)
	}
	near(t, "dates", got, want)

	x, p = fitted(t, "a,y\n1,0.5\n2,1.5\n3,2.5\n6,3.5\n", Options{Scale: Quantile})
	got, _ = features(t, x, p)
	near(t, "ranks", got, []float64{-1, -1. / 3, 2*(21+1./7)/32 - 1, 1})                 // 3 is a seventh of the way from the knot at 2.96875 to that at 3.1875
	if q := quantiles([]float64{6, 1, 3, 2}); q[steps-1] != 5.71875 || q[1] != 1+3./32 { // at 31/32·3 = 2.90625: 3 + 0.90625·3
		t.Errorf("quantiles %v", q)
	}
	m := newMoments(2, false, 2)
	m.add([]float64{0, 1e7, 0, 1e7 + 1})
	if _, inverse, _, _ := m.results(); inverse[0] != 0 || inverse[1] != 0 { // a deviation of 0.5 at 1e7 is below what counts
		t.Errorf("inverse deviations %v of columns that hardly vary", inverse)
	}
	words := &Encoder{words: map[string][]string{"c": {"a", "b", "c"}}, Options: Options{OneHot: 3}}
	if words.embedded("c") {
		t.Error("as many categories as there may be features are embedded")
	}
}

// The loss of a scaled target is that of target and answer divided by the deviation.
func TestScaledLoss(t *testing.T) {
	l := train.Scaling{Mean: 7, Deviation: 2}.Loss(train.MSE{})
	g := nn.New("loss")
	if err := g.Edit(func(e *nn.Edit) {
		y, want := e.Input("y", "float32[2,1]"), e.Input("want", "float32[2,1]")
		if l.Build(e, nil, []*nn.Value{want}) != nil || l.Build(e, []*nn.Value{y}, nil) != nil {
			t.Error("a loss of nothing")
		}
		e.Output("loss", l.Build(e, []*nn.Value{y}, []*nn.Value{want}))
	}); err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(t.Context(), nn.Feed{"y": column(t, 3, 6), "want": column(t, 1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "loss", dtype.Slice[float32](out["loss"].(*tensor.Dense)), []float64{(1 + 4) / 2.}) // ((3−1)/2)² and ((6−2)/2)²
}

func column(t *testing.T, x ...float32) *tensor.Dense {
	t.Helper()
	d, err := dtype.FromSlice(x, len(x), 1)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCutDependencies checks which nodes are trained and which read inputs: values computed from
// constants alone do neither, and remain in the trained part.
func TestCutDependencies(t *testing.T) {
	ctx := t.Context()
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,1]")
		b := builder{e}
		two, three := b.scalar("two", dtype.Float32, 2), b.scalar("three", dtype.Float32, 3)
		front := e.Node(op.Plain("Mul"), x, two).Out(0)
		e.RenameValue(front, "front")
		six := e.Node(op.Plain("Mul"), two, three).Out(0)
		e.RenameValue(six, "six")
		w := e.Param("w", initial.Ones{}, 1, 1)
		y := e.Node(op.Plain("Add"), e.Node(op.Plain("MatMul"), front, w).Out(0), six).Out(0)
		e.Output("y", e.Node(op.Plain("Add"), y, x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	learns, reads := parts(g)
	for n := range g.Nodes() {
		name := n.Out(0).Name()
		if name == "front" && (learns[n] || !reads[n]) || name == "six" && (learns[n] || reads[n]) || name == "y" && !(learns[n] && reads[n]) {
			t.Errorf("%s learns %v, reads %v", name, learns[n], reads[n])
		}
	}
	s := Schema{Fields: []Field{{Name: "x", Kind: Number, Type: "float32"}}}
	trunk, err := Cut(g, s)
	if err != nil || !slices.Equal(trunk.border, []string{"front", "x"}) {
		t.Fatal(trunk, err)
	}
	table := read(t, Reader{Format: Format{Header: 1}}, "x,y\n1,0.5\n2,1.5\n")
	samples, err := trunk.Samples(ctx, table, []int{1, 0})
	if err != nil || samples.Len() != 2 {
		t.Fatal(err)
	}
	w, err := trunk.Rest.Value("w")
	if err != nil {
		t.Fatal(err)
	}
	if err := trunk.Rest.Edit(func(e *nn.Edit) { e.SetData(e.Value("w"), column(t, 5)) }); err != nil {
		t.Fatal(err)
	}
	if err := trunk.Return(); err != nil {
		t.Fatal(err)
	}
	if whole, err := g.Value("w"); err != nil || dtype.Slice[float32](whole.Param().Data())[0] != 5 || w.Param() == whole.Param() {
		t.Errorf("the parameter came back as %v, %v", whole.Param().Data(), err)
	}
}

// The first part has to give a row for each row of the table.
func TestCutRows(t *testing.T) {
	table := read(t, Reader{Format: Format{Header: 1}}, "x,y\n1,0.5\n2,1.5\n")
	for _, c := range []struct {
		sum  op.Config
		want string
	}{{op.Plain("ReduceMax"), "[1, 1], want a row for each of 2"}, {nil, "is [], want a row for each of 2"}} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,1]")
			front := e.Node(op.Plain("ReduceMax"), x).Out(0)
			if c.sum == nil {
				front = e.Node(op.Plain("Reshape"), front, e.Ints("none")).Out(0)
			}
			e.RenameValue(front, "front")
			e.Output("y", e.Node(op.Plain("Mul"), front, e.Param("w", initial.Ones{}, 1)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		trunk, err := Cut(g, Schema{Fields: []Field{{Name: "x", Kind: Number, Type: "float32"}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trunk.Samples(t.Context(), table, []int{0, 1}); err == nil || !strings.Contains(err.Error(), "table: value front is") || !strings.Contains(err.Error(), "want a row for each of 2") {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// failing is a set of n samples none of which can be read.
type failing int

var errRead = errors.New("cannot be read")

func (f failing) Len() int { return int(f) }

func (f failing) At(int, *rand.Rand) (data.Sample, error) { return data.Sample{}, errRead }

// constant is a loss that no weight changes.
var constant = train.LossFunc(func(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	return e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, e.Node(op.Plain("Sub"), out[0], out[0]).Out(0)).Out(0)
})

func blendable(t *testing.T, classes bool) (*Trunk, *Table, data.Dataset[data.Sample]) {
	t.Helper()
	text := "a,b,y\n"
	for i := range 24 {
		y := fmt.Sprintf("%d.5", i+3*(i%5))
		if classes {
			y = []string{"u", "v"}[i/12]
		}
		text += fmt.Sprintf("%d,%d,%s\n", i, i%5, y)
	}
	x, p := fitted(t, text, Options{})
	g, err := Network{Hidden: []int{3}, Seed: 1}.New(p, x.Classes, train.Scaling{Deviation: 1})
	if err != nil {
		t.Fatal(err)
	}
	trunk, err := Cut(g, p.Schema)
	if err != nil {
		t.Fatal(err)
	}
	all, err := trunk.Samples(t.Context(), x, x.Complete())
	if err != nil {
		t.Fatal(err)
	}
	return trunk, x, all
}

// A linear model is fitted up to so many rows times features times scores; beyond, the network stays as it is.
func TestBlendLimits(t *testing.T) {
	for _, classes := range []bool{false, true} {
		trunk, x, all := blendable(t, classes)
		b := Blend{Classes: len(x.Classes), Unit: train.Scaling{Deviation: 1}}
		each := 2 * max(1, len(x.Classes)) // features times scores
		if _, err := b.Apply(t.Context(), trunk, failing(mostFitted/each), all); !errors.Is(err, errRead) {
			t.Errorf("classes %v: the most rows are not fitted: %v", classes, err)
		}
		if out, err := b.Apply(t.Context(), trunk, failing(mostFitted/each+1), all); err != nil || out.Linear != 0 || len(out.Val) == 0 {
			t.Errorf("classes %v: one row more: %v, %v", classes, out, err)
		}
	}
	for _, trunk := range []*Trunk{nil, {}} {
		if _, err := (Blend{}).Apply(t.Context(), trunk, nil, nil); err == nil || err.Error() != "table: the network is nil: Cut makes one" {
			t.Error(err)
		}
	}
}

// The largest share within a standard error counts, whatever Loss says: all of it where the linear model is exact; after Refit the weights are those of a linear model of
// all rows, by the share that was chosen.
func TestBlendChooses(t *testing.T) {
	trunk, _, all := blendable(t, false)
	out, err := Blend{Unit: train.Scaling{Deviation: 1}, Loss: constant}.Apply(t.Context(), trunk, all, all)
	if err != nil || out.Linear != 1 || out.Decay == 0 {
		t.Errorf("chosen where the linear model is exact: %+v, %v", out, err)
	}
	x, y, err := trunk.features(t.Context(), data.Concat(all, all))
	if err != nil {
		t.Fatal(err)
	}
	unit := train.Scaling{Mean: 10, Deviation: 4}
	for i := range y {
		y[i] = (y[i] - 10) / 4
	}
	want, err := train.FitMeasured(x, y, 3)
	if err != nil {
		t.Fatal(err)
	}
	trunk, _, all = blendable(t, false)
	out, err = Blend{Unit: unit, Refit: true, Seed: 3}.Apply(t.Context(), trunk, all, all)
	if err != nil || out.Linear == 0 || out.Decay != want.Decay {
		t.Fatalf("%+v, %v, want the decay %v", out, err, want.Decay)
	}
	wide, err := trunk.Rest.Value("wide.weight")
	if err != nil {
		t.Fatal(err)
	}
	near(t, "weights", dtype.Slice[float32](wide.Param().Data()), []float64{out.Linear * want.Weight[0][0], out.Linear * want.Weight[0][1]})
	for b, want := range map[string]Blended{
		"blended with a linear model (weight decay 0.013, cross-validated), whose share is 75 %: validation loss 0.5": {Linear: 0.75, Decay: 0.0125, Val: map[string]float64{"loss": 0.5}},
		"a linear model beside the network does not help: validation loss 0.5":                                        {Val: map[string]float64{"loss": 0.5}},
	} {
		if got := want.String(); got != b {
			t.Errorf("%q, want %q", got, b)
		}
	}
}

// TestChoose checks that mixing weights are compared by the losses of rows, within a number of
// standard errors; a network no better than a constant leaves all to the linear model.
func TestChoose(t *testing.T) {
	constant := []float64{9, 9, 9, 9}
	first := []float64{1, 2, 3, 4}
	worse := func(by ...float64) []float64 { // than first
		out := slices.Clone(first)
		for i := range out {
			out[i] += by[i]
		}
		return out
	}
	nan := math.NaN()
	for _, c := range []struct {
		each  [][]float64
		slack float64
		want  int
	}{
		{[][]float64{first, worse(0, 2, 0, 2), worse(2, 2, 3, 2)}, 1, 0},       // 1 ± 0.5, 2.25 ± 0.22
		{[][]float64{first, worse(0, 2, 0, 2), worse(2, 2, 3, 2)}, 2, 1},       // 1 is within two errors
		{[][]float64{first, worse(0, 2, 0, 2), worse(2, 2, 3, 2)}, 1.9, 0},     // and not within 1.9
		{[][]float64{first, worse(3, 3, 3, 3), worse(0, 4, -4, 0)}, 0, 2},      // as good on average
		{[][]float64{first, worse(-1, -1, -1, -1), worse(0, -1, 0, -1)}, 0, 1}, // the second is best
		{[][]float64{first, worse(-1, -1, -1, -1), worse(0, -1, 0, -1)}, 2, 2}, // 0.5 ± 0.29 worse than it
		{[][]float64{constant, first, worse(4, 4, 4, 4)}, 0, 2},                // nothing learned
		{[][]float64{{nan, 1, 1, 1}, first, worse(4, 4, 4, 4)}, 0, 2},          // nor here
		{[][]float64{worse(4, 4, 4, 4), {nan, 1, 1, 1}, first}, 0, 2},
	} {
		if got := choose(c.each, constant, c.slack); got != c.want {
			t.Errorf("%v, %v: %d, want %d", c.each, c.slack, got, c.want)
		}
	}
	for rows, want := range map[int]float64{0: 1, 10: 1, 50: 1, 100: 0.5, 1000: 0.05} {
		if got := slack(5, rows); got != want {
			t.Errorf("%d rows: %v, want %v", rows, got, want)
		}
	}
}

// The mean of two models, layer by layer: (1−share)·network + share·linear.
func TestBlendedWeights(t *testing.T) {
	g := nn.New("layers")
	var l lastLayers
	if err := g.Edit(func(e *nn.Edit) {
		l.wide, l.deep, l.bias = e.Param("wide", initial.Zeros{}, 2, 3).Param(), e.Param("deep", initial.Zeros{}, 2, 1).Param(), e.Param("bias", initial.Zeros{}, 2).Param()
	}); err != nil {
		t.Fatal(err)
	}
	l.was = [3][]float32{{1, 2, 3, 4, 5, 6}, {8, 12}, {-1, -2}}
	l.scores, l.features = 2, 3
	l.set(train.LinearFit{Weight: [][]float64{{10, 20, 30}, {40, 50, 60}}, Bias: []float64{7, 9}}, 0.25)
	near(t, "wide", dtype.Slice[float32](l.wide.Data()), []float64{3.25, 6.5, 9.75, 13, 16.25, 19.5})
	near(t, "deep", dtype.Slice[float32](l.deep.Data()), []float64{6, 9})
	near(t, "bias", dtype.Slice[float32](l.bias.Data()), []float64{1, 0.75})
}

// TestBlendRefusesFeatures checks graphs with a network's parameters whose features differ.
func TestBlendRefusesFeatures(t *testing.T) {
	for _, c := range []struct {
		typ     string
		x       *tensor.Dense
		targets int
		want    string
	}{
		{"float64[N,2]", dtype.New(dtype.Float64, 4, 2), 1, "float64[4,2], with 1 targets"},
		{"float32[N,2,1]", dtype.New(dtype.Float32, 4, 2, 1), 1, "float32[4,2,1], with 1 targets"},
		{"float32[N,2]", dtype.New(dtype.Float32, 4, 2), 2, "float32[4,2], with 2 targets"},
	} {
		g := nn.New("other")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Identity"), e.Input("features", c.typ)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		var y []*tensor.Dense
		for range c.targets {
			y = append(y, dtype.New(dtype.Float32, 4, 1))
		}
		set, err := data.Stacked([]*tensor.Dense{c.x}, y)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := (&Trunk{Rest: g}).features(context.Background(), set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
