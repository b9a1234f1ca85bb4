package nn_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// TestRan runs the networks of TestDescribed in float64, forward, backward and as a training step, and compares every value,
// gradient and operator that ran with testdata/ran. With -update gradients are compared with differences of the loss.
func TestRan(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "networks", "*.txt"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if name == "opaque" {
			continue // nothing of it runs
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			float := "float64"
			if slices.Contains([]string{"quantized", "old", "shapes", "half", "lengths"}, name) { // casts to float32, or an old operator in it
				float = "float32"
			}
			n := newRun(t, name, float)
			n.forward(t)
			n.lowered(t)
			n.gradients(t)
			n.derived(t, n.steps(t))
			nntest.CompareFile(t, filepath.Join("testdata", "ran", name+".txt"), n.text.String())
		})
	}
}

// runOf is a network with inputs and a loss, and what is written of it.
type runOf struct {
	g    *nn.Graph
	feed nn.Feed
	loss *nn.Value
	text strings.Builder
}

func newRun(t *testing.T, name, float string) *runOf {
	n := &runOf{g: readNetwork(t, name, float), feed: nn.Feed{}}
	in, err := draw(n.g, 2, 5, rand.New(rand.NewPCG(3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range n.g.Inputs() {
		n.feed[v.Name()] = in[i]
		if v.Type().DType == dtype.Bool || len(in[i].Shape()) == 0 {
			d, err := dtype.FromInts(v.Type().DType, slices.Repeat([]int{1}, in[i].Shape().TotalSize()), in[i].Shape()...)
			if err != nil {
				t.Fatal(err)
			}
			n.feed[v.Name()] = d
		}
	}
	nntest.Edit(t, n.g, func(e *nn.Edit) {
		for _, v := range e.Outputs() {
			if !v.Type().DType.IsFloat() || v.Known().Value != nil {
				continue
			}
			s := e.Node(op.Plain("ReduceSumSquare"), v).Out(0)
			s = e.Node(op.Plain("Reshape"), s, e.Ints("flat", -1)).Out(0)
			if n.loss != nil {
				s = e.Node(op.Plain("Add"), n.loss, s).Out(0)
			}
			n.loss = s
		}
		e.Output("loss", n.loss)
	})
	return n
}

func (n *runOf) printf(format string, args ...any) { fmt.Fprintf(&n.text, format, args...) }

// numeral returns a number as text, the same on machines that round differently.
func numeral(x float64) string {
	if math.Abs(x) < 1e-7 {
		return "0"
	}
	return fmt.Sprintf("%.4g", x)
}

// result returns the shape of a value and two sums of its elements.
func result(v dtype.Value) string {
	d, ok := v.(*tensor.Dense)
	if !ok {
		text := op.TypeOf(v).String()
		if q, ok := v.(*dtype.Sequence); ok {
			for _, x := range q.Items {
				text += ", " + result(x)
			}
		}
		return text
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return err.Error()
	}
	plain, weighted := 0.0, 0.0
	for i, e := range x {
		plain += e
		weighted += e * float64(i%7+i%11-4)
	}
	return fmt.Sprintf("%v %s %s", op.TypeOf(v), numeral(plain), numeral(weighted))
}

// forward writes every value that nodes compute.
func (n *runOf) forward(t *testing.T) {
	var want []string
	for x := range n.g.Nodes() {
		for _, v := range x.Outputs() {
			if v != nil {
				want = append(want, v.Name())
			}
		}
	}
	got, err := n.g.Eval(t.Context(), n.feed, want...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		n.printf("%s %s\n", name, result(got[name]))
	}
	// Outputs alone take fewer operators, and are the same.
	alone, err := n.g.Eval(t.Context(), n.feed)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range alone {
		if g, ok := v.(*tensor.Dense); ok && got[name] != nil {
			if err := agree(g, got[name].(*tensor.Dense), 1e-5); err != nil {
				t.Errorf("%s by itself: %v", name, err)
			}
		}
	}
	in := map[*nn.Value]dtype.Value{}
	for _, v := range n.g.Inputs() {
		in[v] = n.feed[v.Name()]
	}
	if list, err := n.g.Operators(in, n.g.Outputs()...); err == nil {
		n.printf("operators %s\n", counted(list))
	}
	// An inner value that is fed takes the place of what computes it.
	first := n.g.Outputs()[0].Name()
	for _, name := range want[:len(want)/2] {
		if op.TypeOf(got[name]).Kind != op.Tensor {
			continue
		}
		feed := maps.Clone(n.feed)
		feed[name] = got[name]
		again, err := n.g.Eval(t.Context(), feed, first)
		if err != nil {
			t.Errorf("fed %s: %v", name, err)
		} else if s := result(again[first]); s != result(got[first]) {
			t.Errorf("fed %s: %s", name, s)
		}
	}
}

// counted returns a list of words, each with how often it occurs.
func counted(list []string) string {
	count := map[string]int{}
	for _, s := range list {
		count[s]++
	}
	var b strings.Builder
	for _, s := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, " %s×%d", s, count[s])
	}
	return strings.TrimSpace(b.String())
}

// lowered writes what a lowering holds, and the graph that it is traced to.
func (n *runOf) lowered(t *testing.T) {
	for _, keep := range []bool{false, true} {
		o := nn.LowerOptions{Sizes: map[string]int{"N": 2, "T": 3, "H": 4, "W": 5, "C": 2}, Keep: keep, Train: keep}
		l, err := n.g.Lower(o)
		if err != nil {
			n.printf("lowered: %v\n", err)
			continue
		}
		params, nodes := l.Trainable()
		n.printf("lowered, keep %v: %d parameters, %d updates, key %v, trainable", keep, len(l.Params), len(l.Updates), l.Key != nil)
		for i, p := range params {
			n.printf(" %s %v", p.Name(), nodes[i].Shape())
		}
		n.printf("\n\toutputs")
		for _, o := range l.Outputs {
			n.printf(" %v", o.Shape())
		}
		n.printf("\n")
		traced, err := l.Trace()
		if err != nil {
			n.printf("\ttrace: %v\n", err)
			continue
		}
		s := nntest.Indent(nntest.Spelled(traced))
		if keep {
			s = nntest.Indent(diff(nntest.Spelled(n.g), nntest.Spelled(traced)))
		}
		n.text.WriteString(s)
	}
}

func (n *runOf) gradients(t *testing.T) {
	var wrt []string
	for _, v := range n.g.Inputs() {
		if v.Type().DType.IsFloat() {
			wrt = append(wrt, v.Name())
		}
	}
	for p := range n.g.Params() {
		if p.Trainable() {
			wrt = append(wrt, p.Name())
		}
	}
	got, err := n.g.Grad(t.Context(), n.feed, "loss", wrt...)
	if err != nil {
		n.printf("gradient: %v\n", err)
		return
	}
	for _, name := range append(wrt, "loss") {
		n.printf("d %s %s\n", name, result(got[name]))
	}
	if !*nntest.Update || !n.exact() {
		return
	}
	for _, name := range wrt {
		n.differences(t, name, got[name].(*tensor.Dense))
	}
}

// differences compares a gradient with a difference of the loss in a random direction.
func (n *runOf) differences(t *testing.T, name string, grad *tensor.Dense) {
	d, fed := n.feed[name].(*tensor.Dense)
	var p *nn.Param
	if !fed {
		v, err := n.g.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		p = v.Param()
		d = p.Data()
	}
	x, g := dtype.Slice[float64](d), dtype.Slice[float64](grad)
	r := rand.New(rand.NewPCG(5, uint64(len(name))))
	along, want := make([]float64, len(x)), 0.0
	for i := range along {
		along[i] = r.NormFloat64()
		want += along[i] * g[i]
	}
	const step = 1e-5
	at := func(s float64) float64 {
		for i := range x {
			x[i] += s * along[i]
		}
		if p != nil {
			p.Changed()
		}
		out, err := n.g.Eval(t.Context(), n.feed, "loss")
		if err != nil {
			t.Fatal(err)
		}
		return dtype.Slice[float64](out["loss"].(*tensor.Dense))[0]
	}
	got := (at(step) - at(-2*step)) / (2 * step)
	at(step)
	if math.Abs(got-want) > 1e-3*(math.Abs(want)+1e-2) {
		t.Errorf("the gradient by %s is %g in a direction in which the loss changes by %g", name, want, got)
	}
}

// steps takes a step of training, at once and with callbacks, and writes it.
func (n *runOf) steps(t *testing.T) map[string]string {
	n.g.SetFusion(true) // forgets what ran so far
	o := nn.StepOptions{Loss: n.loss, Want: n.g.Outputs()[:1], Train: true, Seed: 7, Count: 3}
	s, err := n.g.Step(t.Context(), n.feed, o)
	if err != nil {
		n.printf("step: %v\n", err)
		return nil
	}
	n.printf("step: loss %s, %s\n", numeral(s.Loss), result(s.Values[0]))
	texts := map[string]string{}
	for p := range n.g.Params() {
		if d := s.Grads[p]; d != nil {
			texts["d "+p.Name()] = result(d)
		}
		if d := s.States[p]; d != nil {
			texts["next "+p.Name()] = result(d)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		n.printf("\t%s %s\n", k, texts[k])
	}
	s.Release()
	began, checked := math.NaN(), 0
	taken := map[string]string{}
	o.Begin = func(loss float64) error { began = loss; return nil }
	o.Check = func(*nn.Param, *tensor.Dense, float64) error { checked++; return nil }
	o.Take = func(p *nn.Param, x *tensor.Dense) error {
		key := "d " + p.Name()
		if p.Role() == nn.Statistic {
			key = "next " + p.Name()
		}
		taken[key] = result(x)
		return nil
	}
	s, err = n.g.Step(t.Context(), n.feed, o)
	if err != nil {
		t.Fatal(err)
	}
	if numeral(began) != numeral(s.Loss) || checked != len(taken) || !maps.Equal(taken, texts) {
		t.Errorf("callbacks: loss %v, %d checked, %v, want %v", began, checked, taken, texts)
	}
	s.Release()
	var list []string
	for _, c := range n.g.Computed() {
		list = append(list, c.Op.Name)
	}
	n.printf("operators of the step %s\n", counted(list))
	n.g.Trim()
	return texts
}

// derived writes the same step out as a graph, whose results are those of the step.
func (n *runOf) derived(t *testing.T, step map[string]string) {
	var params []*nn.Param
	for p := range n.g.Params() {
		if p.Trainable() {
			params = append(params, p)
		}
	}
	names := map[string]string{} // of outputs
	feed := maps.Clone(n.feed)
	written, err := n.g.Derive(nn.DeriveOptions{Loss: n.loss, Params: params, Opset: 18}, func(e *nn.Edit, d *nn.Derivation) {
		for p := range n.g.Params() {
			for prefix, v := range map[string]*nn.Value{"d ": d.Grads[p], "next ": d.Next[p]} {
				if v != nil {
					names[prefix+p.Name()] = v.Name()
				}
			}
			if v := d.In[p]; v != nil {
				feed[v.Name()] = p.Tensor()
			}
		}
		for _, key := range slices.Sorted(maps.Keys(names)) {
			v := e.Node(op.Plain("Identity"), e.Value(names[key])).Out(0)
			names[key] = v.Name()
			e.Output(v.Name(), v)
		}
		if d.Key != nil {
			key, _ := dtype.FromSlice([]uint64{7, 3}, 2)
			feed[d.Key.Name()] = key
		}
	})
	if err != nil {
		n.printf("written out: %v\n", err)
		return
	}
	out, err := written.Eval(t.Context(), feed)
	if err != nil {
		t.Fatalf("written out: %v", err)
	}
	for key, want := range step {
		if got := out[names[key]]; got == nil || result(got) != want {
			t.Errorf("written out, %s is %v, want %s", key, got, want)
		}
	}
	n.text.WriteString("written out\n" + nntest.Indent(nntest.Spelled(written)))
}

// exact reports whether the network computes in float64.
func (n *runOf) exact() bool { return n.loss.Type().DType == dtype.Float64 }
