package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

func TestMatMul(t *testing.T) {
	a := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	b := func(shape ...int) dtype.Value { return optest.Rand(2, shape...) }
	m := op.Plain("MatMul")
	optest.Run(t,
		optest.Case{Name: "matrices", Config: m, In: values(a(3, 4), b(4, 5))},
		optest.Case{Name: "one B", Config: m, In: values(a(2, 3, 4), b(4, 5))},
		optest.Case{Name: "one A", Config: m, In: values(a(3, 4), b(2, 4, 5))},
		optest.Case{Name: "batch", Config: m, In: values(a(2, 3, 4), b(2, 4, 2))},
		optest.Case{Name: "broadcast", Config: m, In: values(a(2, 1, 3, 4), b(3, 4, 2))},
		optest.Case{Name: "ones", Config: m, In: values(a(2, 3, 4), b(1, 1, 4, 2))},
		optest.Case{Name: "vectors", Config: m, In: values(a(4), b(4))},
		optest.Case{Name: "vector left", Config: m, In: values(a(4), b(2, 4, 3))},
		optest.Case{Name: "vector right", Config: m, In: values(a(2, 3, 4), b(4))},
		optest.Case{Name: "int64", Config: m, In: values(optest.Tensor([]int64{1, 2, 3, 4}, 2, 2), optest.Tensor([]int64{1 << 40, 0, 1, 1}, 2, 2)),
			Want: values(optest.Tensor([]int64{1<<40 + 2, 2, 3<<40 + 4, 4}, 2, 2))},
	)
	optest.Fails(t, optest.Case{Name: "inner", Config: m, In: values(a(3, 4), b(5, 2)), Refusal: "A is float32[3,4], B float32[5,2]: inner dimensions 4 and 5 differ"})
	optest.Fails(t, optest.Case{Name: "batch", Config: m, In: values(a(2, 3, 4), b(3, 4, 2)), Refusal: "shapes [[2] [3]] do not broadcast: dimension 0 is 2 and 3"})
	optest.Fails(t, optest.Case{Name: "scalar", Config: m, In: values(a(), b(4, 2)), Refusal: "input A: want a vector or matrices, got float32[]"})
}
