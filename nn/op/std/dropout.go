package std

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// DropoutConfig has the attributes of Dropout. From version 12 on the ratio is an input. IsTest
// has no effect: before version 12 the mode of the lowering decides.
type DropoutConfig struct {
	Ratio  *float32 `onnx:"ratio,until=11,nil=0.5"` // probability of dropping an element, from 0 to 1; 0.5 when nil
	IsTest bool     `onnx:"is_test,until=6"`        // of no effect
	Seed   *int     `onnx:"seed,since=12"`          // mixed into the seed of the run; nil: that alone
}

// Operator makes DropoutConfig a Config.
func (DropoutConfig) Operator() op.Name { return op.Name{Name: "Dropout"} }

// dropout drops if its third input is true; without a third input, if the lowering trains.
func dropout() *op.Op {
	return &op.Op{
		Name: "Dropout", Since: []int{1, 6, 7, 10, 12, 13, 22}, Versions: dropoutVersions(), Expose: spelled(exposeDropout), Doc: "Sets random elements to 0 and scales the others so that the mean stays.",
		In: "data T, ratio? T1 fixed, training_mode? bool", Out: "output T, mask? T2",
		Where: op.Where{"T": op.Floats(), "T1": op.Floats()}, Attrs: DropoutConfig{}, Random: true, Scheduling: op.Scheduling{InPlace: []int{0}},
		Infer: func(c *op.Call) ([]op.Type, error) {
			mask := c.In[0].Of(dtype.Bool)
			if c.Version < 10 {
				mask = c.In[0]
			}
			return []op.Type{c.In[0], mask}, nil
		},
		Hidden: func(c *op.Call) []op.Type { return []op.Type{c.In[0].Of(dtype.Bool), op.T(c.In[0].DType)} },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return floatKernel(c, dropoutKernel[float32](c), dropoutKernel[float64](c)), nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			if dout[0] == nil {
				return nil, nil
			}
			d, err := c.Apply1(op.Name{Domain: op.Internal, Name: "DropoutGrad"}, dout[0], out[2], out[3])
			return gorgonia.Nodes{d}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			list := op.CoupleAll(c, 0)
			if c.Wants(1) {
				for a := range c.In[0].Shape {
					list = append(list, op.Couple(coupling.In(0, a), coupling.Out(1, a)))
				}
			}
			return list
		},
		Traits: op.Traits{Zero: op.ZeroFirst, Range: rangeScaled, Keeps: keepsAll, Removable: true, Draws: dropoutDraws, Training: &op.TrainingMode{Since: 12, Input: 2}},
	}
}

// dropoutDraws reports whether the call drops elements, or may, for all that is known of its inputs.
func dropoutDraws(c *op.Call) bool {
	on := c.Train
	if c.Has(2) {
		mode, known := c.Uniform(2)
		on = !known || mode != 0
	}
	if !on || !c.Has(1) {
		return on
	}
	ratio, known := c.Uniform(1)
	return !known || ratio != 0
}

// ratioOf returns the part that is dropped: 0 when dropout is off.
func ratioOf(c *op.Call, in []*tensor.Dense) (float64, error) {
	on := c.Train
	if m := inputAt(in, 2); c.Has(2) && m != nil {
		v := dtype.Slice[bool](m)
		if len(v) != 1 {
			return 0, c.Mismatch(2, "one truth value", c.In[2])
		}
		on = v[0]
	}
	if !on {
		return 0, nil
	}
	r := 0.5
	cfg := c.Config.(DropoutConfig)
	if cfg.Ratio != nil {
		r = float64(*cfg.Ratio)
	}
	if d := inputAt(in, 1); c.Has(1) && d != nil {
		v, err := dtype.Float64s(d)
		if err != nil || len(v) != 1 {
			return 0, c.Mismatch(1, "one number", c.In[1])
		}
		r = v[0]
	}
	if !(r >= 0 && r <= 1) {
		return 0, c.Errorf("ratio is %v, want a number from 0 to 1", r)
	}
	return r, nil
}

func dropoutKernel[T kernel.Float](c *op.Call) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		r, err := ratioOf(c, in)
		if err != nil {
			return err
		}
		scale := T(1 / (1 - r))
		if r == 1 {
			scale = 0
		}
		src, dst := dtype.Slice[T](in[0]), dtype.Elems[T](out[0])
		keep, mask, ones := masksOf[T](out)
		if s := inputAt(out, 3); s != nil {
			dtype.Slice[T](s)[0] = scale
		}
		var seed *uint64
		if s := c.Config.(DropoutConfig).Seed; s != nil {
			n := uint64(*s)
			seed = &n
		}
		key, limit := streamKey(c, inputAt(in, len(c.In)), seed), uint64(r*(1<<32))
		pool(x).Range(len(src), 4096, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				stays := draw(key, i)>>32 >= limit
				if dst != nil {
					v := src[i] * scale
					if !stays {
						v = 0
					}
					dst[i] = v
				}
				if keep != nil {
					keep[i] = stays
				}
				if mask != nil {
					mask[i] = stays
				}
				if ones != nil {
					if ones[i] = 0; stays {
						ones[i] = 1
					}
				}
			}
		})
		return nil
	}
}

// masksOf returns the hidden mask and the visible one, which has numbers before version 10.
func masksOf[T kernel.Float](out []*tensor.Dense) (keep, mask []bool, ones []T) {
	keep = dtype.ElemsAt[bool](out, 2)
	if d := inputAt(out, 1); d != nil && dtype.Of(d.Dtype()) == dtype.Bool {
		mask = dtype.Slice[bool](d)
	} else {
		ones = dtype.Elems[T](d)
	}
	return keep, mask, ones
}

func dropoutGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "DropoutGrad", Since: []int{1}, Decompose: spelled(spellDropoutGrad), Doc: "Gradient of Dropout.",
		In: "dY T, mask bool, scale T", Out: "dX T", Where: op.Where{"T": op.Floats()},
		Infer: op.Same, Scheduling: op.Scheduling{InPlace: []int{0}}, GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return floatKernel(c, dropoutGradKernel[float32], dropoutGradKernel[float64]), nil
		},
	}
}

func dropoutGradKernel[T kernel.Float](x *op.Exec, out, in []*tensor.Dense) error {
	dx, dy, mask, scale := dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), dtype.Slice[bool](in[1]), dtype.Slice[T](in[2])[0]
	pool(x).Range(len(dx), 4096, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v := dy[i] * scale
			if !mask[i] {
				v = 0
			}
			dx[i] = v
		}
	})
	return nil
}

// dropoutVersions: the ratio is an attribute before version 12; before 7 another attribute disables dropping.
func dropoutVersions() []op.Version {
	trains := op.OnConfig(func(n *op.Spelling, c *DropoutConfig) error {
		if !c.IsTest {
			return errors.New("is_test is 0: it drops elements in inference too")
		}
		c.IsTest = false
		return oneOutput(n)
	})
	tests := op.OnConfig(func(n *op.Spelling, c *DropoutConfig) error {
		c.IsTest = true
		return oneOutput(n)
	})
	up := op.OnConfig(func(n *op.Spelling, c *DropoutConfig) error {
		x := c.Ratio
		c.Ratio = nil
		if err := oneOutput(n); err != nil || x == nil {
			return err
		}
		ratio, err := n.Filled("ratio", n.DType(0), float64(*x))
		n.Put(1, ratio)
		return err
	})
	down := op.OnConfig(func(n *op.Spelling, c *DropoutConfig) error {
		mode, err := n.Constant(2)
		if err != nil {
			return err
		}
		if mode != nil && slices.Contains(dtype.Slice[bool](mode), true) {
			return errors.New("training_mode is true, and that version drops elements in training only")
		}
		if c.Ratio, err = n.Number(1); err != nil {
			return err
		}
		c.Seed = nil
		n.Cut(1)
		return oneOutput(n)
	})
	return []op.Version{{At: 7, Up: trains, Down: tests}, {At: 10, Up: oneOutput, Down: oneOutput}, {At: 12, Up: up, Down: down}}
}
