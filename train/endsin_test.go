package train

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestEndsIn checks which outputs are probabilities of exclusive classes, and which of independent events.
func TestEndsIn(t *testing.T) {
	for name, c := range map[string]struct {
		config    op.Config
		one, each bool
	}{
		"scores": {op.Plain("Identity"), false, false}, "Sigmoid": {op.Plain("Sigmoid"), false, true}, "Softmax": {std.SoftmaxConfig{}, true, false},
		"LogSoftmax": {std.LogSoftmaxConfig{}, true, false}, "Relu": {op.Plain("Relu"), false, false},
	} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Node(c.config, e.Input("x", "float32[N,3]")).Out(0)) }); err != nil {
			t.Fatal(err)
		}
		if one, each := EndsInOne(g.Outputs()[0]), EndsInEach(g.Outputs()[0]); one != c.one || each != c.each {
			t.Errorf("%s: one %v, each %v", name, one, each)
		}
	}
}
