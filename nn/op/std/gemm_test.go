package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func number(x float32) *float32 { return &x }

func integer(n int) *int { return &n }

func TestGemm(t *testing.T) {
	a := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	b := func(shape ...int) dtype.Value { return optest.Rand(2, shape...) }
	c := func(shape ...int) dtype.Value { return optest.Rand(3, shape...) }
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.GemmConfig{}, In: values(a(3, 4), b(4, 5))},
		optest.Case{Name: "all", Config: std.GemmConfig{TransA: true, TransB: true, Alpha: number(0.5), Beta: number(-2)}, In: values(a(4, 3), b(5, 4), c(5))},
		optest.Case{Name: "transA", Config: std.GemmConfig{TransA: true}, In: values(a(4, 3), b(4, 5), c(3, 1))},
		optest.Case{Name: "transB", Config: std.GemmConfig{TransB: true}, In: values(a(3, 4), b(5, 4), c(1, 5))},
		optest.Case{Name: "scalar", Config: std.GemmConfig{Beta: number(0.25)}, In: values(a(3, 4), b(4, 2), c())},
		optest.Case{Name: "zero", Config: std.GemmConfig{Beta: number(0), Alpha: number(0)}, In: values(a(3, 4), b(4, 2), c(3, 2))},
		optest.Case{Name: "old", Config: std.GemmConfig{Broadcast: true}, In: values(a(3, 4), b(4, 2), c(2)), Version: 6},
		optest.Case{Name: "int32", Config: std.GemmConfig{}, In: values(optest.Tensor([]int32{1, 2, 3, 4}, 2, 2), optest.Tensor([]int32{1, 0, 1, 1}, 2, 2), optest.Tensor([]int32{10}, 1)),
			Want: values(optest.Tensor([]int32{13, 12, 17, 14}, 2, 2))},
	)
	for _, k := range []optest.Case{
		{Name: "inner", Config: std.GemmConfig{}, In: values(a(3, 4), b(5, 2)), Refusal: "A is float32[3,4], B float32[5,2]: inner dimensions 4 and 5 differ"},
		{Name: "rank", Config: std.GemmConfig{}, In: values(a(3, 4, 1), b(4, 2)), Refusal: "input A: want a matrix, got float32[3,4,1]"},
		{Name: "C", Config: std.GemmConfig{}, In: values(a(3, 4), b(4, 2), c(3)), Refusal: "input C: want float32[3,2], got float32[3]"},
	} {
		optest.Fails(t, k)
	}
}
