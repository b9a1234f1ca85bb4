package nn_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// derivedControl are subgraph operators whose gradients are written out as subgraphs.
var derivedControl = []struct {
	name string
	x    string
	y    func(d deriving, x *nn.Value) *nn.Value
}{
	{"Loop", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value {
		w := d.param(4, 4)
		body := d.e.Body("repeat", []string{"int64[]", "bool[]", "float32[?,4]"}, []*nn.Value{w, x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			h := s.do(op.Plain("Tanh"), s.do(op.Plain("Add"), s.do(op.Plain("MatMul"), in[2], in[3]), in[4]))
			return []*nn.Value{s.do(op.Plain("Identity"), in[1]), h, s.do(op.Plain("Mul"), h, h)}
		})
		n := d.e.NodeN(std.LoopConfig{Body: body}, 2, d.e.Const("trips", dtype.Scalar(int64(3))), nil, x)
		return d.do(op.Plain("Add"), n.Out(0), d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, n.Out(1), d.e.Ints("axes", 0)))
	}},
	{"Scan", "float32[N,T,4]", func(d deriving, x *nn.Value) *nn.Value {
		w := d.param(4, 4)
		first := d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x, d.e.Ints("axes", 1))
		body := d.e.Body("step", []string{"float32[?,4]", "float32[?,4]"}, []*nn.Value{w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			h := s.do(op.Plain("Tanh"), s.do(op.Plain("Add"), s.do(op.Plain("MatMul"), in[0], in[2]), in[1]))
			return []*nn.Value{h, s.do(op.Plain("Identity"), h)}
		})
		n := d.e.NodeN(std.ScanConfig{Body: body, NumScanInputs: 1, InputAxes: []int{1}, OutputAxes: []int{1}, InputDirections: []int{1}}, 2, first, d.do(op.Plain("Mul"), x, d.param(4)))
		return n.Out(1)
	}},
	{"Scan forward", "float32[T,4]", func(d deriving, x *nn.Value) *nn.Value {
		body := d.e.Body("step", []string{"float32[4]", "float32[4]"}, []*nn.Value{d.param(4)}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			h := s.do(op.Plain("Sigmoid"), s.do(op.Plain("Add"), s.do(op.Plain("Mul"), in[0], in[2]), in[1]))
			return []*nn.Value{h, s.do(op.Plain("Identity"), h)}
		})
		return d.e.NodeN(std.ScanConfig{Body: body, NumScanInputs: 1}, 2, d.param(4), x).Out(1)
	}},
	{"If", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value {
		w, v := d.param(4), d.param(4)
		branch := func(name, activation string, captured ...*nn.Value) *nn.Body {
			return d.e.Body(name, nil, captured, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				s := deriving{e}
				return []*nn.Value{s.do(op.Plain(activation), s.do(op.Plain("Mul"), in[0], in[1]))}
			})
		}
		sum := d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x)
		pick := func(test string) *nn.Value {
			return d.do(std.IfConfig{Then: branch("yes", "Tanh", x, w), Else: branch("no", "Sigmoid", x, v)}, d.do(op.Plain(test), sum, d.number(0)))
		}
		return d.do(op.Plain("Add"), pick("Greater"), pick("Less"))
	}},
	{"If that is known", "float32[N,1,4]", func(d deriving, x *nn.Value) *nn.Value { // by a size that is not a symbol; the other branch gives another rank; an If inside
		w := d.param(4)
		inner := func(e *nn.Edit, x, w *nn.Value) *nn.Value {
			other := func(name, activation string) *nn.Body {
				return e.Body(name, nil, []*nn.Value{x, w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
					s := deriving{e}
					return []*nn.Value{s.do(op.Plain(activation), s.do(op.Plain("Mul"), in[0], in[1]))}
				})
			}
			s := deriving{e}
			rank := s.do(std.CastConfig{To: dtype.Bool}, s.do(op.Plain("Size"), s.do(std.ShapeConfig{}, x)))
			return s.do(std.IfConfig{Then: other("inner_yes", "Tanh"), Else: other("inner_no", "Sigmoid")}, rank)
		}
		then := d.e.Body("one", nil, []*nn.Value{x, w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{inner(e, deriving{e}.do(std.SqueezeConfig{}, in[0], e.Ints("axis", 1)), in[1])}
		})
		not := d.e.Body("many", nil, []*nn.Value{x, w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{deriving{e}.do(op.Plain("Mul"), in[0], in[1])}
		})
		length := d.do(std.GatherConfig{}, d.do(std.ShapeConfig{}, x), d.e.Ints("which", 1))
		return d.do(std.IfConfig{Then: then, Else: not}, d.do(op.Plain("Equal"), length, d.e.Ints("one_long", 1)))
	}},
	{"Loop of several states", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { // a counter, two tensors that change places, one that is not read again
		w, v := d.param(4, 4), d.param(4)
		rows := d.ints(3, 2, 1, 0)
		body := d.e.Body("steps", []string{"int64[]", "bool[]", "int64[]", "float32[?,4]", "float32[4]", "float32[?,4]"}, []*nn.Value{rows, w, x, v}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			h := s.do(op.Plain("Tanh"), s.do(op.Plain("Add"), s.do(op.Plain("MatMul"), in[3], in[7]), in[4]))
			h = s.do(std.GatherConfig{Axis: 1}, h, in[6])
			next := s.do(op.Plain("Mul"), in[4], in[9])
			return []*nn.Value{s.do(op.Plain("Identity"), in[1]), s.do(op.Plain("Add"), in[2], in[0]), h, next, s.do(op.Plain("Identity"), in[8]), s.do(op.Plain("Mul"), next, next), s.do(op.Plain("Identity"), in[0])}
		})
		first := d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x, d.e.Ints("axes", 0))
		n := d.e.NodeN(std.LoopConfig{Body: body}, 6, d.e.Const("trips", dtype.Scalar(int64(4))), d.e.Const("on", dtype.Scalar(true)), d.e.Const("begin", dtype.Scalar(int64(0))), x, first, x)
		sum := d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, n.Out(4), d.e.Ints("axes", 0))
		return d.do(op.Plain("Add"), d.do(op.Plain("Add"), n.Out(1), sum), n.Out(2))
	}},
	{"Loop while", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { // as long as a sum that a state carries is small
		body := d.e.Body("grow", []string{"int64[]", "bool[]", "float32[]", "float32[?,4]"}, []*nn.Value{d.above(4), d.number(40)}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			h := s.do(op.Plain("Mul"), in[3], in[4])
			sum := s.do(op.Plain("Add"), in[2], s.do(std.ReduceSumSquareConfig{KeepDims: addressOf(false)}, h))
			return []*nn.Value{s.do(op.Plain("Less"), sum, in[5]), sum, h}
		})
		n := d.e.NodeN(std.LoopConfig{Body: body}, 2, nil, d.e.Const("on", dtype.Scalar(true)), d.number(0), x)
		return d.do(op.Plain("Mul"), n.Out(1), n.Out(0))
	}},
	{"Loop of a number alone", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { // only captured values have gradients
		body := d.e.Body("count", []string{"int64[]", "bool[]", "int64[]"}, []*nn.Value{d.param(4), x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			i := s.do(std.CastConfig{To: dtype.Float32}, in[2])
			return []*nn.Value{s.do(op.Plain("Identity"), in[1]), s.do(op.Plain("Add"), in[2], in[0]), s.do(op.Plain("Mul"), s.do(op.Plain("Mul"), in[3], in[4]), i)}
		})
		n := d.e.NodeN(std.LoopConfig{Body: body}, 2, d.e.Const("trips", dtype.Scalar(int64(3))), nil, d.e.Const("begin", dtype.Scalar(int64(1))))
		return d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, n.Out(1), d.e.Ints("axes", 0))
	}},
	{"Scan of several", "float32[N,T,4]", func(d deriving, x *nn.Value) *nn.Value { // two states, inputs along other axes and in other directions, results likewise
		h := d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x, d.e.Ints("axes", 1))
		turned := d.do(std.TransposeConfig{Perm: []int{2, 0, 1}}, x)
		ids := d.do(std.CastConfig{To: dtype.Int64}, d.do(op.Plain("Sign"), d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x, d.e.Ints("axes", 0, 2))))
		body := d.e.Body("pair", []string{"float32[?,4]", "float32[4]", "float32[?,4]", "float32[4,?]", "int64[]"}, []*nn.Value{d.param(4, 4), d.param(4)}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			h := s.do(op.Plain("Tanh"), s.do(op.Plain("Add"), s.do(op.Plain("MatMul"), in[0], in[5]), in[2]))
			h = s.do(op.Plain("Mul"), h, s.do(std.TransposeConfig{Perm: []int{1, 0}}, in[3]))
			g := s.do(op.Plain("Add"), s.do(op.Plain("Mul"), in[1], in[6]), s.do(std.CastConfig{To: dtype.Float32}, in[4]))
			return []*nn.Value{h, g, s.do(op.Plain("Add"), h, g), s.do(op.Plain("Identity"), in[4]), s.do(op.Plain("Mul"), h, h)}
		})
		n := d.e.NodeN(std.ScanConfig{Body: body, NumScanInputs: 3, InputAxes: []int{1, -1, 0}, InputDirections: []int{0, 1, 1}, OutputAxes: []int{-1, 0, 1}, OutputDirections: []int{1, 0, 1}}, 5,
			h, d.param(4), x, turned, ids)
		back := d.do(std.TransposeConfig{Perm: []int{0, 2, 1}}, n.Out(2))
		y := d.do(op.Plain("Add"), d.do(op.Plain("Add"), back, n.Out(4)), n.Out(1))
		return d.do(op.Plain("Add"), d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, y, d.e.Ints("axes", 1)), n.Out(0))
	}},
	{"If beside constants", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { // numbers that are not trained, before and after weights
		w, two, three := d.param(4), d.number(2), d.number(3)
		branch := func(name, f string, captured ...*nn.Value) *nn.Body {
			return d.e.Body(name, nil, captured, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				s := deriving{e}
				y := in[0]
				for _, v := range in[1:] {
					y = s.do(op.Plain("Mul"), y, v)
				}
				return []*nn.Value{s.do(op.Plain(f), y)}
			})
		}
		sum := d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x)
		pick := func(test string) *nn.Value {
			return d.do(std.IfConfig{Then: branch("much", "Tanh", two, x, three), Else: branch("little", "Sigmoid", w, two, x)}, d.do(op.Plain(test), sum, d.number(0)))
		}
		return d.do(op.Plain("Add"), pick("Greater"), pick("Less"))
	}},
	{"Loop beside constants", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { // one in front, one as a state, a weight behind
		body := d.e.Body("steps", []string{"int64[]", "bool[]", "float32[?,4]", "float32[]"}, []*nn.Value{d.number(2), d.param(4), d.number(3)}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			s := deriving{e}
			h := s.do(op.Plain("Tanh"), s.do(op.Plain("Mul"), s.do(op.Plain("Mul"), in[2], in[4]), in[5]))
			return []*nn.Value{s.do(op.Plain("Identity"), in[1]), s.do(op.Plain("Add"), h, in[3]), s.do(op.Plain("Div"), in[3], in[6])}
		})
		return d.e.NodeN(std.LoopConfig{Body: body}, 2, d.e.Const("trips", dtype.Scalar(int64(2))), nil, x, d.number(1)).Out(0)
	}},
	{"If of several", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { // integers beside weights; a branch that gives what is around it
		w, v := d.param(4), d.param(4)
		rows := d.ints(3, 2, 1, 0)
		branch := func(name string, captured []*nn.Value, f func(s deriving, in []*nn.Value) []*nn.Value) *nn.Body {
			return d.e.Body(name, nil, captured, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return f(deriving{e}, in) })
		}
		then := func() *nn.Body {
			return branch("turned", []*nn.Value{rows, x, w}, func(s deriving, in []*nn.Value) []*nn.Value {
				h := s.do(std.GatherConfig{Axis: 1}, in[1], in[0])
				return []*nn.Value{s.do(op.Plain("Mul"), h, in[2]), s.do(op.Plain("Identity"), in[1]), s.do(op.Plain("Size"), h)}
			})
		}
		other := func() *nn.Body {
			return branch("straight", []*nn.Value{v, x, w}, func(s deriving, in []*nn.Value) []*nn.Value {
				h := s.do(op.Plain("Add"), in[1], s.do(op.Plain("Mul"), in[0], in[2]))
				return []*nn.Value{h, s.do(op.Plain("Tanh"), h), s.do(op.Plain("Size"), in[0])}
			})
		}
		sum := d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x)
		pick := func(test string) *nn.Value {
			n := d.e.NodeN(std.IfConfig{Then: then(), Else: other()}, 3, d.do(op.Plain(test), sum, d.number(0)))
			return d.do(op.Plain("Mul"), d.do(op.Plain("Add"), n.Out(0), n.Out(1)), d.do(std.CastConfig{To: dtype.Float32}, n.Out(2)))
		}
		return d.do(op.Plain("Add"), pick("Greater"), pick("Less"))
	}},
}

// fixedSizes puts numbers in the places of symbols, the sizes that checkDerived gives them.
var fixedSizes = strings.NewReplacer("N", "5", "T", "8")

// TestDeriveControl: gradients of Loop, Scan and If run as written in graft and in ONNX Runtime.
func TestDeriveControl(t *testing.T) {
	var b strings.Builder
	for _, c := range derivedControl {
		t.Run(c.name, func(t *testing.T) {
			for _, x := range []string{c.x, fixedSizes.Replace(c.x)} {
				g := checkDerived(t, 18, x, c.y, func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return g.Eval(t.Context(), in) })
				fmt.Fprintf(&b, "%s of %s\n%s", c.name, x, nntest.Indent(nntest.Spelled(g)))
			}
		})
	}
	nntest.CompareFile(t, filepath.Join("testdata", "derivedcontrol.txt"), b.String())
	t.Run("onnxruntime", func(t *testing.T) {
		ort := oracle.ORT(t)
		for _, c := range derivedControl {
			t.Run(c.name, func(t *testing.T) {
				checkDerived(t, 18, c.x, c.y, func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return derivedInRuntime(ort, g, in) })
			})
		}
	})
}

// TestDeriveConvertsSubgraphs checks that subgraphs are converted to the operator set of the step: in
// version 18 the axes of ReduceMean are an input.
func TestDeriveConvertsSubgraphs(t *testing.T) {
	g := nn.NewGraph("old", std.Operators(), map[string]int{"": 13})
	var loss *nn.Value
	nntest.Edit(t, g, func(e *nn.Edit) {
		d := deriving{e}
		x := e.Input("x", "float32[N,4]")
		branch := func(name string, w *nn.Value) *nn.Body {
			return e.Body(name, nil, []*nn.Value{x, w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return []*nn.Value{deriving{e}.do(std.ReduceMeanConfig{Axes: []int{1}}, deriving{e}.do(op.Plain("Mul"), in[0], in[1]))}
			})
		}
		ask := d.do(op.Plain("Greater"), d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x), d.number(0))
		y := d.do(std.IfConfig{Then: branch("yes", d.param(4)), Else: branch("no", d.param(4))}, ask)
		loss = d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, y)
		e.Output("loss", loss)
	})
	written, err := g.Derive(nn.DeriveOptions{Loss: loss, Params: slices.Collect(g.Params()), Opset: 18}, func(e *nn.Edit, d *nn.Derivation) {
		e.Output("loss", d.Loss)
	})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := onnxio.Write(&file, written); err != nil {
		t.Fatal(err)
	}
	read, err := onnxio.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	feed := nn.Feed{"x": nntest.Ramp(2, 4)}
	want, err := g.Eval(t.Context(), feed, "loss")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range read.Inputs() {
		if p := paramNamed(g, v.Name()); p != nil {
			feed[v.Name()] = p.Data()
		}
	}
	got, err := read.Eval(t.Context(), feed, "loss")
	if err != nil {
		t.Fatal(err)
	}
	if g, w := got["loss"].Data(), want["loss"].Data(); g != w {
		t.Errorf("loss %v, want %v", g, w)
	}
}
