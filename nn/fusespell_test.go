package nn_test

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
)

// normSpellings are normalizations as PyTorch and other exporters write them, and near misses.
func normSpellings() []spelling {
	// torch is PyTorch's decomposition over the given axes, without scale and bias.
	torch := func(s speller, x *nn.Value, axes ...int) *nn.Value {
		d := s.on("Sub", x, s.mean(x, axes...))
		return s.on("Div", d, s.on("Sqrt", s.on("Add", s.mean(s.on("Pow", d, 2.), axes...), 1e-5)))
	}
	const layer, rms = "LayerNormalization", "RMSNormalization"
	return []spelling{
		{"layer norm", "2,3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("Mul", torch(s, in[0], -1), s.weight("w", 8)), s.weight("b", 8))
		}, layer},
		{"layer norm, bias and scale first", "2,3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.weight("b", 8), s.on("Mul", s.weight("w", 8), torch(s, in[0], -1)))
		}, layer},
		{"layer norm over two axes", "2,3,4,5", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("Mul", torch(s, in[0], -2, -1), s.weight("w", 4, 5)), s.weight("b", 4, 5))
		}, layer},
		{"layer norm without bias", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Mul", torch(s, in[0], -1), s.weight("w", 8))
		}, layer},
		{"layer norm without scale", "3,8", func(s speller, in ...*nn.Value) *nn.Value { return torch(s, in[0], 1) }, layer},
		{"layer norm, centred twice, reciprocal", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			a, b := s.on("Sub", in[0], s.mean(in[0], 1)), s.on("Sub", in[0], s.mean(in[0], 1))
			root := s.on("Sqrt", s.on("Add", 1e-3, s.mean(s.on("Mul", b, b), 1)))
			return s.on("Add", s.on("Mul", s.on("Mul", a, s.on("Reciprocal", root)), s.weight("w", 8)), s.weight("b", 8))
		}, layer},
		{"layer norm, minus one half", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			d := s.on("Sub", in[0], s.mean(in[0], 1))
			return s.on("Mul", d, s.on("Pow", s.on("Add", s.mean(s.on("Mul", d, d), 1), 1e-5), -0.5))
		}, layer},
		{"a mean over the first axis", "3,8", func(s speller, in ...*nn.Value) *nn.Value { return torch(s, in[0], 0) },
			"Add Div Pow ReduceMean ReduceMean Sqrt Sub"},
		{"means over different axes", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			d := s.on("Sub", in[0], s.mean(in[0], 0))
			return s.on("Div", d, s.on("Sqrt", s.on("Add", s.mean(s.on("Pow", d, 2.), 1), 1e-5)))
		}, rms + " ReduceMean Sub"},
		{"the mean of another value", "3,8 3,8", func(s speller, in ...*nn.Value) *nn.Value {
			d := s.on("Sub", in[0], s.mean(in[1], 1))
			e := s.on("Sub", in[1], s.mean(in[1], 1))
			return s.on("Div", d, s.on("Sqrt", s.on("Add", s.mean(s.on("Pow", e, 2.), 1), 1e-5)))
		}, "Add Div Pow ReduceMean ReduceMean ReduceMean Sqrt Sub Sub"},
		{"a bias of one number for each row", "3,8 3,1", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("Mul", torch(s, in[0], -1), s.weight("w", 8)), in[1])
		}, "Add " + layer},
		{"cubes", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			d := s.on("Sub", in[0], s.mean(in[0], 1))
			return s.on("Div", d, s.on("Sqrt", s.on("Add", s.mean(s.on("Pow", d, 4.), 1), 1e-5)))
		}, "Add Div Pow ReduceMean ReduceMean Sqrt Sub"},
		{"rms norm", "2,3,8", func(s speller, in ...*nn.Value) *nn.Value {
			x := in[0]
			return s.on("Mul", s.weight("w", 8), s.on("Mul", x, s.on("Reciprocal", s.on("Sqrt", s.on("Add", s.mean(s.on("Pow", x, 2.), -1), 1e-6)))))
		}, rms},
		{"rms norm, divided", "2,3,8", func(s speller, in ...*nn.Value) *nn.Value {
			x := in[0]
			return s.on("Mul", s.on("Div", x, s.on("Sqrt", s.on("Add", s.mean(s.on("Mul", x, x), -1), 1e-6))), s.weight("w", 8))
		}, rms},
		{"a layer norm read inside", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			d := s.on("Sub", in[0], s.mean(in[0], 1))
			return s.on("Add", d, s.on("Div", d, s.on("Sqrt", s.on("Add", s.mean(s.on("Pow", d, 2.), 1), 1e-5))))
		}, "Add " + rms + " ReduceMean Sub"},
	}
}

func activationSpellings() []spelling {
	c, cube := math.Sqrt(2/math.Pi), 0.044715
	one := func(name, want string, f func(s speller, x *nn.Value) *nn.Value) spelling {
		return spelling{name, "3,37", func(s speller, in ...*nn.Value) *nn.Value { return f(s, in[0]) }, want}
	}
	erf := func(s speller, x *nn.Value) *nn.Value {
		return s.on("Add", s.on("Erf", s.on("Div", x, math.Sqrt2)), 1.)
	}
	tanh := func(s speller, x *nn.Value) *nn.Value {
		x3 := s.on("Mul", x, s.on("Mul", x, x))
		return s.on("Add", 1., s.on("Tanh", s.on("Mul", c, s.on("Add", x, s.on("Mul", cube, x3)))))
	}
	return []spelling{
		one("gelu", "Gelu", func(s speller, x *nn.Value) *nn.Value { return s.on("Mul", s.on("Mul", x, erf(s, x)), 0.5) }),
		one("gelu, half first", "Gelu", func(s speller, x *nn.Value) *nn.Value { return s.on("Mul", s.on("Mul", 0.5, x), erf(s, x)) }),
		one("gelu, half inside", "Gelu", func(s speller, x *nn.Value) *nn.Value { return s.on("Mul", x, s.on("Mul", erf(s, x), 0.5)) }),
		one("gelu by multiplication", "Gelu", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", s.on("Mul", x, 0.5), s.on("Add", 1., s.on("Erf", s.on("Mul", x, math.Sqrt2/2))))
		}),
		one("erf of twice the value", "Add Erf Mul Mul Mul", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", s.on("Mul", x, 0.5), s.on("Add", 1., s.on("Erf", s.on("Mul", x, 2.))))
		}),
		one("gelu with another half", "Add Div Erf Mul Mul", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", s.on("Mul", x, 0.51), erf(s, x))
		}),
		{"erf of another value", "3,5 3,5", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Mul", s.on("Mul", in[0], 0.5), erf(s, in[1]))
		}, "Add Div Erf Mul Mul"},
		one("gelu by tanh", "Gelu", func(s speller, x *nn.Value) *nn.Value { return s.on("Mul", s.on("Mul", x, 0.5), tanh(s, x)) }),
		one("gelu by tanh of a power", "Gelu", func(s speller, x *nn.Value) *nn.Value {
			inner := s.on("Mul", s.on("Add", x, s.on("Mul", s.on("Pow", x, 3.), cube)), c)
			return s.on("Mul", s.on("Mul", x, s.on("Add", s.on("Tanh", inner), 1.)), 0.5)
		}),
		one("gelu by tanh, factored", "Gelu", func(s speller, x *nn.Value) *nn.Value {
			inner := s.on("Mul", s.on("Mul", x, c), s.on("Add", 1., s.on("Mul", s.on("Mul", x, cube), x)))
			return s.on("Mul", s.on("Mul", x, 0.5), s.on("Add", s.on("Tanh", inner), 1.))
		}),
		one("silu", "Swish", func(s speller, x *nn.Value) *nn.Value { return s.on("Mul", x, s.on("Sigmoid", x)) }),
		one("quick gelu", "Swish", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", s.on("Sigmoid", s.on("Mul", 1.702, x)), x)
		}),
		{"a gate", "3,5 3,5", func(s speller, in ...*nn.Value) *nn.Value { return s.on("Mul", in[0], s.on("Sigmoid", in[1])) }, "Mul Sigmoid"},
		one("hard swish", "HardSwish", func(s speller, x *nn.Value) *nn.Value {
			alpha := float32(1. / 6)
			return s.on("Mul", x, s.with(std.HardSigmoidConfig{Alpha: &alpha}, x))
		}),
		one("another hard sigmoid", "HardSigmoid Mul", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", x, s.on("HardSigmoid", x))
		}),
		one("hard swish by clip", "HardSwish", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Div", s.on("Mul", x, s.on("Clip", s.on("Add", x, 3.), 0., 6.)), 6.)
		}),
		one("hard swish by clip, divided first", "HardSwish", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", x, s.on("Div", s.on("Clip", s.on("Add", 3., x), 0., 6.), 6.))
		}),
		one("a clip to 5", "Add Clip Div Mul", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Div", s.on("Mul", x, s.on("Clip", s.on("Add", x, 3.), 0., 5.)), 6.)
		}),
		one("a clip to 5, copied", "Add Clip Div Identity Mul", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Div", s.on("Mul", x, s.on("Identity", s.on("Clip", s.on("Add", x, 3.), 0., 5.))), 6.)
		}),
		one("mish", "Mish", func(s speller, x *nn.Value) *nn.Value { return s.on("Mul", x, s.on("Tanh", s.on("Softplus", x))) }),
		one("mish by logarithm", "Mish", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", s.on("Tanh", s.on("Log", s.on("Add", s.on("Exp", x), 1.))), x)
		}),
		one("identities between", "Gelu", func(s speller, x *nn.Value) *nn.Value {
			return s.on("Mul", s.on("Identity", s.on("Mul", x, erf(s, x))), 0.5)
		}),
	}
}

func linearSpellings() []spelling {
	const shaped = "Gemm ReshapeTo ReshapeTo"
	return []spelling{
		{"linear", "2,3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.weight("b", 5), s.on("MatMul", in[0], s.turn(s.weight("w", 5, 8), 1, 0)))
		}, shaped},
		{"linear, stored by inputs", "2,3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("MatMul", in[0], s.weight("w", 8, 5)), s.weight("b", 1, 5))
		}, "Gemm ReshapeTo ReshapeTo ReshapeTo"},
		{"linear of a matrix", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("MatMul", in[0], s.turn(s.weight("w", 5, 8), 1, 0)), s.weight("b", 5))
		}, "Gemm"},
		{"linear without bias", "2,3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("MatMul", in[0], s.turn(s.weight("w", 5, 8), 1, 0))
		}, shaped},
		{"a sum with rows", "3,8 3,1", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("MatMul", in[0], s.weight("w", 8, 5)), in[1])
		}, "Add MatMul"},
		{"a product with many matrices", "2,3,8 2,8,5", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("MatMul", in[0], in[1]), s.weight("b", 5))
		}, "Add MatMul"},
		{"a bias that repeats the product", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("Add", s.on("MatMul", in[0], s.weight("w", 8, 5)), s.weight("b", 2, 1, 5))
		}, "Add MatMul"},
		{"tied weights", "3,8", func(s speller, in ...*nn.Value) *nn.Value {
			w := s.turn(s.weight("w", 8, 8), 1, 0)
			return s.on("MatMul", s.on("Add", s.on("MatMul", in[0], w), s.weight("b", 8)), w)
		}, "Gemm MatMul Transpose"},
	}
}

func attentionSpellings() []spelling {
	// heads brings [batch, rows, 2·4] to [batch, 2, rows, 4].
	heads := func(s speller, x *nn.Value, perm ...int) *nn.Value {
		return s.turn(s.on("Reshape", x, []int{0, 0, 2, 4}), perm...)
	}
	join := func(s speller, y *nn.Value) *nn.Value {
		return s.on("Reshape", s.turn(y, 0, 2, 1, 3), []int{0, 0, -1})
	}
	soft := func(s speller, x *nn.Value) *nn.Value { return s.on("Softmax", x) }
	const three = "3,7,8 3,5,8 3,5,8"
	const split = "HeadAttention Reshape Reshape Reshape"
	return []spelling{
		{"attention", three, func(s speller, in ...*nn.Value) *nn.Value {
			q, k, v := heads(s, in[0], 0, 2, 1, 3), heads(s, in[1], 0, 2, 3, 1), heads(s, in[2], 0, 2, 1, 3)
			return join(s, s.on("MatMul", soft(s, s.on("Div", s.on("MatMul", q, k), 2.)), v))
		}, split + " Reshape"},
		{"attention, keys turned twice, a mask", three, func(s speller, in ...*nn.Value) *nn.Value {
			q, k, v := heads(s, in[0], 0, 2, 1, 3), heads(s, in[1], 0, 2, 1, 3), heads(s, in[2], 0, 2, 1, 3)
			scores := s.on("Mul", s.on("MatMul", q, s.turn(k, 0, 1, 3, 2)), 0.5)
			return join(s, s.on("MatMul", soft(s, s.on("Add", scores, s.weight("mask", 3, 1, 1, 5))), v))
		}, split + " Reshape"},
		{"attention, both scaled", three, func(s speller, in ...*nn.Value) *nn.Value {
			q, k, v := heads(s, in[0], 0, 2, 1, 3), heads(s, in[1], 0, 2, 1, 3), heads(s, in[2], 0, 2, 1, 3)
			kt := s.on("Mul", s.turn(k, 0, 1, 3, 2), 0.7)
			return s.on("MatMul", soft(s, s.on("Add", s.weight("bias", 2, 7, 5), s.on("MatMul", s.on("Mul", q, 0.7), kt))), v)
		}, split},
		{"heads as they are", "2,3,7,4 2,3,5,4 2,3,5,6", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("MatMul", soft(s, s.on("MatMul", in[0], s.turn(in[1], 0, 1, 3, 2))), in[2])
		}, "HeadAttention"},
		{"one head", "2,7,4 2,5,4 2,5,6", func(s speller, in ...*nn.Value) *nn.Value {
			scores := s.on("Add", s.on("MatMul", in[0], s.turn(in[1], 0, 2, 1)), s.weight("mask", 2, 7, 1))
			return s.on("MatMul", soft(s, scores), in[2])
		}, "HeadAttention"},
		{"a softmax over rows", "2,3,7,4 2,3,5,4 2,3,5,6", func(s speller, in ...*nn.Value) *nn.Value {
			axis := 2
			return s.on("MatMul", s.with(std.SoftmaxConfig{Axis: &axis}, s.on("MatMul", in[0], s.turn(in[1], 0, 1, 3, 2))), in[2])
		}, "MatMul MatMul Softmax Transpose"},
		{"probabilities read twice", "2,3,7,4 2,3,5,4 2,3,5,7", func(s speller, in ...*nn.Value) *nn.Value {
			p := soft(s, s.on("MatMul", in[0], s.turn(in[1], 0, 1, 3, 2)))
			return s.on("MatMul", p, s.on("Mul", in[2], s.on("ReduceMean", p)))
		}, "MatMul MatMul Mul ReduceMean Softmax Transpose"},
		{"few keys for many heads", "2,4,7,4 2,1,5,4 2,1,5,6", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("MatMul", soft(s, s.on("MatMul", in[0], s.turn(in[1], 0, 1, 3, 2))), in[2])
		}, "MatMul MatMul Softmax Transpose"},
		{"a mask for more rows", "1,2,1,4 1,2,5,4 1,2,5,6", func(s speller, in ...*nn.Value) *nn.Value {
			scores := s.on("Add", s.on("MatMul", in[0], s.turn(in[1], 0, 1, 3, 2)), s.weight("mask", 7, 5))
			return s.on("MatMul", soft(s, scores), in[2])
		}, "Add MatMul MatMul Softmax Transpose"},
		{"many tiles", "1,2,300,4 1,2,700,4 1,2,700,6", func(s speller, in ...*nn.Value) *nn.Value {
			return s.on("MatMul", soft(s, s.on("MatMul", in[0], s.turn(in[1], 0, 1, 3, 2))), in[2])
		}, "HeadAttention"},
	}
}

// packedSpellings are attention whose queries, keys and values come from one tensor.
func packedSpellings() []spelling {
	attend := func(s speller, q, k, v *nn.Value) *nn.Value {
		scores := s.on("Mul", s.on("MatMul", q, s.turn(k, 0, 1, 3, 2)), 0.5)
		return s.on("MatMul", s.on("Softmax", s.on("Add", scores, s.weight("mask", 5, 5))), v)
	}
	join := func(s speller, y *nn.Value) *nn.Value {
		return s.on("Reshape", s.turn(y, 0, 2, 1, 3), []int{0, 0, -1})
	}
	third := func(s speller, x *nn.Value, axis, i int) *nn.Value {
		return s.Node(std.GatherConfig{Axis: axis}, x, s.Const("index", dtype.Scalar(int64(i)))).Out(0)
	}
	split := func(s speller, x *nn.Value, axis, size int) *nn.Node {
		return s.NodeN(std.SplitConfig{Axis: axis}, 3, x, s.Ints("sizes", size, size, size))
	}
	return []spelling{
		{"parts unbound", "3,5,24", func(s speller, in ...*nn.Value) *nn.Value {
			x := split(s, s.turn(s.on("Reshape", in[0], []int{-1, 5, 3, 2, 4}), 2, 0, 3, 1, 4), 0, 1)
			one := func(i int) *nn.Value { return s.on("Squeeze", x.Out(i), []int{0}) }
			return join(s, attend(s, one(0), one(1), one(2)))
		}, "PackedAttention Reshape"},
		{"parts picked, values first", "3,5,24", func(s speller, in ...*nn.Value) *nn.Value {
			x := s.turn(s.on("Reshape", in[0], []int{-1, 5, 3, 2, 4}), 2, 0, 3, 1, 4)
			return attend(s, third(s, x, 0, -1), third(s, x, 0, 1), third(s, x, 0, 0))
		}, "PackedAttention"},
		{"parts cut, then heads", "3,5,24", func(s speller, in ...*nn.Value) *nn.Value {
			x := split(s, in[0], 2, 8)
			one := func(i int) *nn.Value { return s.turn(s.on("Reshape", x.Out(i), []int{0, 0, 2, 4}), 0, 2, 1, 3) }
			return join(s, attend(s, one(0), one(1), one(2)))
		}, "PackedAttention Reshape"},
		{"heads, then parts", "3,5,24", func(s speller, in ...*nn.Value) *nn.Value {
			x := s.turn(s.on("Reshape", in[0], []int{0, 0, 2, 12}), 0, 2, 1, 3)
			one := func(i int) *nn.Value { return s.on("Slice", x, []int{4 * i}, []int{4*i + 4}, []int{3}) }
			return attend(s, one(0), one(1), one(2))
		}, "PackedAttention"},
		{"rows come first", "5,3,24", func(s speller, in ...*nn.Value) *nn.Value {
			x := s.turn(s.on("Reshape", in[0], []int{5, 3, 3, 2, 4}), 2, 1, 3, 0, 4)
			return attend(s, third(s, x, 0, 0), third(s, x, 0, 1), third(s, x, 0, 2))
		}, "PackedAttention"},
		{"keys are the values", "3,5,16", func(s speller, in ...*nn.Value) *nn.Value {
			x := s.turn(s.on("Reshape", in[0], []int{-1, 5, 2, 2, 4}), 2, 0, 3, 1, 4)
			return attend(s, third(s, x, 0, 0), third(s, x, 0, 1), third(s, x, 0, 1))
		}, "Gather Gather Gather HeadAttention Reshape Transpose"},
		{"more than three parts", "3,5,32", func(s speller, in ...*nn.Value) *nn.Value {
			x := s.turn(s.on("Reshape", in[0], []int{-1, 5, 4, 2, 4}), 2, 0, 3, 1, 4)
			return attend(s, third(s, x, 0, 0), third(s, x, 0, 1), third(s, x, 0, 2))
		}, "Gather Gather Gather HeadAttention Reshape Transpose"},
		{"depth turned", "3,5,24", func(s speller, in ...*nn.Value) *nn.Value {
			x := s.turn(s.on("Reshape", in[0], []int{-1, 5, 3, 4, 2}), 2, 0, 4, 1, 3)
			return attend(s, third(s, x, 0, 0), third(s, x, 0, 1), third(s, x, 0, 2))
		}, "Gather Gather Gather HeadAttention Reshape Transpose"},
	}
}

func reorderSpellings() []spelling {
	piece := func(s speller, x *nn.Value, axis, from, to int) *nn.Value {
		return s.on("Slice", x, []int{from}, []int{to}, []int{axis})
	}
	join := func(s speller, axis int, in ...any) *nn.Value { return s.with(std.ConcatConfig{Axis: axis}, in...) }
	return []spelling{
		{"gates in another order", "8,3", func(s speller, in ...*nn.Value) *nn.Value {
			return join(s, 0, piece(s, in[0], 0, 0, 2), piece(s, in[0], 0, 6, 100), piece(s, in[0], 0, 2, 6))
		}, "Reorder"},
		{"some pieces, last axis", "2,8", func(s speller, in ...*nn.Value) *nn.Value {
			return join(s, -1, piece(s, in[0], -1, -3, 8), piece(s, in[0], 1, 1, 3))
		}, "Reorder"},
		{"overlapping pieces", "8", func(s speller, in ...*nn.Value) *nn.Value {
			return join(s, 0, piece(s, in[0], 0, 0, 5), piece(s, in[0], 0, 4, 8))
		}, "Concat Slice Slice"},
		{"pieces of two values", "8 8", func(s speller, in ...*nn.Value) *nn.Value {
			return join(s, 0, piece(s, in[0], 0, 0, 5), piece(s, in[1], 0, 4, 8))
		}, "Concat Slice Slice"},
		{"joined along another axis", "2,8", func(s speller, in ...*nn.Value) *nn.Value {
			return join(s, 0, piece(s, in[0], 1, 0, 4), piece(s, in[0], 1, 4, 8))
		}, "Concat Slice Slice"},
		{"pieces with steps", "8", func(s speller, in ...*nn.Value) *nn.Value {
			return join(s, 0, s.on("Slice", in[0], []int{0}, []int{8}, []int{0}, []int{2}), piece(s, in[0], 0, 1, 2))
		}, "Concat Slice Slice"},
	}
}

func lossSpellings() []spelling {
	loss := func(shape string, axis int, want string) spelling {
		return spelling{"cross entropy over axis " + fmt.Sprint(axis, " of ", shape), shape, func(s speller, in ...*nn.Value) *nn.Value {
			labels := s.with(std.ArgMaxConfig{Axis: 1, KeepDims: new(bool)}, s.on("Sin", in[0]))
			soft := s.with(std.LogSoftmaxConfig{Axis: &axis}, in[0])
			return s.with(std.NegativeLogLikelihoodLossConfig{Reduction: "none"}, soft, labels, s.weight("class weights", in[0].Type().Sizes()[1]))
		}, want}
	}
	return []spelling{
		loss("5,4", -1, "ArgMax Sin SoftmaxCrossEntropyLoss"),
		loss("5,4", 0, "ArgMax LogSoftmax NegativeLogLikelihoodLoss Sin"),
		loss("2,4,3", 1, "ArgMax Sin SoftmaxCrossEntropyLoss"),
		loss("2,4,3", 2, "ArgMax LogSoftmax NegativeLogLikelihoodLoss Sin"),
	}
}
