package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// repeated returns a Loop of two turns over x, and over an optional second state.
func repeated(d deriving, x *nn.Value, captured []*nn.Value, f func(s deriving, in []*nn.Value) *nn.Value) *nn.Value {
	body := d.e.Body("turn", []string{"int64[]", "bool[]", "float32[?,4]"}, captured, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		s := deriving{e}
		return []*nn.Value{s.do(op.Plain("Identity"), in[1]), f(s, in)}
	})
	return d.e.NodeN(std.LoopConfig{Body: body}, 1, d.e.Const("trips", dtype.Scalar(int64(2))), nil, x).Out(0)
}

// TestDeriveCondition: the body of a Loop may compute with its condition.
func TestDeriveCondition(t *testing.T) {
	checkDerived(t, 18, "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value {
		return repeated(d, x, []*nn.Value{d.param(4)}, func(s deriving, in []*nn.Value) *nn.Value {
			on := s.do(std.CastConfig{To: dtype.Float32}, in[1])
			return s.do(op.Plain("Tanh"), s.do(op.Plain("Mul"), s.do(op.Plain("Mul"), in[2], in[3]), on))
		})
	}, func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return g.Eval(t.Context(), in) })
}

// TestDeriveControlRefuses: what a subgraph may not do where its gradient is written out.
func TestDeriveControlRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		y    func(d deriving, x *nn.Value) *nn.Value
		want string
	}{
		"random": {func(d deriving, x *nn.Value) *nn.Value {
			return repeated(d, x, []*nn.Value{d.param(4), d.number(0.5), d.e.Const("on", dtype.Scalar(true))}, func(s deriving, in []*nn.Value) *nn.Value {
				return s.do(op.Plain("Dropout"), s.do(op.Plain("Mul"), in[2], in[3]), in[4], in[5])
			})
		}, "its subgraph draws random numbers"},
		"running statistics": {func(d deriving, x *nn.Value) *nn.Value {
			return repeated(d, x, []*nn.Value{d.param(4), d.param(4), d.param(4), d.above(4)}, func(s deriving, in []*nn.Value) *nn.Value {
				return s.do(std.BatchNormalizationConfig{}, in[2], in[3], in[4], in[5], in[6])
			})
		}, "its subgraph updates running statistics: freeze them"},
		"no gradient": {func(d deriving, x *nn.Value) *nn.Value {
			d.e.SetOpset(26)
			return repeated(d, x, []*nn.Value{d.param(4)}, func(s deriving, in []*nn.Value) *nn.Value {
				return s.do(std.BitCastConfig{To: dtype.Float32}, s.do(op.Plain("Mul"), in[2], in[3]))
			})
		}, "works on bits"},
	} {
		t.Run(name, func(t *testing.T) {
			g, loss, params := derivedGraph(t, "float32[N,4]", c.y)
			_, err := g.Derive(nn.DeriveOptions{Loss: loss, Params: params}, func(e *nn.Edit, d *nn.Derivation) { e.Output("loss", d.Loss) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
