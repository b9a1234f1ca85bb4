package prune

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
)

// uneven returns a network whose weights differ along every axis: two convolutions and a layer that reads several elements of each channel.
func uneven(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("uneven")
	err := g.Edit(func(e *nn.Edit) {
		e.Seed(4)
		normal := initial.Normal{Std: 1}
		e.Output("y", e.Apply(nn.Sequential{
			layers.Conv{Out: 5, Kernel: []int{2, 1}, Name: "a", Init: normal, BiasInit: normal}, layers.BatchNorm{Name: "bn"}, layers.ReLU{},
			layers.Conv{Out: 4, Kernel: []int{1, 2}, Name: "b", Init: normal, BiasInit: normal}, layers.Flatten{},
			layers.Linear{Out: 3, Name: "c", Init: normal, BiasInit: normal},
		}, e.Input("x", "float32[N,2,3,3]")))
		scale, err := dtype.FromFloats(dtype.Float32, []float64{1, -3, 0.5, 2, -0.25}, 5)
		e.Fail(err)
		e.SetData(e.Value("bn.weight"), scale)
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// elementsOf returns the numbers that an atom has in a slice of x, found by the places of all elements.
func elementsOf(x []float64, shape []int, s nn.ParamSlice) (list []float64) {
	at := make([]int, len(shape))
	for _, v := range x {
		if slices.Contains(s.Index, at[s.Axis]) {
			list = append(list, v)
		}
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < shape[k] {
				break
			}
			at[k] = 0
		}
	}
	return list
}

func numbersOf(t *testing.T, p *nn.Param) []float64 {
	t.Helper()
	x, err := dtype.Float64s(p.Data())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// expected scores atoms by f of the weights' elements in each slice, and r of these, those of parameters that make the channel first.
func expected(t *testing.T, c *nn.Group, only bool, f func(p *nn.Param, x []float64, s nn.ParamSlice) float64, r func(x []float64) float64) (list []float64) {
	t.Helper()
	for _, a := range c.Atoms {
		var first, rest []float64
		for _, s := range a.Slices() {
			if s.Param.Role() != nn.Weight {
				continue
			}
			v := f(s.Param, elementsOf(numbersOf(t, s.Param), s.Param.Data().Shape(), s), s)
			if c.Makes(s.Param) {
				first = append(first, v)
			} else if !only {
				rest = append(rest, v)
			}
		}
		list = append(list, r(append(first, rest...)))
	}
	return list
}

func sumOf(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

func norm(p float64) func(_ *nn.Param, x []float64, _ nn.ParamSlice) float64 {
	return func(_ *nn.Param, x []float64, _ nn.ParamSlice) float64 {
		s := 0.0
		for _, v := range x {
			s += math.Pow(math.Abs(v), p)
		}
		return math.Pow(s, 1/p)
	}
}

// gradientsOf are two batches of gradients drawn for every trained parameter.
func gradientsOf(g *nn.Graph) []nn.Grads {
	r := rand.New(rand.NewPCG(8, 9))
	var list []nn.Grads
	for range 2 {
		grads := nn.Grads{}
		for p := range g.Params() {
			if p.Trainable() {
				x := make([]float64, p.Size())
				for i := range x {
					x[i] = r.NormFloat64()
				}
				grads[p], _ = dtype.FromFloats(dtype.Float32, x, p.Data().Shape()...)
			}
		}
		list = append(list, grads)
	}
	return list
}

// TestScores compares criteria with their formulas, written out element by element.
func TestScores(t *testing.T) {
	g := uneven(t)
	batches := gradientsOf(g)
	seq := func(yield func(nn.Grads, error) bool) {
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}
	byGradient := func(c *nn.Group, only bool, f func(w, d float64) float64) []float64 {
		total := make([]float64, len(c.Atoms))
		for _, b := range batches {
			one := expected(t, c, only, func(p *nn.Param, w []float64, s nn.ParamSlice) float64 {
				x, _ := dtype.Float64s(b[p])
				d := elementsOf(x, p.Data().Shape(), s)
				sum := 0.0
				for i := range w {
					sum += f(w[i], d[i])
				}
				return sum
			}, sumOf)
			for i, v := range one {
				total[i] += math.Abs(v) / 2
			}
		}
		return total
	}
	for i, c := range g.Channels().Groups() {
		lamp := expected(t, c, false, norm(2), sumOf)
		for i, s := range slices.Clone(lamp) {
			rest := 0.0
			for _, x := range expected(t, c, false, norm(2), sumOf) {
				if x >= s {
					rest += x * x
				}
			}
			lamp[i] = s * s / rest
		}
		rows := make([][]float64, len(c.Atoms))
		for k, a := range c.Atoms {
			for _, s := range a.Slices() {
				if s.Param.Role() == nn.Weight && c.Makes(s.Param) && len(s.Param.Data().Shape()) > 1 {
					rows[k] = append(rows[k], elementsOf(numbersOf(t, s.Param), s.Param.Data().Shape(), s)...)
				}
			}
		}
		distances := make([]float64, len(rows))
		for k := range rows {
			for l := range rows {
				square := 0.0
				for m, x := range rows[k] {
					square += (x - rows[l][m]) * (x - rows[l][m])
				}
				distances[k] += math.Sqrt(square)
			}
		}
		scales := expected(t, c, false, norm(2), sumOf)
		if i == 0 {
			scales = []float64{1, 3, 0.5, 2, 0.25}
		}
		most := func(x []float64) float64 { return slices.Max(x) }
		for _, k := range []struct {
			name string
			by   Criterion
			want []float64
		}{
			{"L1", L1, expected(t, c, false, norm(1), sumOf)}, {"L2", L2, expected(t, c, false, norm(2), sumOf)},
			{"mean", Magnitude{P: 1, Reduce: Mean}, expected(t, c, false, norm(1), func(x []float64) float64 { return sumOf(x) / float64(len(x)) })},
			{"max", Magnitude{Reduce: Max}, expected(t, c, false, norm(2), most)},
			{"product", Magnitude{P: 1, Reduce: Prod}, expected(t, c, false, norm(1), func(x []float64) float64 {
				p := 1.0
				for _, v := range x {
					p *= v
				}
				return p
			})},
			{"first", Magnitude{Reduce: First}, expected(t, c, true, norm(2), func(x []float64) float64 { return x[0] })},
			{"LAMP", LAMP, lamp}, {"FPGM", FPGM, distances}, {"BNScale", BNScale, scales},
			{"Taylor", Taylor(seq), byGradient(c, false, func(w, d float64) float64 { return w * d })},
			{"ActivationGradient", ActivationGradient(seq), byGradient(c, true, func(w, d float64) float64 { return w * d })},
			{"Hessian", Hessian(seq), byGradient(c, false, func(w, d float64) float64 { return w * w * d * d })},
		} {
			got, err := k.by.Score(t.Context(), g, c)
			if err != nil || !slices.EqualFunc(got, k.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(1+math.Abs(b)) }) {
				t.Errorf("group %d, %s: %v, want %v, %v", i, k.name, got, k.want, err)
			}
		}
	}
}

// TestGradientsAreRead checks that gradients are read once per version of a graph, and that missing
// ones and those of another shape are refused.
func TestGradientsAreRead(t *testing.T) {
	g := uneven(t)
	c := g.Channels().Groups()[0]
	reads := 0
	batches := gradientsOf(g)
	by := Taylor(func(yield func(nn.Grads, error) bool) {
		reads++
		yield(batches[0], nil)
	})
	for range 2 {
		if _, err := by.Score(t.Context(), g, c); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 {
		t.Errorf("read %d times", reads)
	}
	if err := g.Edit(func(e *nn.Edit) { e.SetName("other") }); err != nil {
		t.Fatal(err)
	}
	if _, err := by.Score(t.Context(), g, g.Channels().Groups()[0]); err != nil || reads != 2 {
		t.Errorf("read %d times after an edit, %v", reads, err)
	}
	if _, err := by.Score(t.Context(), uneven(t), c); reads != 3 {
		t.Errorf("read %d times for another graph, %v", reads, err)
	}
	for p := range batches[0] {
		batches[0][p], _ = dtype.FromFloats(dtype.Float32, []float64{1}, 1)
	}
	if _, err := Taylor(func(yield func(nn.Grads, error) bool) { yield(batches[0], nil) }).Score(t.Context(), g, c); err == nil || !strings.Contains(err.Error(), "has shape") {
		t.Error(err)
	}
	if _, err := Taylor(func(func(nn.Grads, error) bool) {}).Score(t.Context(), g, c); err == nil || !strings.Contains(err.Error(), "no gradients") {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Hessian(func(yield func(nn.Grads, error) bool) { yield(gradientsOf(g)[0], nil) }).Score(ended, g, c); err == nil {
		t.Error("a context that has ended is not noticed")
	}
}

func TestNormalizations(t *testing.T) {
	for _, c := range []struct {
		n        Normalization
		in, want []float64
	}{
		{"", []float64{1, 2, 6}, []float64{1. / 3, 2. / 3, 2}}, {ByMean, []float64{1, 2, 6}, []float64{1. / 3, 2. / 3, 2}},
		{ByMax, []float64{1, 2, 4}, []float64{0.25, 0.5, 1}}, {BySum, []float64{1, 3}, []float64{0.25, 0.75}}, {None, []float64{1, 3}, []float64{1, 3}},
		{ByMean, []float64{0, 0}, []float64{0, 0}}, {ByMax, []float64{0, 0}, []float64{0, 0}}, {ByMean, nil, []float64{}}, {ByMax, []float64{0.25, 0.5}, []float64{0.5, 1}},
	} {
		if got := c.n.apply(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q of %v is %v, want %v", c.n, c.in, got, c.want)
		}
	}
	for _, r := range []Reduction{Sum, Mean, Max, Prod, First} {
		if got := r.apply(nil); got != 0 {
			t.Errorf("%s of nothing is %v", r, got)
		}
	}
}
