package nn_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
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
}

// TestDeriveControl: gradients of Loop, Scan and If run as written in graft and in ONNX Runtime.
func TestDeriveControl(t *testing.T) {
	var b strings.Builder
	for _, c := range derivedControl {
		t.Run(c.name, func(t *testing.T) {
			g := checkDerived(t, 18, c.x, c.y, func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return g.Eval(t.Context(), in) })
			fmt.Fprintf(&b, "%s of %s\n%s", c.name, c.x, indent(spelled(g)))
		})
	}
	compareFile(t, filepath.Join("testdata", "derivedcontrol.txt"), b.String())
	t.Run("onnxruntime", func(t *testing.T) {
		ort := oracle.ORT(t)
		for _, c := range derivedControl {
			t.Run(c.name, func(t *testing.T) {
				checkDerived(t, 18, c.x, c.y, func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return derivedInRuntime(ort, g, in) })
			})
		}
	})
}
