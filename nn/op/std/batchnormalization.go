package std

import (
	"errors"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/norm"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// BatchNormalizationConfig has the attributes of BatchNormalization. Momentum is the weight of the old running
// statistics in the new ones, 0.9 when nil. Spatial is 1 when nil.
type BatchNormalizationConfig struct {
	ConsumedInputs []int    `onnx:"consumed_inputs,until=5"` // of no effect
	Epsilon        *float32 `onnx:"epsilon,nil=1e-05"`       // 1e-5 when nil
	IsTest         bool     `onnx:"is_test,until=6"`         // if false and there are five outputs, normalize by the statistics of the batch
	Momentum       *float32 `onnx:"momentum,nil=0.9"`
	Spatial        *int     `onnx:"spatial,until=8,nil=1"`  // 0: statistics per element instead of per channel
	TrainingMode   bool     `onnx:"training_mode,since=14"` // normalize by the statistics of the batch
}

// Operator makes BatchNormalizationConfig a Config.
func (BatchNormalizationConfig) Operator() op.Name { return op.Name{Name: "BatchNormalization"} }

// batchNormalization has five formal outputs because versions below 14 do; from then on there are three.
func batchNormalization() *op.Op {
	return &op.Op{
		Name: "BatchNormalization", Since: []int{1, 6, 7, 9, 14, 15}, Versions: batchNormVersions(), Expose: spelled(exposeBatchNorm),
		Doc:   "Normalizes channels by running statistics, or in training by those of the batch.",
		In:    "X T, scale T1 weight, B T1 weight, input_mean T2 state, input_var T2 state",
		Out:   "Y T, running_mean? T2, running_var? T2, saved_mean? T2, saved_var? T2",
		Where: op.Where{"T": op.Floats(), "T1": op.Floats(), "T2": op.Floats()}, Attrs: BatchNormalizationConfig{},
		Scheduling: op.Scheduling{
			InPlace:       []int{0},
			Patterns:      batchNormPatterns,
			Rematerialize: func(c *op.Call) *op.Rematerialization { return batchNormRematerialize(c, epilogue.List{}) },
		},
		Infer: inferBatchNorm, Hidden: batchNormHidden, Kernel: batchNormKernel, Grad: batchNormGrad,
		State: func(c *op.Call) []op.Update {
			if !batchStatistics(c) {
				return nil
			}
			return []op.Update{{Out: 7, In: 3}, {Out: 8, In: 4}}
		},
		Couple: coupleBatchNorm,
		Traits: batchNormTraits(),
	}
}

func batchNormTraits() op.Traits {
	t := normalized(trait.ChannelsFirst)
	says := func(training bool) func(op.Config) op.Config {
		return func(c op.Config) op.Config {
			cfg := c.(BatchNormalizationConfig)
			cfg.TrainingMode = training
			return cfg
		}
	}
	t.Training = &op.TrainingMode{Since: 14, Config: says(true), Off: says(false), Outputs: 3} // ONNX's shape inference wants all three
	t.LimitMomentum = func(c op.Config, limit float32) (op.Config, bool) {
		cfg := c.(BatchNormalizationConfig)
		if orFloat(cfg.Momentum, 0.9) <= float64(limit) {
			return c, false
		}
		cfg.Momentum = &limit
		return cfg, true
	}
	return t
}

// Outputs beyond Y: the running statistics as formal outputs and as hidden ones, which training
// assigns, and the statistics that Y was computed with.
const (
	bnRunningMean, bnRunningVar = 1, 2
	bnSavedMean, bnSavedVar     = 3, 4
	bnUsedMean, bnUsedVar       = 5, 6
	bnNextMean, bnNextVar       = 7, 8
)

// batchNormPatterns: with statistics that are given, it is a scale and a shift of each channel, which ends another
// kernel; with those of the batch, a sum and an activation join the pass that scales.
func batchNormPatterns(c *op.Call) []op.Pattern {
	m := batchNormOf(c)
	switch {
	case m.batch && channelEpilogue(c, &epilogue.Step{}) != nil:
		return []op.Pattern{&epilogue.Host{
			DType: c.In[0].DType, Channels: m.c,
			Kernel: func(e epilogue.List) op.Kernel {
				return floatKernel(c, batchNormTrain[float32](m, e), batchNormTrain[float64](m, e))
			},
			Rematerialize: func(e epilogue.List) *op.Rematerialization { return batchNormRematerialize(c, e) },
		}}
	case m.batch || perElement(c) || c.Outputs > 1:
		return nil
	}
	return channelEpilogue(c, &epilogue.Step{Kind: epilogue.Normalize, Slots: []int{0}, Epsilon: m.eps})
}

// batchStatistics reports whether the call computes mean and variance from X: in training, and in models with training_mode or,
// before version 14, with all five outputs.
func batchStatistics(c *op.Call) bool {
	cfg := c.Config.(BatchNormalizationConfig)
	return c.Train || cfg.TrainingMode || c.Outputs == 5 && !cfg.IsTest
}

// perElement reports whether there are statistics for every element rather than every channel.
func perElement(c *op.Call) bool {
	return c.Version < 9 && orInt(c.Config.(BatchNormalizationConfig).Spatial, 1) == 0
}

func inferBatchNorm(c *op.Call) ([]op.Type, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	if rank == 0 {
		return nil, c.Mismatch(0, "a batch", c.In[0])
	}
	n := op.D(1)
	if rank > 1 {
		n = c.In[0].Shape[1]
	}
	for i := 1; i < 5; i++ {
		if perElement(c) {
			if len(c.In[i].Shape) != rank-1 || op.Product(c.In[i].Shape).Differ(op.Product(c.In[0].Shape[1:])) {
				return nil, c.Mismatch(i, c.In[0].With(c.In[0].Shape[1:]...), c.In[i])
			}
		} else if err := channelVector(c, i, n); err != nil {
			return nil, err
		}
	}
	most := 5
	if c.Version >= 14 {
		most = 3
	}
	if c.Outputs > most {
		return nil, c.Errorf("has %d outputs, want at most %d", c.Outputs, most)
	}
	return []op.Type{c.In[0], c.In[3], c.In[4], c.In[3], c.In[4]}, nil
}

func batchNormHidden(c *op.Call) []op.Type {
	if !batchStatistics(c) {
		return nil
	}
	return []op.Type{c.In[3], c.In[4], c.In[3], c.In[4]}
}

// batchNorm is the geometry of a batch normalization.
type batchNorm struct {
	n, c, space int
	eps         float64
	batch       bool // statistics are those of the batch
	train       bool // the lowering is for training
	momentum    float64
}

func batchNormOf(c *op.Call) batchNorm {
	cfg := c.Config.(BatchNormalizationConfig)
	m := batchNorm{eps: orFloat(cfg.Epsilon, 1e-5), batch: batchStatistics(c), train: c.Train, momentum: orFloat(cfg.Momentum, 0.9)}
	m.n, m.c, m.space = channels(c.In[0])
	if perElement(c) {
		m.c, m.space = m.c*m.space, 1
	}
	return m
}

func batchNormKernel(c *op.Call) (op.Kernel, error) {
	m := batchNormOf(c)
	if m.batch {
		return mixedPrecision(c, batchNormTrain[float32](m, epilogue.List{}), batchNormTrain[float64](m, epilogue.List{})), nil
	}
	return mixedPrecision(c, batchNormEval[float32](m), batchNormEval[float64](m)), nil
}

func batchNormEval[T kernel.Float](m batchNorm) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		mean, variance := dtype.Elems[T](in[3]), dtype.Elems[T](in[4])
		if y := dtype.Elems[T](out[0]); y != nil {
			norm.BatchNorm(pool(x), m.n, m.c, m.space, T(m.eps), dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), mean, variance, y)
		}
		for _, i := range []int{bnRunningMean, bnSavedMean} {
			copy(dtype.ElemsAt[T](out, i), mean)
			copy(dtype.ElemsAt[T](out, i+1), variance)
		}
		return nil
	}
}

// batchNormRematerialize: with mean and variance available, the normalization is one product and sum.
func batchNormRematerialize(c *op.Call, e epilogue.List) *op.Rematerialization {
	m := batchNormOf(c)
	if !m.batch {
		return nil
	}
	return &op.Rematerialization{
		Kernel: mixedPrecision(c, batchNormOnce[float32](m, e), batchNormOnce[float64](m, e)),
		Needs:  []int{bnUsedMean, bnUsedVar},
		Spares: []int{3, 4}, // the running statistics
	}
}

// batchNormOnce is batchNormTrain with the mean and variance, which follow its inputs, already computed.
func batchNormOnce[T kernel.Float](m batchNorm, e epilogue.List) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		mean, variance := dtype.Elems[T](in[len(in)-2]), dtype.Elems[T](in[len(in)-1])
		norm.BatchNormRematerialize(pool(x), m.n, m.c, m.space, T(m.eps), dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), epilogue.AfterAffine[T](e, in), mean, variance, dtype.Elems[T](out[0]))
		return nil
	}
}

func batchNormTrain[T kernel.Float](m batchNorm, e epilogue.List) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		mean, variance := dtype.ElemsAt[T](out, bnUsedMean), dtype.ElemsAt[T](out, bnUsedVar)
		if mean == nil {
			mean = scratch[T](x)(m.c)
		}
		if variance == nil {
			variance = scratch[T](x)(m.c)
		}
		if m.n*m.space == 0 { // an empty batch has no statistics and leaves the running ones unchanged
			kernel.Copy(pool(x), mean, dtype.Elems[T](in[3]))
			kernel.Copy(pool(x), variance, dtype.Elems[T](in[4]))
		} else if y := dtype.Elems[T](out[0]); y != nil {
			end := epilogue.AfterAffine[T](e, in)
			norm.BatchNormTrain(pool(x), m.n, m.c, m.space, T(m.eps), dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), end, mean, variance, y)
		} else {
			norm.ChannelMoments(pool(x), m.n, m.c, m.space, dtype.Elems[T](in[0]), mean, variance)
		}
		copyIf(x, dtype.ElemsAt[T](out, bnSavedMean), mean)
		copyIf(x, dtype.ElemsAt[T](out, bnSavedVar), variance)
		for _, i := range []int{bnRunningMean, bnNextMean} {
			mix(x, dtype.ElemsAt[T](out, i), dtype.Elems[T](in[3]), mean, T(m.momentum))
			mix(x, dtype.ElemsAt[T](out, i+1), dtype.Elems[T](in[4]), variance, T(m.momentum))
		}
		return nil
	}
}

// mix computes dst = old·m + batch·(1−m), unless dst is nil.
func mix[T kernel.Float](x *op.Exec, dst, old, batch []T, m T) {
	pool(x).Range(len(dst), kernel.ElementGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] = old[i]*m + batch[i]*(1-m)
		}
	})
}

// bnGrad is the configuration of BatchNormalizationGrad.
type bnGrad struct{ Norm batchNorm }

func (bnGrad) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "BatchNormalizationGrad"} }

func batchNormalizationGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "BatchNormalizationGrad", Since: []int{1}, Decompose: spelled(spellBatchNormGrad), Doc: "Gradient of BatchNormalization.",
		In: "dY T, X T, scale T1, mean T2, var T2", Out: "dX T, dscale T1, dB T1",
		Where: op.Where{"T": op.Floats(), "T1": op.Floats(), "T2": op.Floats()}, Attrs: bnGrad{},
		Infer:       func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0], c.In[2], c.In[2]}, nil },
		GradMissing: op.NotTwice, Pinned: "gradient",
		Scheduling: op.Scheduling{
			InPlace: []int{0},
			Patterns: func(c *op.Call) []op.Pattern {
				if channelEpilogue(c, &epilogue.Step{}) == nil {
					return nil
				}
				return []op.Pattern{&gated{kernel: func(g gate) op.Kernel {
					m := c.Config.(bnGrad).Norm
					return floatKernel(c, batchNormBackGated[float32](m, g), batchNormBackGated[float64](m, g))
				}, dtype: c.In[0].DType}}
			},
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			m := c.Config.(bnGrad).Norm
			return mixedPrecision(c, batchNormBack[float32](m), batchNormBack[float64](m)), nil
		},
	}
}

func batchNormBack[T kernel.Float](m batchNorm) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		batchNormBackward(x, m, out, in[0], in[1:], norm.Gate[T]{})
		return nil
	}
}

// batchNormBackGated runs with the inputs of a gate before its own.
func batchNormBackGated[T kernel.Float](m batchNorm, g gate) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		batchNormBackward(x, m, out, in[0], in[g.inputs:], gateOf[T](g, in))
		return nil
	}
}

// batchNormBackward: in are x, scale, mean and variance.
func batchNormBackward[T kernel.Float](x *op.Exec, m batchNorm, out []*tensor.Dense, dy *tensor.Dense, in []*tensor.Dense, g norm.Gate[T]) {
	norm.BatchNormGrad(pool(x), m.n, m.c, m.space, T(m.eps), m.batch, dtype.Elems[T](in[0]), dtype.Elems[T](dy), g, dtype.Elems[T](in[1]),
		dtype.Elems[T](in[2]), dtype.Elems[T](in[3]), dtype.Elems[T](out[0]), dtype.ElemsAt[T](out, 1), dtype.ElemsAt[T](out, 2))
}

// batchNormGrad: given statistics have gradients like scale and B, as they may have been computed. Running ones that the
// batch's replace have none.
func batchNormGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	if dout[0] == nil {
		return nil, nil
	}
	m, mean, variance := batchNormOf(c), in[3], in[4]
	if m.batch {
		return c.ApplyN(3, bnGrad{m}, dout[0], in[0], in[1], out[bnUsedMean], out[bnUsedVar])
	}
	d, err := c.ApplyN(3, bnGrad{m}, dout[0], in[0], in[1], mean, variance)
	if err != nil {
		return nil, err
	}
	dmean, dvar, err := batchNormGivenGrad(c, d, in[1], variance)
	return append(d, dmean, dvar), err
}

// batchNormGivenGrad: with r = 1/√(var+ε) the derivative by the mean is −scale·r·dB, that by the variance −scale·r²·dscale/2.
func batchNormGivenGrad(c *op.Call, d gorgonia.Nodes, scale, variance *gorgonia.Node) (dmean, dvar *gorgonia.Node, err error) {
	b, t := composeOn(c, gorgonia.Nodes{scale}), c.In[3].DType
	spread := b.do(op.Plain("Add"), variance, b.try(op.Scalar(b.g, t, batchNormOf(c).eps)))
	scale = b.cast(scale, t)
	dmean = b.do(op.Plain("Neg"), b.do(op.Plain("Div"), b.do(op.Plain("Mul"), scale, b.cast(d[2], t)), b.do(op.Plain("Sqrt"), spread)))
	dvar = b.scale(b.do(op.Plain("Div"), b.do(op.Plain("Mul"), scale, b.cast(d[1], t)), spread), -0.5)
	return dmean, dvar, b.err
}

func coupleBatchNorm(c *op.Call) []coupling.Coupling {
	list := op.CoupleAll(c, 0)
	if len(c.In[0].Shape) < 2 || perElement(c) {
		return list[:min(1, len(list))]
	}
	for i := 1; i < 5; i++ {
		list = append(list, op.Couple(coupling.In(i, 0), coupling.Out(0, 1)))
	}
	for i := 1; i < c.Outputs; i++ {
		if c.Wants(i) {
			list = append(list, op.Couple(coupling.Out(i, 0), coupling.Out(0, 1)))
		}
	}
	if batchStatistics(c) {
		for i := range list {
			if list[i].From != (coupling.Axis{Axis: 1}) && list[i].From.Slot == 0 && !list[i].From.Output {
				list[i].Map.Relation = coupling.Norm
			}
		}
	}
	return list
}

// batchNormVersions: before version 7 the attribute is_test selects inference; before 9 statistics may be per element.
func batchNormVersions() []op.Version {
	test := func(on bool) func(*op.Spelling) error {
		return op.OnConfig(func(n *op.Spelling, c *BatchNormalizationConfig) error { c.IsTest = on; return oneOutput(n) })
	}
	spatial := op.OnConfig(func(n *op.Spelling, c *BatchNormalizationConfig) error {
		if orInt(c.Spatial, 1) != 1 {
			return errors.New("it normalizes every element by itself")
		}
		c.Spatial = nil
		return nil
	})
	return []op.Version{{At: 7, Up: test(false), Down: test(true)}, {At: 9, Up: spatial}, {At: 14, Up: oneOutput, Down: oneOutput}}
}
