package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// trainingDomain is the domain of ONNX's training operators.
const trainingDomain = "ai.onnx.preview.training"

// AdagradConfig has the attributes of Adagrad.
type AdagradConfig struct {
	Decay   float32  `onnx:"decay_factor,default=0"`     // the learning rate is R/(1 + T·Decay) in step T
	Epsilon *float32 `onnx:"epsilon"`                    // added to the denominator; 1e-6 when nil
	Norm    float32  `onnx:"norm_coefficient,default=0"` // of the L2 penalty: Norm·X is added to the gradient
}

// Operator makes AdagradConfig a Config.
func (AdagradConfig) Operator() op.Name { return op.Name{Domain: trainingDomain, Name: "Adagrad"} }

// AdamConfig has the attributes of Adam.
type AdamConfig struct {
	Alpha    *float32 `onnx:"alpha"`                           // decay of the running mean of the gradient; 0.9 when nil
	Beta     *float32 `onnx:"beta"`                            // decay of the running mean of its square; 0.999 when nil
	Epsilon  *float32 `onnx:"epsilon"`                         // added to the denominator; 1e-6 when nil
	Norm     float32  `onnx:"norm_coefficient,default=0"`      // of the L2 penalty: Norm·X is added to the gradient
	NormPost float32  `onnx:"norm_coefficient_post,default=0"` // the updated weights are multiplied by 1 − NormPost
}

// Operator makes AdamConfig a Config.
func (AdamConfig) Operator() op.Name { return op.Name{Domain: trainingDomain, Name: "Adam"} }

// MomentumConfig has the attributes of Momentum.
type MomentumConfig struct {
	Alpha float32 `onnx:"alpha,required"`            // factor of the previous momentum
	Beta  float32 `onnx:"beta,required"`             // factor of the gradient in the momentum; 1 in the first step
	Mode  string  `onnx:"mode,required"`             // standard or nesterov
	Norm  float32 `onnx:"norm_coefficient,required"` // of the L2 penalty: Norm·X is added to the gradient
}

// Operator makes MomentumConfig a Config.
func (MomentumConfig) Operator() op.Name { return op.Name{Domain: trainingDomain, Name: "Momentum"} }

// updateRules have as inputs a learning rate, a step count, then weights, gradients and states, and as outputs
// weights and states.
func updateRules() []*op.Op {
	rule := func(name, doc string, attrs op.Config, states int, prepare func(c *op.Call) (func(r, t float64, v []float64), error)) *op.Op {
		of := func(c *op.Call) (n int, err error) {
			n = (len(c.In) - 2) / (2 + states)
			if n < 1 || n*(2+states)+2 != len(c.In) {
				return 0, c.Errorf("takes %d tensors for each weight, got %d", 2+states, len(c.In)-2)
			}
			for i, t := range c.In[2:] {
				w := c.In[2+i%n]
				bad := t.DType != w.DType || !t.Unranked && !w.Unranked && len(t.Shape) != len(w.Shape)
				for a := range min(len(t.Shape), len(w.Shape)) {
					bad = bad || t.Shape[a].Differ(w.Shape[a])
				}
				if bad {
					return 0, c.Mismatch(i+2, w, t)
				}
			}
			return n, nil
		}
		return &op.Op{
			Domain: trainingDomain, Name: name, Since: []int{1}, Doc: doc, In: "R T1, T int64, inputs* any", Out: "outputs* any",
			Where: op.Where{"T1": floatTypes}, Attrs: attrs, GradMissing: "an update of weights", Pinned: "an update of weights",
			Infer: func(c *op.Call) ([]op.Type, error) {
				n, err := of(c)
				if err != nil {
					return nil, err
				}
				var out []op.Type
				for k := range 1 + states {
					at := 2
					if k > 0 {
						at = 2 + (k+1)*n
					}
					out = append(out, c.In[at:at+n]...)
				}
				return out, nil
			},
			Kernel: valueFunction(func(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
				n, err := of(c)
				if err != nil {
					return nil, err
				}
				f, err := prepare(c)
				if err != nil {
					return nil, err
				}
				return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) { return updated(p, c, in, n, states, f) }, nil
			}).kernel,
		}
	}
	return []*op.Op{
		rule("Adagrad", "One step of Adagrad.", AdagradConfig{}, 1, func(c *op.Call) (func(r, t float64, v []float64), error) {
			cfg := c.Config.(AdagradConfig)
			decay, norm, eps := float64(cfg.Decay), float64(cfg.Norm), orFloat(cfg.Epsilon, 1e-6)
			return func(r, t float64, v []float64) {
				g := norm*v[0] + v[1]
				v[2] += g * g
				v[0] -= r / (1 + t*decay) * g / (math.Sqrt(v[2]) + eps)
			}, nil
		}),
		rule("Adam", "One step of Adam.", AdamConfig{}, 2, func(c *op.Call) (func(r, t float64, v []float64), error) {
			cfg := c.Config.(AdamConfig)
			a, b, eps := orFloat(cfg.Alpha, 0.9), orFloat(cfg.Beta, 0.999), orFloat(cfg.Epsilon, 1e-6)
			norm, post := float64(cfg.Norm), float64(cfg.NormPost)
			return func(r, t float64, v []float64) {
				g := norm*v[0] + v[1]
				v[2] = a*v[2] + (1-a)*g
				v[3] = b*v[3] + (1-b)*g*g
				if t > 0 {
					r *= math.Sqrt(1-math.Pow(b, t)) / (1 - math.Pow(a, t))
				}
				v[0] = (1 - post) * (v[0] - r*v[2]/(math.Sqrt(v[3])+eps))
			}, nil
		}),
		rule("Momentum", "One step of gradient descent with momentum.", MomentumConfig{}, 1, func(c *op.Call) (func(r, t float64, v []float64), error) {
			cfg := c.Config.(MomentumConfig)
			if cfg.Mode != "standard" && cfg.Mode != "nesterov" {
				return nil, c.Errorf("mode %q is unknown", cfg.Mode)
			}
			a, b, norm := float64(cfg.Alpha), float64(cfg.Beta), float64(cfg.Norm)
			return func(r, t float64, v []float64) {
				g, share := norm*v[0]+v[1], b
				if t == 0 {
					share = 1
				}
				v[2] = a*v[2] + share*g
				if cfg.Mode == "nesterov" {
					v[0] -= r * (g + a*v[2])
				} else {
					v[0] -= r * v[2]
				}
			}, nil
		}),
	}
}

// updated runs a rule over every element of n weights; f gets weight, gradient and states of one
// element and rewrites them.
func updated(p *kernel.Pool, c *op.Call, in []dtype.Value, n, states int, f func(r, t float64, v []float64)) ([]dtype.Value, error) {
	lists := make([][]float64, len(in))
	for i, v := range in {
		var err error
		if lists[i], err = numbersOf(p, c, i, v); err != nil {
			return nil, err
		}
	}
	if len(lists[0]) != 1 || len(lists[1]) != 1 {
		return nil, c.Mismatch(0, "one number", op.TypeOf(in[0]))
	}
	v := make([]float64, 2+states)
	for w := range n {
		for e := range lists[2+w] {
			checkAt(p, e)
			for k := range v {
				v[k] = lists[2+k*n+w][e]
			}
			f(lists[0][0], lists[1][0], v)
			for k := range v {
				lists[2+k*n+w][e] = v[k]
			}
		}
	}
	var out []dtype.Value
	for i, list := range lists[2:] {
		if k := i / n; k == 1 { // gradients
			continue
		}
		d, err := tensorOf(p, c.In[2+i].DType, list, in[2+i].Shape()...)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
