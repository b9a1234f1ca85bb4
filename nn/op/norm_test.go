package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

func TestSoftmax(t *testing.T) {
	x := optest.Rand(1, 2, 3, 4)
	optest.Run(t,
		optest.Case{Name: "last", Config: op.SoftmaxConfig{}, In: values(x)},
		optest.Case{Name: "axis", Config: op.SoftmaxConfig{Axis: integer(1)}, In: values(x)},
		optest.Case{Name: "axis 0", Config: op.SoftmaxConfig{Axis: integer(0)}, In: values(x)},
		optest.Case{Name: "flattened", Config: op.SoftmaxConfig{}, In: values(x), Version: 11},
		optest.Case{Name: "old axis", Config: op.SoftmaxConfig{Axis: integer(2)}, In: values(x), Version: 1},
		optest.Case{Name: "log last", Config: op.LogSoftmaxConfig{}, In: values(x)},
		optest.Case{Name: "log axis", Config: op.LogSoftmaxConfig{Axis: integer(-2)}, In: values(x)},
		optest.Case{Name: "log flattened", Config: op.LogSoftmaxConfig{}, In: values(x), Version: 1},
		optest.Case{Name: "hard", Config: op.HardmaxConfig{}, In: values(optest.Floats([]int{2, 3}, 1, 3, 3, 0, -1, -2)),
			Want: values(optest.Floats([]int{2, 3}, 0, 1, 0, 1, 0, 0))},
		optest.Case{Name: "hard axis", Config: op.HardmaxConfig{Axis: integer(0)}, In: values(optest.Floats([]int{2, 3}, 1, 3, 3, 2, -1, -2)),
			Want: values(optest.Floats([]int{2, 3}, 0, 1, 1, 1, 0, 0))},
		optest.Case{Name: "hard flattened", Config: op.HardmaxConfig{}, In: values(optest.Spread(1, -1, 1, 2, 2, 2)), Version: 11},
	)
	optest.Fails(t, optest.Case{Name: "axis", Config: op.SoftmaxConfig{Axis: integer(3)}, In: values(x)})
}

func TestBatchNormalization(t *testing.T) {
	args := func(shape ...int) []dtype.Value {
		n := shape[1]
		return values(optest.Rand(1, shape...), optest.Rand(2, n), optest.Rand(3, n), optest.Rand(4, n), optest.Spread(5, 0.5, 2, n))
	}
	element := values(optest.Rand(1, 4, 2, 3), optest.Rand(2, 2, 3), optest.Rand(3, 2, 3), optest.Rand(4, 2, 3), optest.Spread(5, 0.5, 2, 2, 3))
	bn := op.BatchNormalizationConfig{Epsilon: 1e-3}
	training := op.BatchNormalizationConfig{TrainingMode: true, Momentum: number(0.75)}
	optest.Run(t,
		optest.Case{Name: "eval", Config: bn, In: args(2, 3, 4, 2)},
		optest.Case{Name: "eval matrix", Config: bn, In: args(4, 3)},
		optest.Case{Name: "train", Config: bn, In: args(3, 2, 4), Train: true, NoCut: "statistics"},
		optest.Case{Name: "training mode", Config: training, In: args(3, 2, 4), Outputs: 3, NoGrad: "running statistics have none", NoCut: "statistics"},
		optest.Case{Name: "training mode gradient", Config: training, In: args(3, 2, 4), NoCut: "statistics"},
		optest.Case{Name: "five outputs", Config: bn, In: args(2, 3, 4), Outputs: 5, Version: 9, NoGrad: "running statistics have none"},
		optest.Case{Name: "element", Config: op.BatchNormalizationConfig{Spatial: integer(0)}, In: element, Version: 7},
		optest.Case{Name: "element train", Config: op.BatchNormalizationConfig{Spatial: integer(0), IsTest: true, ConsumedInputs: []int{0}}, In: element, Version: 1, Train: true, NoCut: "statistics"},
		optest.Case{Name: "mixed", Config: bn, In: append(values(optest.As(dtype.Float16, optest.Rand(1, 2, 3, 2))), args(2, 3)[1:]...), NoLow: "is low", NoGrad: "float16", Tol: 2e-3},
	)
	c := optest.Case{Name: "scale", Config: bn, In: args(2, 3, 4)}
	c.In[1] = optest.Rand(1, 4)
	optest.Fails(t, c)
	optest.Fails(t, optest.Case{Name: "outputs", Config: bn, In: args(2, 3, 4), Outputs: 5})
}

func TestBatchNormalizationState(t *testing.T) {
	in := values(optest.Floats([]int{2, 1}, 1, 3), optest.Floats([]int{1}, 1), optest.Floats([]int{1}, 0), optest.Floats([]int{1}, 10), optest.Floats([]int{1}, 20))
	c := optest.Case{Config: op.BatchNormalizationConfig{TrainingMode: true, Momentum: number(0.75)}, In: in, Outputs: 3,
		Want: values(nil, optest.Floats([]int{1}, 8), optest.Floats([]int{1}, 15.25)), NoGrad: "no", NoCut: "statistics"}
	optest.Run(t, c)
	call := op.NewCall(op.Fill(op.BatchNormalizationConfig{}), op.TypeOf(in[0]), op.TypeOf(in[1]), op.TypeOf(in[2]), op.TypeOf(in[3]), op.TypeOf(in[4]))
	if s := call.Op.State(call); s != nil {
		t.Errorf("inference updates state: %v", s)
	}
	call.Train = true
	if err := call.Resolve(); err != nil {
		t.Fatal(err)
	}
	for _, u := range call.Op.State(call) {
		if call.Out[u.Out].String() != call.In[u.In].String() {
			t.Errorf("output %d is %v, input %d %v", u.Out, call.Out[u.Out], u.In, call.In[u.In])
		}
	}
}

func TestGroupNormalization(t *testing.T) {
	x := func(shape ...int) dtype.Value { return optest.Rand(1, shape...) }
	optest.Run(t,
		optest.Case{Name: "instance", Config: op.InstanceNormalizationConfig{Epsilon: 1e-2}, In: values(x(2, 3, 4, 2), optest.Rand(2, 3), optest.Rand(3, 3))},
		optest.Case{Name: "old instance", Config: op.InstanceNormalizationConfig{ConsumedInputs: []int{0}}, In: values(x(2, 3, 4), optest.Rand(2, 3), optest.Rand(3, 3)), Version: 1},
		optest.Case{Name: "group", Config: op.GroupNormalizationConfig{NumGroups: 2, Epsilon: 1e-2, StashType: 1}, In: values(x(2, 4, 3), optest.Rand(2, 4), optest.Rand(3, 4)), NoCut: "statistics"},
		optest.Case{Name: "per group", Config: op.GroupNormalizationConfig{NumGroups: 2}, In: values(x(2, 4, 3), optest.Rand(2, 2), optest.Rand(3, 2)), Version: 18, NoCut: "statistics"},
	)
	optest.Fails(t, optest.Case{Name: "groups", Config: op.GroupNormalizationConfig{NumGroups: 3}, In: values(x(2, 4, 3), optest.Rand(2, 4), optest.Rand(3, 4))})
	optest.Fails(t, optest.Case{Name: "none", Config: op.GroupNormalizationConfig{NumGroups: -1}, In: values(x(2, 4, 3), optest.Rand(2, 4), optest.Rand(3, 4))})
}

func TestLayerNormalization(t *testing.T) {
	x := optest.Rand(1, 3, 2, 4)
	s := func(shape ...int) dtype.Value { return optest.Rand(2, shape...) }
	cfg := op.LayerNormalizationConfig{Axis: integer(1), Epsilon: 1e-3}
	optest.Run(t,
		optest.Case{Name: "last", Config: op.LayerNormalizationConfig{}, In: values(x, s(4), s(4))},
		optest.Case{Name: "axes", Config: cfg, In: values(x, s(2, 4))},
		optest.Case{Name: "outputs", Config: cfg, In: values(x, s(2, 4), s(2, 4)), Outputs: 3, NoLow: "Mean stays float32", NoGrad: "as does its difference"},
		optest.Case{Name: "only mean", Config: op.LayerNormalizationConfig{StashType: dtype.Float64}, In: values(x, s(4)), Outputs: 2, Skip: []int{0}},
		optest.Case{Name: "broadcast scale", Config: cfg, In: values(x, s(2, 1), s(1, 1, 4))},
		optest.Case{Name: "stash", Config: op.LayerNormalizationConfig{StashType: dtype.Float64}, In: values(x, s(4)), Outputs: 3},
		optest.Case{Name: "rms", Config: op.RMSNormalizationConfig{}, In: values(x, s(4))},
		optest.Case{Name: "rms axes", Config: op.RMSNormalizationConfig{Axis: integer(-2), Epsilon: 1e-3, StashType: dtype.Float64}, In: values(x, s(4))},
	)
	optest.Fails(t, optest.Case{Name: "scale", Config: op.LayerNormalizationConfig{}, In: values(x, s(3))})
	optest.Fails(t, optest.Case{Name: "scale over the batch", Config: op.LayerNormalizationConfig{}, In: values(x, s(3, 2, 4))})
	optest.Fails(t, optest.Case{Name: "axis", Config: op.LayerNormalizationConfig{Axis: integer(3)}, In: values(x, s(3))})
}

func TestOtherNormalizations(t *testing.T) {
	x := optest.Spread(1, -2, 2, 2, 3, 4, 2)
	optest.Run(t,
		optest.Case{Name: "L2", Config: op.LpNormalizationConfig{}, In: values(x)},
		optest.Case{Name: "L1", Config: op.LpNormalizationConfig{P: 1, Axis: integer(1)}, In: values(x)},
		optest.Case{Name: "nothing", Config: op.LpNormalizationConfig{}, In: values(optest.Floats([]int{2}, 0, 0)), Want: values(optest.Floats([]int{2}, 0, 0)), NoGrad: "a kink"},
		optest.Case{Name: "mean variance", Config: op.MeanVarianceNormalizationConfig{}, In: values(x)},
		optest.Case{Name: "mean variance axes", Config: op.MeanVarianceNormalizationConfig{Axes: []int{-1, 1}}, In: values(x)},
		optest.Case{Name: "LRN", Config: op.LRNConfig{Size: 3, Alpha: 0.1}, In: values(optest.Rand(1, 2, 6, 3))},
		optest.Case{Name: "LRN all", Config: op.LRNConfig{Size: 2, Alpha: 0.5, Beta: number(0.5), Bias: number(2)}, In: values(optest.Rand(1, 2, 5, 2, 2))},
	)
	optest.Fails(t, optest.Case{Name: "p", Config: op.LpNormalizationConfig{P: 3}, In: values(x)})
	optest.Fails(t, optest.Case{Name: "size", Config: op.LRNConfig{Size: -1}, In: values(x)})
	optest.Fails(t, optest.Case{Name: "axes", Config: op.MeanVarianceNormalizationConfig{Axes: []int{1, 1}}, In: values(x)})
}

func TestFlatten(t *testing.T) {
	x := optest.Rand(1, 2, 3, 4)
	for _, axis := range []*int{nil, integer(0), integer(2), integer(-1), integer(3)} {
		optest.Run(t, optest.Case{Config: op.FlattenConfig{Axis: axis}, In: values(x)})
	}
	optest.Run(t, optest.Case{Name: "rank 0", Config: op.FlattenConfig{Axis: integer(0)}, In: values(optest.Floats(nil, 3)), Want: values(optest.Floats([]int{1, 1}, 3))})
	optest.Fails(t, optest.Case{Name: "axis", Config: op.FlattenConfig{Axis: integer(4)}, In: values(x)})
}
