package nn_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// row is x[:, t].
func row(x *G.Node, t int) *G.Node { return G.Must(G.Slice(x, nil, G.S(t))) }

// cell is tanh(x·w + h·u + b).
func cell(x, h, w, u, b *G.Node) *G.Node {
	sum := G.Must(G.Add(G.Must(G.Mul(x, w)), G.Must(G.Mul(h, u))))
	return G.Must(G.Tanh(G.Must(G.BroadcastAdd(sum, b, nil, []byte{0}))))
}

// unrolledLoop is a function with a loop of Go.
type unrolledLoop struct {
	name   string
	inputs []string
	ops    string // control flow when it is rolled
	most   int    // nodes in all
	f      nn.Expr
}

var unrolled = []unrolledLoop{
	{"repeated", []string{"x %s[N,3]"}, "Loop", 4, func(x ...*G.Node) (G.Nodes, error) {
		h, w := x[0], weight(x[0], "w", 3, 3)
		for range 6 {
			h = G.Must(G.Tanh(G.Must(G.Mul(h, w))))
		}
		return G.Nodes{h}, nil
	}},
	{"recurrent", []string{"x %s[N,5,3]", "h %s[N,4]"}, "Scan", 3, func(x ...*G.Node) (G.Nodes, error) {
		h, w, u, b := x[1], weight(x[0], "w", 3, 4), weight(x[0], "u", 4, 4), weight(x[0], "b", 1, 4)
		for t := range 5 {
			h = cell(row(x[0], t), h, w, u, b)
		}
		return G.Nodes{h}, nil
	}},
	{"backward in time", []string{"x %s[N,6,3]", "h %s[N,4]"}, "Scan", 4, func(x ...*G.Node) (G.Nodes, error) {
		h, w, u, b := x[1], weight(x[0], "w", 3, 4), weight(x[0], "u", 4, 4), weight(x[0], "b", 1, 4)
		for t := range 3 {
			h = cell(row(x[0], 5-2*t), h, w, u, b)
		}
		return G.Nodes{h}, nil
	}},
	{"all states are read", []string{"x %s[N,4,3]", "h %s[N,4]"}, "Scan", 7, func(x ...*G.Node) (G.Nodes, error) {
		h, w, u, b := x[1], weight(x[0], "w", 3, 4), weight(x[0], "u", 4, 4), weight(x[0], "b", 1, 4)
		var all G.Nodes
		for t := range 4 {
			h = cell(row(x[0], t), h, w, u, b)
			all = append(all, h)
		}
		return G.Nodes{G.Must(G.Concat(1, all...)), h}, nil
	}},
	{"two states", []string{"x %s[N,4,3]", "h %s[N,3]", "c %s[N,3]"}, "Scan", 6, func(x ...*G.Node) (G.Nodes, error) {
		h, c, u := x[1], x[2], weight(x[0], "u", 3, 3)
		for t := range 4 {
			gate := G.Must(G.Sigmoid(G.Must(G.Add(row(x[0], t), G.Must(G.Mul(h, u))))))
			c = G.Must(G.Add(G.Must(G.HadamardProd(gate, c)), row(x[0], t)))
			h = G.Must(G.HadamardProd(gate, G.Must(G.Tanh(c))))
		}
		return G.Nodes{h, c}, nil
	}},
	{"stacked", []string{"x %s[N,4,3]", "h %s[N,4]"}, "Scan", 4, func(x ...*G.Node) (G.Nodes, error) { // what each turn gives, along a new axis
		h, w, u, b, v := x[1], weight(x[0], "w", 3, 4), weight(x[0], "u", 4, 4), weight(x[0], "b", 1, 4), weight(x[0], "v", 4, 2)
		var all G.Nodes
		for t := range 4 {
			h = cell(row(x[0], t), h, w, u, b)
			y := G.Must(G.Sigmoid(G.Must(G.Mul(h, v))))
			all = append(all, G.Must(G.Reshape(y, tensor.Shape{y.Shape()[0], 1, 2})))
		}
		return G.Nodes{G.Must(G.Concat(1, all...))}, nil
	}},
	{"the state before", []string{"x %s[N,4,3]", "h %s[N,3]"}, "Scan", 6, func(x ...*G.Node) (G.Nodes, error) {
		h, u := x[1], weight(x[0], "u", 3, 3)
		var all G.Nodes
		for t := range 4 {
			next := G.Must(G.Tanh(G.Must(G.Add(row(x[0], t), G.Must(G.Mul(h, u))))))
			all = append(all, G.Must(G.Sub(next, h)))
			h = next
		}
		return G.Nodes{G.Must(G.Concat(0, append(G.Nodes{x[1]}, all...)...))}, nil
	}},
	{"mapped", []string{"x %s[5,N,3]"}, "Scan", 4, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 2)
		var all G.Nodes
		for t := range 5 {
			all = append(all, G.Must(G.Tanh(G.Must(G.Mul(G.Must(G.Slice(x[0], G.S(t))), w)))))
		}
		return G.Nodes{G.Must(G.Concat(1, all...))}, nil
	}},
	{"mapped from the end", []string{"x %s[N,9,3]", "y %s[N,5,3]"}, "Scan", 6, func(x ...*G.Node) (G.Nodes, error) {
		w := weight(x[0], "w", 3, 2)
		var all G.Nodes
		for t := range 4 {
			sum := G.Must(G.Add(row(x[0], 7-2*t), row(x[1], t+1)))
			all = append(all, G.Must(G.Tanh(G.Must(G.Mul(sum, w)))))
		}
		return G.Nodes{G.Must(G.Concat(0, all...))}, nil
	}},
	{"equal numbers", []string{"x %s[N,3]"}, "Loop", 4, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for range 4 {
			h = G.Must(G.Tanh(G.Must(G.Add(G.Must(G.HadamardProd(h, number(h, 0.5))), number(h, 0.25)))))
		}
		return G.Nodes{h}, nil
	}},
	{"only put together", []string{"x %s[N,4,3]"}, "", 12, func(x ...*G.Node) (G.Nodes, error) {
		return one(G.Concat(1, row(x[0], 0), row(x[0], 1), row(x[0], 2), row(x[0], 3)))
	}},
	{"one turn is another", []string{"x %s[N,3]"}, "Loop", 16, func(x ...*G.Node) (G.Nodes, error) {
		h, w := x[0], weight(x[0], "w", 3, 3)
		for t := range 7 {
			if h = G.Must(G.Mul(h, w)); t == 2 {
				h = G.Must(G.Sigmoid(h))
			} else {
				h = G.Must(G.Tanh(h))
			}
		}
		return G.Nodes{h}, nil
	}},
	{"weights of their own", []string{"x %s[N,3]"}, "", 12, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for t := range 4 {
			h = G.Must(G.Tanh(G.Must(G.Mul(h, weight(x[0], fmt.Sprint("w", t), 3, 3)))))
		}
		return G.Nodes{h}, nil
	}},
	{"numbers of their own", []string{"x %s[N,3]"}, "", 12, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for t := range 4 {
			h = G.Must(G.Tanh(G.Must(G.HadamardProd(h, number(h, 1+float64(t*t))))))
		}
		return G.Nodes{h}, nil
	}},
	{"uneven places", []string{"x %s[N,6,3]", "h %s[N,4]"}, "", 40, func(x ...*G.Node) (G.Nodes, error) {
		h, w, u, b := x[1], weight(x[0], "w", 3, 4), weight(x[0], "u", 4, 4), weight(x[0], "b", 1, 4)
		for _, t := range []int{0, 3, 1, 5} {
			h = cell(row(x[0], t), h, w, u, b)
		}
		return G.Nodes{h}, nil
	}},
	{"two loops", []string{"x %s[N,5,3]", "h %s[N,4]"}, "ScanLoop", 22, func(x ...*G.Node) (G.Nodes, error) {
		h, w, u, b := x[1], weight(x[0], "w", 3, 4), weight(x[0], "u", 4, 4), weight(x[0], "b", 1, 4)
		for t := range 5 {
			h = cell(row(x[0], t), h, w, u, b)
		}
		for range 3 {
			h = G.Must(G.Sigmoid(G.Must(G.Mul(h, u))))
		}
		return G.Nodes{h}, nil
	}},
	{"two layers a turn", []string{"x %s[N,3]"}, "Loop", 12, func(x ...*G.Node) (G.Nodes, error) {
		h, w, u := x[0], weight(x[0], "w", 3, 3), weight(x[0], "u", 3, 3)
		for range 3 {
			h = G.Must(G.Tanh(G.Must(G.Mul(h, w))))
			h = G.Must(G.Tanh(G.Must(G.Mul(h, u))))
		}
		return G.Nodes{h}, nil
	}},
	{"rows from both ends", []string{"x %s[N,6,3]", "h %s[N,3]"}, "Scan", 15, func(x ...*G.Node) (G.Nodes, error) {
		h := x[1]
		for t := range 5 {
			h = G.Must(G.Tanh(G.Must(G.Add(G.Must(G.HadamardProd(row(x[0], t), h)), row(x[0], 5-t)))))
		}
		return G.Nodes{h}, nil
	}},
	{"a state of two turns ago", []string{"x %s[N,3]"}, "Loop", 6, func(x ...*G.Node) (G.Nodes, error) {
		h, before := x[0], G.Must(G.Tanh(x[0]))
		for range 5 {
			h, before = G.Must(G.Sigmoid(G.Must(G.Add(h, before)))), h
		}
		return G.Nodes{h}, nil
	}},
	{"computed once", []string{"x %s[N,3]"}, "Loop", 12, func(x ...*G.Node) (G.Nodes, error) {
		h, w := x[0], weight(x[0], "w", 3, 3)
		all := G.Must(G.Sigmoid(G.Must(G.Mul(x[0], w))))
		for range 4 {
			h = G.Must(G.HadamardProd(G.Must(G.Tanh(G.Must(G.Add(h, all)))), all))
		}
		return G.Nodes{h, all}, nil
	}},
	{"an early state is a result", []string{"x %s[N,3]"}, "Loop", 14, func(x ...*G.Node) (G.Nodes, error) {
		h, w := x[0], weight(x[0], "w", 3, 3)
		var early *G.Node
		for t := range 5 {
			if h = G.Must(G.Tanh(G.Must(G.Mul(h, w)))); t == 1 {
				early = h
			}
		}
		return G.Nodes{early, h}, nil
	}},
	{"an inner value is read", []string{"x %s[N,3]"}, "Loop", 20, func(x ...*G.Node) (G.Nodes, error) {
		h, w := x[0], weight(x[0], "w", 3, 3)
		var inner *G.Node
		for t := range 4 {
			m := G.Must(G.Mul(h, w))
			if h = G.Must(G.Tanh(m)); t == 2 {
				inner = m
			}
		}
		return G.Nodes{G.Must(G.Add(inner, h))}, nil
	}},
	{"begins with another shape", []string{"x %s[N,3]", "h %s[1,3]"}, "Loop", 14, func(x ...*G.Node) (G.Nodes, error) {
		h := x[1]
		for range 5 {
			h = G.Must(G.Tanh(G.Must(G.BroadcastAdd(h, x[0], []byte{0}, nil))))
			if h.Shape()[0] == x[0].Shape()[0] {
				break
			}
		}
		for range 4 {
			h = G.Must(G.Tanh(G.Must(G.Add(h, x[0]))))
		}
		return G.Nodes{h}, nil
	}},
	{"at random", []string{"x %s[N,3]"}, "", 20, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for range 4 {
			h = G.Must(G.Dropout(G.Must(G.Tanh(h)), 0.5))
		}
		return G.Nodes{h}, nil
	}},
	{"annotated", []string{"x %s[N,3]"}, "", 12, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for t := range 4 {
			out, err := nn.Annotate(nn.Annotations{"turn": t % 2}, func(x ...*G.Node) (G.Nodes, error) {
				return G.Nodes{G.Must(G.Tanh(x[0]))}, nil
			})(h)
			if err != nil {
				return nil, err
			}
			h = out[0]
		}
		return G.Nodes{h}, nil
	}},
	{"several outputs", []string{"x %s[N,4]"}, "Loop", 14, func(x ...*G.Node) (G.Nodes, error) {
		ops, h := std.Operators(), x[0]
		for range 4 {
			parts, err := ops.ApplyN(2, std.SplitConfig{Axis: 1, NumOutputs: 2}, h)
			if err != nil {
				return nil, err
			}
			if h, err = ops.Apply1(std.ConcatConfig{Axis: 1}, G.Must(G.Tanh(parts[1])), parts[0]); err != nil {
				return nil, err
			}
		}
		return G.Nodes{h}, nil
	}},
	{"twice", []string{"x %s[N,3]"}, "", 8, func(x ...*G.Node) (G.Nodes, error) {
		h := x[0]
		for range 2 {
			h = G.Must(G.Tanh(G.Must(G.Mul(h, weight(x[0], "w", 3, 3)))))
		}
		return G.Nodes{h}, nil
	}},
}

// A loop of Go that is rolled back into a Loop, or into a Scan where its turns read slices, computes what it did, has the same gradients, is the same in ONNX Runtime, and
// works at other batches. Bodies that are not equal stay as they are.
func TestRoll(t *testing.T) {
	var b strings.Builder
	for _, c := range append(unrolled, besides...) {
		t.Run(c.name, func(t *testing.T) {
			plain, feed := controlTrace(t, c.f, c.inputs, "float64")
			var inputs, single []string
			for _, s := range c.inputs {
				inputs, single = append(inputs, fmt.Sprintf(s, "float64")), append(single, fmt.Sprintf(s, "float32"))
			}
			g, err := nn.Tracer{Roll: true}.Trace(loss(c.f), inputs...)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			ops := ""
			for n := range g.Nodes(nn.Ops("Loop", "Scan")) {
				ops += n.Type()
			}
			if ops != c.ops {
				t.Errorf("control flow %q, want %q:\n%v", ops, c.ops, g.Summary())
			}
			if n := len(slices.Collect(g.Nodes())); n > c.most {
				t.Errorf("%d nodes, want at most %d:\n%v", n, c.most, g.Summary())
			}
			for i, v := range plain.Outputs() {
				if g.Outputs()[i].Name() != v.Name() {
					t.Errorf("output %d is %s, want %s", i, g.Outputs()[i].Name(), v.Name())
				}
			}
			names := wrt(g)
			if !slices.Equal(names, wrt(plain)) {
				t.Errorf("trained are %v, want %v", names, wrt(plain))
			}
			got, want := evalAll(t, g, feed), evalAll(t, plain, feed)
			for i := range want {
				nntest.Near(t, fmt.Sprintf("output %d", i), got[i], want[i], 1e-12)
			}
			last := plain.Outputs()[len(want)-1].Name()
			grads, err := g.Grad(t.Context(), feed, last, names...)
			if err != nil {
				t.Fatal(err)
			}
			other, err := plain.Grad(t.Context(), feed, last, names...)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				nntest.Near(t, "gradient of "+name, numbersOf(t, grads[name]), numbersOf(t, other[name]), 1e-10)
			}
			rolled, err := nn.Tracer{Roll: true}.Trace(loss(c.f), single...)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s of %s\n%s", c.name, strings.Join(single, ", "), nntest.Indent(nntest.Spelled(rolled)))
			file := filepath.Join(t.TempDir(), "rolled.onnx")
			if err := onnxio.Save(file, rolled); err != nil {
				t.Fatal(err)
			}
			in := nn.Feed{}
			for name, v := range feed {
				in[name] = narrow(t, v)
			}
			out, err := rolled.Eval(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			t.Run("onnxruntime", func(t *testing.T) { inRuntime(t, oracle.ORT(t), file, in, out) })
		})
	}
	nntest.CompareFile(t, filepath.Join("testdata", "rolled.txt"), b.String())
}

func narrow(t *testing.T, v dtype.Value) *tensor.Dense {
	t.Helper()
	d, err := dtype.ConvertTo(dtype.Float32, v.(*tensor.Dense))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
