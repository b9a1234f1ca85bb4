package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// The operator of the example holds what the harness asks of every operator: shapes, gradients against finite differences,
// TapeMachine, couplings by cutting.
func TestExampleOperator(t *testing.T) {
	ops, err := std.Operators().With(snake())
	if err != nil {
		t.Fatal(err)
	}
	x, a := optest.Rand(1, 4, 3), optest.Floats([]int{3}, 0.5, 1, 2)
	optest.Run(t,
		optest.Case{Name: "default", Ops: ops, Config: Snake{}, In: []dtype.Value{x, a}},
		optest.Case{Name: "gain", Ops: ops, Config: Snake{Gain: 0.25}, In: []dtype.Value{x, a}},
	)
	optest.Fails(t, optest.Case{Name: "channels", Ops: ops, Config: Snake{}, In: []dtype.Value{x, optest.Floats([]int{2}, 1, 1)}, Refusal: "a frequency for each channel of"})
}
