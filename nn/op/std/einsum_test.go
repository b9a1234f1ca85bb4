package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestEinsum(t *testing.T) {
	rand := func(seed uint64, shape ...int) dtype.Value { return optest.Rand(seed, shape...) }
	for _, c := range []struct {
		equation string
		in       []dtype.Value
	}{
		{"ij,jk->ik", values(rand(1, 2, 3), rand(2, 3, 4))},
		{"ij,jk", values(rand(1, 2, 3), rand(2, 3, 4))},
		{"ji", values(rand(1, 2, 3))},
		{"ii->i", values(rand(1, 3, 3))},
		{"ii", values(rand(1, 3, 3))},
		{"ij->", values(rand(1, 2, 3))},
		{"bij, bjk -> bik", values(rand(1, 2, 3, 4), rand(2, 2, 4, 2))},
		{"...ij,...jk->...ik", values(rand(1, 2, 1, 3, 4), rand(2, 5, 4, 2))},
		{"...ij->...", values(rand(1, 2, 3, 4))},
		{"i,j,k->kij", values(rand(1, 2), rand(2, 3), rand(3, 4))},
		{"bhid,bhjd->bhij", values(rand(1, 2, 2, 3, 4), rand(2, 2, 2, 3, 4))},
		{"ij,ij->j", values(rand(1, 2, 3), rand(2, 1, 3))},
		{"iij,jk->ki", values(rand(1, 2, 2, 3), rand(2, 3, 2))},
	} {
		optest.Run(t, optest.Case{Name: c.equation, Config: std.EinsumConfig{Equation: c.equation}, In: c.in})
	}
	optest.Run(t, optest.Case{Name: "int64", Config: std.EinsumConfig{Equation: "i,i"}, In: values(optest.Ints(1, 2, 3), optest.Ints(1<<40, 1, 1)), Want: values(optest.Tensor([]int64{1<<40 + 5}))})
	const unknown = "the output has a label that is not in the inputs, or twice"
	for equation, refusal := range map[string]string{
		"ij,jk->ik,": "has 2 operands, the node 1 inputs", "ij->k": unknown, "i->i": `operand "i" does not name 2 axes`, "ij->ii": unknown,
		"....ij": `operand "....ij" does not name 2 axes`, "i1": "'1' is not a label", "ij->i->j": "'-' is not a label", "": `operand "" does not name 2 axes`,
	} {
		optest.Fails(t, optest.Case{Name: equation, Config: std.EinsumConfig{Equation: equation}, In: values(rand(1, 2, 3)), Refusal: refusal})
	}
	optest.Fails(t, optest.Case{Name: "sizes", Config: std.EinsumConfig{Equation: "ij,jk"}, In: values(rand(1, 2, 3), rand(2, 4, 2)), Refusal: "axis 0 of input 1 is 4, elsewhere the label has 3"})
}
