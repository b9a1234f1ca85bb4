package std

import (
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// SeluConfig has the attributes of Selu; nil is the self-normalizing value of the version.
type SeluConfig struct {
	Alpha *float32 `onnx:"alpha"` // about 1.6733 when nil
	Gamma *float32 `onnx:"gamma"` // about 1.0507 when nil
}

// Operator makes SeluConfig a Config.
func (SeluConfig) Operator() op.Name { return op.Name{Name: "Selu"} }

func selu() []*op.Op {
	list := pointwiseOp{
		name: "Selu", doc: "gamma·x where positive, gamma·alpha·(e^x − 1) elsewhere.", since: []int{1, 6, 22}, attrs: SeluConfig{},
		traits: op.Traits{Zero: op.ZeroFirst, Activation: trait.HiddenActivation},
		of: func(c op.Config) pointwise {
			cfg := c.(SeluConfig)
			return exponential(elementwise.Exponential[float64]{
				Alpha: orFloat(cfg.Alpha, 1.67326319217681884765625), Gamma: orFloat(cfg.Gamma, 1.05070102214813232421875), Inner: 1})
		},
	}.ops()
	list[0].Check = func(c *op.Call) error {
		cfg := c.Config.(SeluConfig)
		if c.Version >= 6 {
			return nil
		}
		if cfg.Alpha == nil { // version 1 had fewer digits
			a := float32(1.6732)
			cfg.Alpha = &a
		}
		if cfg.Gamma == nil {
			g := float32(1.0507)
			cfg.Gamma = &g
		}
		c.Config = cfg
		return nil
	}
	return list
}
