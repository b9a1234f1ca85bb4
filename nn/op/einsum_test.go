package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
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
		optest.Run(t, optest.Case{Name: c.equation, Config: op.EinsumConfig{Equation: c.equation}, In: c.in})
	}
	optest.Run(t, optest.Case{Name: "int64", Config: op.EinsumConfig{Equation: "i,i"}, In: values(optest.Ints(1, 2, 3), optest.Ints(1<<40, 1, 1)), Want: values(optest.Tensor([]int64{1<<40 + 5}))})
	for _, equation := range []string{"ij,jk->ik,", "ij->k", "i->i", "ij->ii", "....ij", "i1", "ij->i->j", ""} {
		optest.Fails(t, optest.Case{Name: equation, Config: op.EinsumConfig{Equation: equation}, In: values(rand(1, 2, 3))})
	}
	optest.Fails(t, optest.Case{Name: "sizes", Config: op.EinsumConfig{Equation: "ij,jk"}, In: values(rand(1, 2, 3), rand(2, 4, 2))})
}
