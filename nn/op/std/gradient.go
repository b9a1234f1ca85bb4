package std

import (
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// GradientConfig has the attributes of Gradient: names of values of the graph around the node. The node's inputs
// are values for Xs, followed by Zs.
type GradientConfig struct {
	Xs []string `onnx:"xs,required"` // values to differentiate with respect to
	Y  string   `onnx:"y,required"`  // value to differentiate, summed over its elements
	Zs []string `onnx:"zs"`          // other values that Y depends on
}

// Operator makes GradientConfig a Config.
func (GradientConfig) Operator() op.Name { return op.Name{Domain: trainingDomain, Name: "Gradient"} }

// Refers makes GradientConfig a Referrer.
func (cfg GradientConfig) Refers() []string {
	return append(append(append([]string(nil), cfg.Xs...), cfg.Zs...), cfg.Y)
}

// Referring makes GradientConfig a Referrer. It panics if there are fewer names than Refers returns.
func (cfg GradientConfig) Referring(names []string) op.Config {
	x, z := len(cfg.Xs), len(cfg.Xs)+len(cfg.Zs)
	if len(names) <= z {
		panic("std: GradientConfig.Referring takes as many names as Refers gives")
	}
	return GradientConfig{Xs: names[:x:x], Zs: names[x:z:z], Y: names[z]}
}

// Referrer is a Config that names values of the graph around its node. Like values captured by a subgraph, these
// follow the node's inputs.
type Referrer interface {
	op.Config
	// Refers returns the names.
	Refers() []string
	// Referring returns the configuration with the names replaced by as many others, in the same order.
	Referring(names []string) op.Config
}

// gradients are Gradient in its domain, and in the one under which pytorch-pfn-extras writes it.
func gradients() []*op.Op {
	of := func(domain string) *op.Op {
		return &op.Op{
			Domain: domain, Name: "Gradient", Since: []int{1}, Doc: "Differentiates a part of the graph it stands in.",
			In: "Inputs* any", Out: "Outputs* any", Attrs: GradientConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				cfg := c.Config.(GradientConfig)
				if n := len(cfg.Xs) + len(cfg.Zs); len(c.In) < n {
					return nil, c.Errorf("has %d inputs for %d names", len(c.In), n)
				}
				if c.Outputs > len(cfg.Xs) {
					return nil, c.Errorf("has %d outputs, xs names %d values", c.Outputs, len(cfg.Xs))
				}
				for i, t := range c.In[:len(cfg.Xs)] {
					if t.Present() && !op.Differentiable(t) {
						return nil, c.Mismatch(i, "a tensor of floating-point numbers", t)
					}
				}
				return c.In[:c.Outputs], nil
			},
			Lower: func(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
				if c.Derive == nil {
					return nil, c.Errorf("differentiates the graph around it: it cannot be run by itself")
				}
				out, err := c.Derive(in)
				return out[:min(c.Outputs, len(out))], err
			},
			Pinned: "the graph it differentiates may compute anything",
		}
	}
	return []*op.Op{of(trainingDomain), of(previewDomain)}
}
