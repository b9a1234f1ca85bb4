package contrib

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/std"
)

// LayerNormalizationConfig has the attributes of LayerNormalization in this domain.
type LayerNormalizationConfig std.LayerNormalizationConfig

// Operator names the operator.
func (LayerNormalizationConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "LayerNormalization"}
}

// SimplifiedLayerNormalizationConfig has the attributes of SimplifiedLayerNormalization, of the standard's domain.
type SimplifiedLayerNormalizationConfig struct {
	Axis      *int     `onnx:"axis"` // nil: the last
	Epsilon   *float32 `onnx:"epsilon"`
	StashType op.DType `onnx:"stash_type,default=float32"`
}

// Operator names the operator.
func (SimplifiedLayerNormalizationConfig) Operator() op.Name {
	return op.Name{Name: "SimplifiedLayerNormalization"}
}

// SkipLayerNormalizationConfig has the attribute of SkipLayerNormalization.
type SkipLayerNormalizationConfig struct {
	Epsilon *float32 `onnx:"epsilon"` // nil: 1e-12
}

// Operator names the operator.
func (SkipLayerNormalizationConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "SkipLayerNormalization"}
}

// SkipSimplifiedLayerNormalizationConfig has the attribute of SkipSimplifiedLayerNormalization.
type SkipSimplifiedLayerNormalizationConfig SkipLayerNormalizationConfig

// Operator names the operator.
func (SkipSimplifiedLayerNormalizationConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "SkipSimplifiedLayerNormalization"}
}

// GroupNormConfig has the attributes of GroupNorm.
type GroupNormConfig struct {
	Activation   int      `onnx:"activation,required"` // 0: none; 1: SiLU follows
	ChannelsLast *bool    `onnx:"channels_last"`       // X is [N, H, W, C]; nil: true
	Epsilon      *float32 `onnx:"epsilon"`
	Groups       int      `onnx:"groups,required"` // must divide the number of channels
}

// Operator names the operator.
func (GroupNormConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "GroupNorm"} }

// SkipGroupNormConfig has the attributes of SkipGroupNorm, which are those of GroupNorm.
type SkipGroupNormConfig GroupNormConfig

// Operator names the operator.
func (SkipGroupNormConfig) Operator() op.Name { return op.Name{Domain: Domain, Name: "SkipGroupNorm"} }

func normalizations() []*op.Op {
	floats := op.Where{"T": op.Floats(), "M": op.Floats(), "U": op.Floats(), "V": op.Floats()}
	const skipOut = "output T, mean? U, inv_std_var? U, input_skip_bias_sum? T"
	return []*op.Op{
		composed(op.Op{Name: "LayerNormalization", Doc: "LayerNormalization, before the standard had it.",
			In: "X T, Scale V weight, B? V weight", Out: "Y V, Mean? U, InvStdDev? U", Where: floats, Attrs: LayerNormalizationConfig{},
			Couple: func(c *op.Call) []coupling.Coupling {
				return couplingsAs(c, std.LayerNormalizationConfig(c.Config.(LayerNormalizationConfig)), 3)
			}},
			func(e *expression, in []value) []value {
				return e.doN(max(e.c.Outputs, 1), std.LayerNormalizationConfig(e.c.Config.(LayerNormalizationConfig)), in...)
			}),
		expressed(op.Op{Name: "SimplifiedLayerNormalization", Doc: "RMSNormalization, before the standard had it.",
			In: "X T, scale V weight", Out: "Y V, inv_std_var? U", Where: floats, Attrs: SimplifiedLayerNormalizationConfig{},
			Couple: func(c *op.Call) []coupling.Coupling {
				return couplingsAs(c, c.Config.(SimplifiedLayerNormalizationConfig).rms(), 2)
			}},
			func(e *expression, in []value) []value {
				cfg := e.c.Config.(SimplifiedLayerNormalizationConfig)
				y := e.do(cfg.rms(), in...)
				if !e.c.Wants(1) {
					return []value{y, {}}
				}
				return []value{y, e.inverseRMS(in[0], cfg.axis(), or(cfg.Epsilon, 1e-5))}
			}),
		composed(op.Op{Name: "SkipLayerNormalization", Doc: "LayerNormalization of input + skip + bias over the last axis.",
			In: "input T, skip T, gamma T weight, beta? T weight, bias? T weight", Out: skipOut, Where: floats, Attrs: SkipLayerNormalizationConfig{},
			Couple: func(c *op.Call) []coupling.Coupling { return coupleSkipNorm(c, 3) }},
			func(e *expression, in []value) []value {
				last, eps := -1, float32(or(e.c.Config.(SkipLayerNormalizationConfig).Epsilon, 1e-12))
				sum := e.skipped(in[0], in[1], in[4])
				out := e.doN(3, std.LayerNormalizationConfig{Axis: &last, Epsilon: &eps}, sum, in[2], in[3])
				return append(out, sum)
			}),
		composed(op.Op{Name: "SkipSimplifiedLayerNormalization", Doc: "RMSNormalization of input + skip + bias over the last axis.",
			In: "input T, skip T, gamma T weight, bias? T weight", Out: skipOut, Where: floats, Attrs: SkipSimplifiedLayerNormalizationConfig{},
			Couple: func(c *op.Call) []coupling.Coupling { return coupleSkipNorm(c, 2) }},
			func(e *expression, in []value) []value {
				last, eps := -1, float32(or(e.c.Config.(SkipSimplifiedLayerNormalizationConfig).Epsilon, 1e-12))
				sum := e.skipped(in[0], in[1], in[3])
				out := []value{e.do(std.RMSNormalizationConfig{Axis: &last, Epsilon: &eps}, sum, in[2]), {}, {}, sum}
				if e.c.Wants(1) {
					out[1] = e.do(std.ReduceMeanConfig{}, sum, e.ints(-1))
				}
				if e.c.Wants(2) {
					out[2] = e.inverseRMS(sum, -1, float64(eps))
				}
				return out
			}),
		composed(op.Op{Name: "GroupNorm", Doc: "GroupNormalization of images, channels last or second, and SiLU on request.",
			In: "X T, gamma M weight, beta M weight", Out: "Y T", Where: floats, Attrs: GroupNormConfig{}, Pinned: "channels fall into groups"},
			func(e *expression, in []value) []value {
				return []value{e.groupNorm(e.c.Config.(GroupNormConfig), in[0], in[1], in[2])}
			}),
		composed(op.Op{Name: "SkipGroupNorm", Doc: "GroupNorm of X + skip + bias.",
			In: "X T, gamma M weight, beta M weight, skip T, bias? T weight", Out: "Y T, S? T", Where: floats, Attrs: SkipGroupNormConfig{}, Pinned: "channels fall into groups"},
			skipGroupNorm),
	}
}

func (c SimplifiedLayerNormalizationConfig) axis() int {
	if c.Axis == nil {
		return -1
	}
	return *c.Axis
}

func (c SimplifiedLayerNormalizationConfig) rms() std.RMSNormalizationConfig {
	return std.RMSNormalizationConfig{Axis: c.Axis, Epsilon: c.Epsilon, StashType: c.StashType}
}

// inverseRMS is 1/√(mean of squares + eps) over the axes from axis on, which stay with length 1.
func (e *expression) inverseRMS(x value, axis int, eps float64) value {
	axis, err := e.c.Axis(axis, len(x.typ.Shape))
	if err != nil {
		e.fail(err)
		return value{}
	}
	var axes []int
	for a := axis; a < len(x.typ.Shape); a++ {
		axes = append(axes, a)
	}
	square := e.do(std.ReduceMeanConfig{}, e.mul(x, x), e.ints(axes...))
	return e.do(op.Plain("Reciprocal"), e.do(op.Plain("Sqrt"), e.add(square, e.number(x, eps))))
}

// skipped returns the sum that is normalized.
func (e *expression) skipped(x, skip, bias value) value {
	sum := e.add(x, skip)
	if bias.there() {
		sum = e.add(sum, bias)
	}
	return sum
}

// coupleSkipNorm ties the operands of the sum and the results axis by axis, the last through the normalization, and the
// vectors, which begin at input 2, to the last axis.
func coupleSkipNorm(c *op.Call, vectors int) []coupling.Coupling {
	last := len(c.In[0].Shape) - 1
	if last < 0 {
		return nil
	}
	list := op.CoupleAll(c, 1)
	for _, k := range op.CoupleAll(c, 0) {
		if k.To.Axis == last {
			k.Map.Relation = coupling.Norm
		}
		list = append(list, k)
	}
	for i := range vectors {
		if c.Has(2 + i) {
			list = append(list, op.Couple(coupling.In(2+i, 0), coupling.Out(0, last)))
		}
	}
	if c.Wants(3) {
		for a := range c.In[0].Shape {
			list = append(list, op.Couple(coupling.In(0, a), coupling.Out(3, a)))
		}
	}
	return list
}

// groupNorm normalizes x; gamma and beta are vectors of its channels.
func (e *expression) groupNorm(c GroupNormConfig, x, gamma, beta value) value {
	last := c.ChannelsLast == nil || *c.ChannelsLast
	if last {
		x = e.channelsFirst(x)
	}
	t := x.typ.DType
	norm := std.GroupNormalizationConfig{NumGroups: c.Groups, Epsilon: c.Epsilon}
	y := e.do(norm, x, e.cast(gamma, t), e.cast(beta, t))
	if c.Activation == 1 {
		y = e.do(std.SwishConfig{}, y)
	}
	if last {
		y = e.channelsBehind(y)
	}
	return y
}

// skipGroupNorm adds the skip connection, [N, H, W, C], or [N, C] or [N, 1, 1, C] for all pixels, and the bias.
func skipGroupNorm(e *expression, in []value) []value {
	x, skip := in[0], in[3]
	if len(skip.typ.Shape) == 2 {
		skip = e.reshape(skip, skip.dim(0), op.D(1), op.D(1), skip.dim(1))
	}
	sum := e.skipped(x, skip, in[4])
	return []value{e.groupNorm(GroupNormConfig(e.c.Config.(SkipGroupNormConfig)), sum, in[1], in[2]), sum}
}
