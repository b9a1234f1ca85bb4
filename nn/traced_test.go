package nn_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// tracedCases are functions that Gorgonia's own machine does not run, or that have no ONNX form.
func tracedCases() []stockCase {
	m := "x float32[N,4]"
	at := func(x *G.Node, axis int) int { return x.Shape()[axis] }
	return []stockCase{
		{"numbers of all types", func(x ...*G.Node) (G.Nodes, error) {
			g := x[0].Graph()
			big := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6}))
			turned := big.Clone().(*tensor.Dense)
			if err := turned.T(); err != nil {
				return nil, err
			}
			part, err := big.Slice(nil, tensor.S(1, 3))
			if err != nil {
				return nil, err
			}
			list := G.Nodes{
				G.NewConstant(true), G.NewConstant(int32(3)), G.NewConstant(int64(4)), G.NewConstant(5), G.NewConstant(byte(6)), G.NewConstant(1.5), G.NewConstant(float32(2.5)),
				G.NewMatrix(g, G.Float64, G.WithName("turned"), G.WithValue(turned)),
				G.NewMatrix(g, G.Float64, G.WithName("part"), G.WithValue(part)),
				G.NewMatrix(g, G.Float64, G.WithName("columns"), G.WithValue(tensor.New(tensor.WithShape(2, 2), tensor.AsFortran([]float64{1, 2, 3, 4})))),
				G.NewVector(g, G.Int, G.WithName("whole"), G.WithValue(tensor.New(tensor.WithBacking([]int{7, 8})))),
				G.NewScalar(g, G.Float32, G.WithName("single"), G.WithValue(float32(9))),
			}
			return append(list, x[0]), nil
		}, []string{m}, ""},
		{"dropout", func(x ...*G.Node) (G.Nodes, error) { return one(G.Dropout(x[0], 0.25)) }, []string{m}, ""},
		{"named operators", func(x ...*G.Node) (G.Nodes, error) { // twice by one name, by that of an input, one that becomes an input or weight again
			named := func(n *G.Node, name string) *G.Node { G.WithName(name)(n); return n }
			w := weight(x[0], "w", 1, 4)
			h := named(G.Must(G.Tanh(x[0])), "hidden")
			a, b := named(G.Must(G.Square(h)), "hidden"), named(G.Must(G.Neg(h)), "x")
			same := named(G.Must(G.Reshape(w, tensor.Shape{1, 4})), "again")
			return G.Nodes{a, b, G.Must(G.Add(x[0], named(G.Must(G.Reshape(x[0], x[0].Shape())), "as it was"))), G.Must(G.BroadcastHadamardProd(h, same, nil, []byte{0})), named(G.Must(G.Exp(h)), "last")}, nil
		}, []string{m}, ""},
		{"global average", func(x ...*G.Node) (G.Nodes, error) { return one(G.GlobalAveragePool2D(x[0])) }, []string{"x float32[N,2,3,4]"}, ""},
		{"lengths", func(x ...*G.Node) (G.Nodes, error) {
			return G.Nodes{G.Must(G.SizeOf(0, x[0])), G.Must(G.SizeOf(1, x[0]))}, nil
		}, []string{m}, ""},
		{"lengths times", func(x ...*G.Node) (G.Nodes, error) {
			n := G.Must(G.SizeOf(0, x[0]))
			return G.Nodes{G.Must(G.Div(G.Must(G.Sum(x[0])), n)), G.Must(G.Div(G.Must(G.Sum(x[0], 0)), G.Must(G.SizeOf(1, x[0]))))}, nil
		}, []string{m}, ""},
		{"comparisons", func(x ...*G.Node) (G.Nodes, error) {
			var list G.Nodes
			for _, f := range []func(a, b *G.Node, same bool) (*G.Node, error){G.Lt, G.Gt, G.Lte, G.Gte, G.Eq, G.Ne} {
				list = append(list, G.Must(f(x[0], x[1], true)), G.Must(f(x[0], x[1], false)))
			}
			return list, nil
		}, []string{m, "y float32[N,4]"}, ""},
		{"nearly rectified", func(x ...*G.Node) (G.Nodes, error) {
			at := func(v float32) *G.Node { return G.Must(G.Gte(x[0], G.NewConstant(v), true)) }
			half, less := G.Must(G.HadamardProd(x[0], at(0.5))), G.Must(G.Lt(x[0], G.NewConstant(float32(0)), true))
			return G.Nodes{half, G.Must(G.HadamardProd(at(0), x[0])), G.Must(G.HadamardProd(x[1], at(0))), G.Must(G.HadamardProd(x[0], less)),
				G.Must(G.Add(G.Must(G.HadamardProd(x[0], at(0))), G.Must(G.HadamardProd(G.Must(G.HadamardProd(x[1], less)), G.NewConstant(float32(0.5))))))}, nil
		}, []string{m, "y float32[N,4]"}, ""},
		{"a matrix that is no mean", func(x ...*G.Node) (G.Nodes, error) {
			s := G.Must(G.Sum(x[0], 0))
			return G.Nodes{G.Must(G.Div(s, G.Must(G.SizeOf(0, x[1])))), G.Must(G.Div(x[0], G.Must(G.SizeOf(0, x[0])))),
				G.Must(G.Div(G.Must(G.Sum(x[0], 0, 1)), G.Must(G.SizeOf(0, x[0]))))}, nil
		}, []string{m, "y float32[N,4]"}, ""},
		{"minimum and maximum", func(x ...*G.Node) (G.Nodes, error) {
			return G.Nodes{G.Must(G.MinBetween(x[0], x[1])), G.Must(G.MaxBetween(x[0], x[1]))}, nil
		}, []string{m, "y float32[N,4]"}, ""},
		{"a number that is the inverse of a size", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Mul(x[0], G.NewConstant(1/float32(3*at(x[0], 0)+2))))
		}, []string{m}, ""},
		{"a number that is a size", func(x ...*G.Node) (G.Nodes, error) {
			return G.Nodes{G.Must(G.Mul(x[0], G.NewConstant(float32(at(x[0], 0))))), G.Must(G.Add(x[0], G.NewConstant(float32(2*at(x[0], 0)-1))))}, nil
		}, []string{m}, ""},
		{"indices that are sizes", func(x ...*G.Node) (G.Nodes, error) {
			i := G.NewVector(x[0].Graph(), G.Int, G.WithName("rows"), G.WithValue(tensor.New(tensor.WithBacking([]int{0, at(x[0], 0) - 1}))))
			return one(G.ByIndices(x[0], i, 0))
		}, []string{m}, ""},
		{"a step that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Slice(x[0], G.S(0, at(x[0], 0), 1+at(x[0], 0)/16)))
		}, []string{m}, ""},
		{"an axis that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Concat(at(x[0], 0)%2, x[0], x[0]))
		}, []string{m}, ""},
		{"more dimensions at some sizes", func(x ...*G.Node) (G.Nodes, error) {
			n := at(x[0], 0)
			if n%2 == 0 {
				return one(G.Reshape(x[0], tensor.Shape{n, 2, 2}))
			}
			return one(G.Reshape(x[0], tensor.Shape{4, n}))
		}, []string{m}, ""},
		{"a matrix that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			c := G.NewConstant(tensor.New(tensor.WithShape(1, 4), tensor.WithBacking([]float32{1, 2, 3, float32(at(x[0], 0))})))
			return one(G.BroadcastAdd(x[0], c, nil, []byte{0}))
		}, []string{m}, ""},
		{"a square", func(x ...*G.Node) (G.Nodes, error) {
			n := at(x[0], 0)
			return one(G.Add(x[0], G.NewConstant(float32(n*n*n+1))))
		}, []string{m}, ""},
		{"a pool with one-sided padding", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.MaxPool2D(x[0], tensor.Shape{2, 3}, []int{0, 1}, []int{2, 1}))
		}, []string{"x float32[N,2,4,5]"}, ""},
		{"ours with several outputs", func(x ...*G.Node) (G.Nodes, error) {
			two, err := std.Operators().ApplyN(2, std.SplitConfig{Axis: 1, NumOutputs: 2}, x[0])
			if err != nil {
				return nil, err
			}
			return std.Operators().ApplyN(1, op.Plain("Mul"), two[1], two[0])
		}, []string{m}, ""},
		{"float64", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Log1p(G.Must(G.Square(x[0]))))
		}, []string{"x float64[N,4]"}, ""},
		{"a loop over what is around it", func(x ...*G.Node) (G.Nodes, error) { // of weights, indices, constants of all kinds and values
			w := weight(x[0], "w", 4, 4)
			v := weight(x[0], "v", 4)
			rows := G.NewVector(x[0].Graph(), G.Int, G.WithName("rows"), G.WithValue(tensor.New(tensor.WithBacking([]int{1, 0, 3, 2}))))
			h, s := G.Must(G.Tanh(x[0])), energy(x[0])
			return nn.For(at(x[0], 0)+1, func(y ...*G.Node) (G.Nodes, error) {
				z := G.Must(G.Add(G.Must(G.Mul(y[1], w)), G.Must(G.HadamardProd(h, h))))
				z = G.Must(G.Add(G.Must(G.BroadcastAdd(z, v, nil, []byte{0})), G.NewConstant(float32(at(x[0], 0)))))
				return G.Nodes{G.Must(G.ByIndices(z, rows, 1)), G.Must(G.Add(y[2], s)), y[1]}, nil
			}, x[0], s, h)
		}, []string{m}, ""},
		{"states that change places", func(x ...*G.Node) (G.Nodes, error) {
			return nn.While(func(s ...*G.Node) (*G.Node, error) { return G.Lt(energy(s[1]), energy(x[0]), false) },
				func(s ...*G.Node) (G.Nodes, error) { return G.Nodes{s[1], s[0]}, nil }, x[0], x[1])
		}, []string{m, "y float32[N,4]"}, ""},
		{"one result twice", func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) {
				h := G.Must(G.Tanh(s[1]))
				return G.Nodes{h, h}, nil
			}, x[0], x[1])
		}, []string{m, "y float32[N,4]"}, ""},
		{"branches of other values", func(x ...*G.Node) (G.Nodes, error) {
			a, b := weight(x[0], "a", 4, 4), weight(x[0], "b", 4, 4)
			return nn.Cond(G.Must(G.Lt(energy(x[0]), energy(x[1]), false)),
				func(y ...*G.Node) (G.Nodes, error) { return G.Nodes{G.Must(G.Mul(y[0], a)), x[1]}, nil },
				func(y ...*G.Node) (G.Nodes, error) {
					return G.Nodes{G.Must(G.Mul(y[0], b)), G.Must(G.Add(x[1], y[0]))}, nil
				}, x[0])
		}, []string{m, "y float32[N,4]"}, ""},
		{"a subgraph that depends on a symbol", func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(2, func(s ...*G.Node) (G.Nodes, error) {
				if at(x[0], 0)%2 == 0 {
					return G.Nodes{G.Must(G.Add(s[1], x[0]))}, nil
				}
				return one(G.Tanh(s[1]))
			}, x[0])
		}, []string{m}, ""},
		{"nothing to collect", func(x ...*G.Node) (G.Nodes, error) {
			final, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) { return one(G.Add(s[0], G.Must(G.Sum(s[1])))) }, G.Nodes{energy(x[1])}, G.Nodes{x[0]})
			return append(final, all...), err
		}, []string{"x float32[T,N]", "y float32[2]"}, ""},
		{"no state", func(x ...*G.Node) (G.Nodes, error) {
			_, all, err := nn.ForEach(func(s ...*G.Node) (G.Nodes, error) {
				return G.Nodes{G.Must(G.Square(s[0])), G.Must(G.HadamardProd(s[0], s[1]))}, nil
			}, nil, G.Nodes{x[0], x[1]})
			return all, err
		}, []string{"x float32[T,N]", "y float32[T,N]"}, ""},
		{"repeated along an axis", func(x ...*G.Node) (G.Nodes, error) {
			a, _, err := G.Broadcast(x[0], x[1], G.NewBroadcastPattern([]byte{1}, nil))
			if err != nil {
				return nil, err
			}
			b, _, err := G.Broadcast(x[2], x[1], G.NewBroadcastPattern([]byte{0}, nil))
			if err != nil {
				return nil, err
			}
			return G.Nodes{G.Must(G.Tanh(a)), G.Must(G.Tanh(b)), a}, nil
		}, []string{"x float32[N,1]", "y float32[N,4]", "z float32[1,4]"}, ""},
		{"repeated along two axes", func(x ...*G.Node) (G.Nodes, error) {
			a, _, err := G.Broadcast(x[0], x[1], G.NewBroadcastPattern([]byte{0, 2}, nil))
			return G.Nodes{G.Must(G.Exp(a))}, err
		}, []string{"x float32[1,S,1]", "y float32[N,S,4]"}, ""},
		{"nearly leaky", func(x ...*G.Node) (G.Nodes, error) {
			zero, slope := G.NewConstant(float32(0)), G.NewConstant(float32(0.25))
			up := func(x *G.Node) *G.Node { return G.Must(G.HadamardProd(x, G.Must(G.Gte(x, zero, true)))) }
			down := func(x, of *G.Node, at *G.Node) *G.Node { return G.Must(G.HadamardProd(x, G.Must(G.Lt(of, at, true)))) }
			times := func(a, b *G.Node) *G.Node { return G.Must(G.Mul(a, b)) }
			add := func(a, b *G.Node) *G.Node { return G.Must(G.Add(a, b)) }
			a, b := x[0], x[1]
			return G.Nodes{
				add(up(a), times(down(a, a, zero), slope)), // this is
				add(times(down(a, a, zero), slope), up(a)), add(up(a), times(slope, down(a, a, zero))), add(up(b), times(down(a, a, zero), slope)),
				add(up(a), times(down(a, b, zero), slope)), add(up(a), times(down(a, a, slope), slope)), add(up(a), times(up(a), slope)),
				add(up(a), G.Must(G.HadamardProd(down(a, a, zero), b))), add(a, times(down(a, a, zero), slope)), add(up(a), down(a, a, zero)),
				add(up(a), times(b, slope)), add(up(a), times(down(a, a, zero), x[2])), add(up(a), b),
			}, nil
		}, []string{m, "y float32[N,4]", "z float32[]"}, ""},
		{"nearly a mean", func(x ...*G.Node) (G.Nodes, error) {
			size := func(x *G.Node, axis int) *G.Node { return G.Must(G.SizeOf(axis, x)) }
			times := func(a, b *G.Node) *G.Node { return G.Must(G.Mul(a, b)) }
			over := func(a, b *G.Node) *G.Node { return G.Must(G.Div(a, b)) }
			a := x[0]
			all := G.Must(G.Sum(a, 0, 1))
			return G.Nodes{
				over(all, times(size(a, 0), size(a, 1))), over(all, times(size(a, 1), size(a, 0))), // these are
				over(all, times(size(a, 0), size(a, 0))), over(all, times(size(a, 0), size(x[1], 1))), over(all, size(a, 1)), over(G.Must(G.Sum(a, 1)), times(size(a, 0), size(a, 1))),
				over(G.Must(G.Sum(a, 1)), size(a, 0)), over(G.Must(G.Max(a, 1)), size(a, 1)), over(all, times(size(a, 0), G.NewConstant(float32(4)))), over(all, G.Must(G.Add(size(a, 0), size(a, 1)))),
			}, nil
		}, []string{m, "y float32[N,4]"}, ""},
		{"nearly a convolution", func(x ...*G.Node) (G.Nodes, error) {
			n, w := at(x[0], 0), weight(x[0], "w", 4, 8)
			turned := func(x *G.Node) *G.Node { return G.Must(G.Transpose(x, 0, 3, 1, 2)) }
			split := func(x *G.Node) *G.Node { return G.Must(G.Reshape(x, tensor.Shape{n, 2, 2, 2})) }
			p := G.Must(G.Mul(x[0], w))
			return G.Nodes{turned(split(p)), turned(split(G.Must(G.Tanh(p)))), turned(G.Must(G.Tanh(split(p)))), turned(x[1]), turned(G.Must(G.Reshape(x[1], tensor.Shape{n, 3, 2, 3}))),
				G.Must(G.Transpose(split(p), 0, 3, 2, 1))}, nil
		}, []string{m, "y float32[N,2,3,3]"}, ""},
		{"columns of an image", func(x ...*G.Node) (G.Nodes, error) {
			n := at(x[0], 0)
			cols := G.Must(G.Im2Col(x[0], tensor.Shape{2, 2}, tensor.Shape{0, 0}, tensor.Shape{1, 1}, tensor.Shape{1, 1}))
			flat := G.Must(G.Reshape(cols, tensor.Shape{n * 4, 8}))
			y := G.Must(G.Reshape(G.Must(G.Mul(flat, weight(x[0], "w", 8, 3))), tensor.Shape{n, 2, 2, 3}))
			return one(G.Transpose(y, 0, 3, 1, 2))
		}, []string{"x float32[N,2,3,3]"}, ""},
		{"results of a branch twice", func(x ...*G.Node) (G.Nodes, error) {
			return nn.Cond(G.Must(G.Lt(energy(x[0]), energy(x[1]), false)),
				func(y ...*G.Node) (G.Nodes, error) {
					h := G.Must(G.Tanh(y[0]))
					return G.Nodes{h, h, y[0]}, nil
				},
				func(y ...*G.Node) (G.Nodes, error) { return G.Nodes{y[0], y[0], G.Must(G.Exp(y[0]))}, nil }, x[0])
		}, []string{m, "y float32[N,4]"}, ""},
		{"outputs at some sizes", func(x ...*G.Node) (G.Nodes, error) {
			y := G.Must(G.Tanh(x[0]))
			if at(x[0], 0)%2 == 0 {
				if _, err := nn.AsOutput("inner", y); err != nil {
					return nil, err
				}
			}
			return one(G.Exp(y))
		}, []string{m}, ""},
		{"outputs of other names", func(x ...*G.Node) (G.Nodes, error) {
			y := G.Must(G.Tanh(x[0]))
			_, err := nn.AsOutput(fmt.Sprint("inner", at(x[0], 0)), y)
			return G.Nodes{G.Must(G.Exp(y))}, err
		}, []string{m}, ""},
		{"more outputs at some sizes", func(x ...*G.Node) (G.Nodes, error) {
			y := G.Must(G.Tanh(x[0]))
			for i := range 1 + at(x[0], 0)%2 {
				if _, err := nn.AsOutput(fmt.Sprint("inner", i), y); err != nil {
					return nil, err
				}
			}
			return one(G.Exp(y))
		}, []string{m}, ""},
		{"more results at some sizes", func(x ...*G.Node) (G.Nodes, error) {
			if at(x[0], 0)%2 == 0 {
				return G.Nodes{x[0], x[0]}, nil
			}
			return G.Nodes{x[0]}, nil
		}, []string{m}, ""},
		{"parts of a length", func(x ...*G.Node) (G.Nodes, error) {
			n, s := at(x[0], 0), at(x[0], 1)
			flat := G.Must(G.Reshape(x[0], tensor.Shape{n * s * 6}))
			return G.Nodes{G.Must(G.Reshape(flat, tensor.Shape{3 * n, 2 * s})), G.Must(G.Reshape(flat, tensor.Shape{2, n, s, 3})), G.Must(G.Reshape(flat, tensor.Shape{n * s, 3, 2})),
				G.Must(G.Slice(flat, G.S(n, 2*n+3))), G.Must(G.Slice(flat, G.S(s-1, n*s))), G.Must(G.Slice(flat, G.S(0, 6*n*s)))}, nil
		}, []string{"x float32[N,S,6]"}, ""},
		{"a length of none", func(x ...*G.Node) (G.Nodes, error) {
			return one(G.Slice(x[0], G.S(at(x[0], 0)*at(x[0], 0)/3, at(x[0], 0)*at(x[0], 0)/2)))
		}, []string{"x float32[N]"}, ""},
		{"two panels of a product", func(x ...*G.Node) (G.Nodes, error) {
			a := G.Must(G.BatchedMatMul(x[0], x[1], true, false))
			return G.Nodes{a, G.Must(G.BatchedMatMul(x[0], x[0], true, true))}, nil
		}, []string{"x float32[N,3,3]", "y float32[N,3,5]"}, ""},
	}
}

// TestTraced compares the graphs that functions are traced to, and the errors of those that cannot be, with
// testdata/traced.txt; -update writes it anew.
func TestTraced(t *testing.T) {
	var b strings.Builder
	cases := append(stockCases(), nearStock()...)
	slices.SortStableFunc(cases, func(x, y stockCase) int { return strings.Compare(x.name, y.name) })
	for _, c := range slices.Concat(cases, tracedCases(), nearTraces()) {
		for _, fixed := range []bool{false, true} {
			inputs := slices.Clone(c.inputs)
			for i, s := range inputs {
				if fixed {
					inputs[i] = strings.NewReplacer("N", "4", "S", "6", "T", "3").Replace(s)
				}
			}
			fmt.Fprintf(&b, "%s of %s\n", c.name, strings.Join(inputs, ", "))
			g, err := nn.Trace(c.f, inputs...)
			if err != nil {
				fmt.Fprintf(&b, "\trefused: %v\n", err)
				continue
			}
			b.WriteString(nntest.Indent(nntest.Spelled(g)))
		}
	}
	for _, c := range controls {
		var inputs []string
		for _, s := range c.inputs {
			inputs = append(inputs, fmt.Sprintf(s, "float32"))
		}
		fmt.Fprintf(&b, "%s of %s\n", c.name, strings.Join(inputs, ", "))
		g, err := nn.Trace(c.with, inputs...)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(nntest.Indent(nntest.Spelled(g)))
	}
	tracedLowerings(t, &b)
	nntest.CompareFile(t, filepath.Join("testdata", "traced.txt"), b.String())
}

// tracedLowerings puts Gorgonia's operators on a lowering of one size whose symbols are known.
func tracedLowerings(t *testing.T, b *strings.Builder) {
	for _, c := range []struct {
		name string
		f    func(x *G.Node) (*G.Node, error)
	}{
		{"to the end", func(x *G.Node) (*G.Node, error) { return G.Slice(x, G.S(1, x.Shape()[0])) }},
		{"merged", func(x *G.Node) (*G.Node, error) { return G.Reshape(x, tensor.Shape{x.Shape()[0] * 2, 3}) }},
		{"split", func(x *G.Node) (*G.Node, error) { return G.Reshape(x, tensor.Shape{x.Shape()[0], 2, 3}) }},
		{"flat", func(x *G.Node) (*G.Node, error) { return G.Reshape(x, tensor.Shape{x.Shape()[0] * 6}) }},
		{"mean", func(x *G.Node) (*G.Node, error) { return G.Mean(x, 1) }},
		{"mean of all", func(x *G.Node) (*G.Node, error) { return G.Mean(x) }},
		{"softmax", func(x *G.Node) (*G.Node, error) { return G.SoftMax(x) }},
		{"rows", func(x *G.Node) (*G.Node, error) {
			return G.BroadcastAdd(x, G.Must(G.Mean(x, 1)), nil, []byte{1})
		}},
		{"length", func(x *G.Node) (*G.Node, error) { return G.SizeOf(0, x) }},
		{"from the second", func(x *G.Node) (*G.Node, error) { return G.Slice(x, G.S(1, 3), G.S(2, 6)) }},
		{"merged behind", func(x *G.Node) (*G.Node, error) { return G.Reshape(x, tensor.Shape{3, x.Shape()[0] * 2}) }},
		{"turned", func(x *G.Node) (*G.Node, error) {
			return G.Reshape(G.Must(G.Transpose(x)), tensor.Shape{2, 3, x.Shape()[0]})
		}},
		{"to no symbol", func(x *G.Node) (*G.Node, error) { return G.Reshape(x, tensor.Shape{24, 1}) }},
		{"a product", func(x *G.Node) (*G.Node, error) {
			return G.Mul(x, G.NewVector(x.Graph(), G.Float32, G.WithName("v"), G.WithValue(nntest.Ramp(6))))
		}},
		{"outer", func(x *G.Node) (*G.Node, error) { return G.OuterProd(G.Must(G.Mean(x, 1)), G.Must(G.Mean(x, 0))) }},
		{"repeated", func(x *G.Node) (*G.Node, error) {
			a, _, err := G.Broadcast(G.Must(G.Reshape(G.Must(G.Mean(x, 1)), tensor.Shape{x.Shape()[0], 1})), x, G.NewBroadcastPattern([]byte{1}, nil))
			return a, err
		}},
		{"repeated in front", func(x *G.Node) (*G.Node, error) {
			a, _, err := G.Broadcast(G.Must(G.Reshape(G.Must(G.Mean(x, 0)), tensor.Shape{1, 6})), x, G.NewBroadcastPattern([]byte{0}, nil))
			return a, err
		}},
	} {
		g := nn.New("base")
		nntest.Edit(t, g, func(e *nn.Edit) {
			x := e.Input("x", "float32[N,6]")
			e.Output("y", e.Apply(layers.ReLU{}, x))
		})
		l, err := g.Lower(nn.LowerOptions{Sizes: map[string]int{"N": 4}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(b, "%s of a lowering\n", c.name)
		y, err := c.f(l.Outputs[0])
		if err != nil {
			t.Fatal(err)
		}
		traced, err := nn.TraceNodes(y)
		if err != nil {
			fmt.Fprintf(b, "\trefused: %v\n", err)
			continue
		}
		b.WriteString(nntest.Indent(nntest.Spelled(traced)))
	}
	g := nn.New("names")
	x := G.NewMatrix(G.NewGraph(), G.Float32, G.WithShape(2, 3), G.WithName("first"))
	y := G.NewMatrix(x.Graph(), G.Float32, G.WithShape(2, 3), G.WithName("second"))
	w := G.NewMatrix(x.Graph(), G.Float32, G.WithValue(nntest.Ramp(2, 3)), G.WithName("weight"))
	s := G.Must(G.Sub(G.Must(G.Add(x, w)), y))
	for _, tr := range []nn.Tracer{{}, {Inputs: G.Nodes{y, w}, Names: map[*G.Node]string{s: "difference", x: "renamed"}, Ops: g.Ops()}} {
		traced, err := tr.Nodes(s, x)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("names\n" + nntest.Indent(nntest.Spelled(traced)))
	}
	_, err := nn.TraceNodes(nil)
	fmt.Fprintf(b, "no node: %v\n", err)
	_, err = nn.TraceNodes()
	fmt.Fprintf(b, "nothing: %v\n", err)
	for _, in := range []string{"", "x", "x float32", "x float31[2]", "x float32[N,N+]", "x string[N]"} {
		traced, err := nn.Trace(func(x ...*G.Node) (G.Nodes, error) { return x, nil }, in)
		fmt.Fprintf(b, "input %q: %v\n", in, err)
		if err == nil {
			b.WriteString(nntest.Indent(nntest.Spelled(traced)))
		}
	}
}
