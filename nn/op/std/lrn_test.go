package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestLRN(t *testing.T) {
	x := optest.Spread(1, -2, 2, 2, 3, 4, 2)
	optest.Run(t,
		optest.Case{Name: "LRN", Config: std.LRNConfig{Size: 3, Alpha: number(0.1)}, In: values(optest.Rand(1, 2, 6, 3))},
		optest.Case{Name: "LRN all", Config: std.LRNConfig{Size: 2, Alpha: number(0.5), Beta: number(0.5), Bias: number(2)}, In: values(optest.Rand(1, 2, 5, 2, 2))},
	)
	optest.Fails(t, optest.Case{Name: "size", Config: std.LRNConfig{Size: -1}, In: values(x), Refusal: "size is -1, want 1 or more"})
}
