package optest_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// square returns a correct operator that the tests break in one place each.
func square() *op.Op {
	return &op.Op{
		Domain: "test", Name: "Square", Doc: "x·x.", Since: []int{1}, In: "X T", Out: "Y T",
		Where: op.Where{"T": {dtype.Float32, dtype.Float64}},
		Infer: op.Same, Scheduling: op.Scheduling{InPlace: []int{0}}, Couple: op.Elementwise,
		Kernel: typed(squareOf[float32], squareOf[float64]),
		Grad:   squareGrad("SquareGrad"),
	}
}

func squareOf[T kernel.Float](out, in []*tensor.Dense) {
	y := dtype.Slice[T](out[0])
	for i, v := range dtype.Slice[T](in[0]) {
		y[i] = v * v
	}
}

// timesFirst multiplies with the first element.
func timesFirst[T kernel.Float](out, in []*tensor.Dense) {
	y, x := dtype.Slice[T](out[0]), dtype.Slice[T](in[0])
	for i, v := range x {
		y[i] = v * x[0]
	}
}

// typed makes a kernel of its two instances.
func typed(f32, f64 func(out, in []*tensor.Dense)) func(*op.Call) (op.Kernel, error) {
	return func(c *op.Call) (op.Kernel, error) {
		return func(_ *op.Exec, out, in []*tensor.Dense) error {
			if c.In[0].DType == dtype.Float64 {
				f64(out, in)
			} else {
				f32(out, in)
			}
			return nil
		}, nil
	}
}

// squareGradOp is factor·x·dy; 2 is right.
func squareGradOp(name string, factor float64) *op.Op {
	return &op.Op{
		Domain: "test", Name: name, Doc: "Gradient.", Since: []int{1}, In: "X T, dY T", Out: "dX T",
		Infer: op.Same, GradMissing: "gradient", Pinned: "gradient",
		Kernel: typed(squareGradOf[float32](factor), squareGradOf[float64](factor)),
	}
}

func squareGrad(name string) func(*op.Call, gorgonia.Nodes, gorgonia.Nodes, gorgonia.Nodes) (gorgonia.Nodes, error) {
	return func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		return c.ApplyN(1, op.Name{Domain: "test", Name: name}, in[0], dout[0])
	}
}

func squareGradOf[T kernel.Float](factor float64) func(out, in []*tensor.Dense) {
	return func(out, in []*tensor.Dense) {
		dx, x, dy := dtype.Slice[T](out[0]), dtype.Slice[T](in[0]), dtype.Slice[T](in[1])
		for i := range dx {
			dx[i] = T(factor) * x[i] * dy[i]
		}
	}
}

func broken(change func(o *op.Op)) optest.Case {
	o := square()
	change(o)
	c := optest.Case{Config: o, In: []dtype.Value{optest.Rand(1, 2, 3)}}
	if ops, err := std.Operators().With(o, squareGradOp("SquareGrad", 2), squareGradOp("SquareGradOff", 2.01)); err == nil {
		c.Ops = ops
	}
	return c
}

func TestCheckAcceptsARightOperator(t *testing.T) {
	optest.Run(t, broken(func(*op.Op) {}))
}

func TestCheckFindsBrokenOperators(t *testing.T) {
	cases := []struct {
		name, want string
		c          optest.Case
	}{
		{"declaration", "validate: ", broken(func(o *op.Op) { o.Doc = "" })},
		{"gradient", "gradient: ", broken(func(o *op.Op) { o.Grad = squareGrad("SquareGradOff") })},
		{"rows", "rows: ", broken(func(o *op.Op) {
			o.Kernel, o.Scheduling.InPlace = typed(timesFirst[float32], timesFirst[float64]), nil
			o.Scheduling.Rows = func(*op.Call) *trait.Rows { return &trait.Rows{Out: 1, In: []int{1}} }
		})},
		{"rank", "produced", broken(func(o *op.Op) {
			o.Func = func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				return []dtype.Value{optest.Rand(1, 3, 2)}, nil
			}
			o.Kernel = nil
		})},
		{"symbols", "shapes: ", broken(func(o *op.Op) {
			o.Infer = func(c *op.Call) ([]op.Type, error) {
				d := c.In[0].Shape
				if d[1].Sym != "" {
					d = []op.Dim{d[0], d[1].Add(op.D(1))}
				}
				return []op.Type{c.In[0].With(d...)}, nil
			}
		})},
		{"wanted value", "forward: ", func() optest.Case {
			c := broken(func(*op.Op) {})
			c.Want = []dtype.Value{optest.Rand(2, 2, 3)}
			return c
		}()},
		{"aliasing", "aliases", broken(func(o *op.Op) {
			o.Func = func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) { return in, nil }
			o.Kernel = nil
		})},
		{"input changed", "was changed", broken(func(o *op.Op) {
			k := o.Kernel
			o.Kernel = func(c *op.Call) (op.Kernel, error) {
				f, err := k(c)
				return func(x *op.Exec, out, in []*tensor.Dense) error {
					defer clear(in[0].Raw)
					return f(x, out, in)
				}, err
			}
		})},
		{"memory left as it was", "kernel: ", broken(func(o *op.Op) {
			o.Kernel = typed(addTo[float32], addTo[float64])
			o.Scheduling.InPlace = nil
		})},
		{"in place", "kernel: in place", broken(func(o *op.Op) { o.Kernel = typed(twoPasses[float32], twoPasses[float64]) })},
		{"precision", "precision: ", broken(func(o *op.Op) { o.Kernel = typed(coarse, squareOf[float64]) })},
		{"coupling", "cut: ", broken(func(o *op.Op) {
			o.Kernel = typed(running[float32], running[float64])
			o.Grad, o.NoGrad, o.Scheduling.InPlace = nil, "test", nil
		})},
		{"coupled axis", "cut: ", broken(func(o *op.Op) {
			o.Couple = func(c *op.Call) []coupling.Coupling {
				return []coupling.Coupling{op.Couple(coupling.In(0, 0), coupling.Out(0, 1))}
			}
		})},
		{"lossy attributes", "config: ", func() optest.Case {
			c := broken(func(o *op.Op) { o.Attrs = lossy{} })
			c.Config = lossy{Kept: 1, Lost: 2}
			return c
		}()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := optest.Check(c.c)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// addTo relies on zeroed memory.
func addTo[T kernel.Float](out, in []*tensor.Dense) {
	y := dtype.Slice[T](out[0])
	for i, v := range dtype.Slice[T](in[0]) {
		y[i] += v * v
	}
}

// twoPasses reads the input after it has begun to write.
func twoPasses[T kernel.Float](out, in []*tensor.Dense) {
	x, y := dtype.Slice[T](in[0]), dtype.Slice[T](out[0])
	clear(y)
	for i := range x {
		y[i] = x[i] * x[i]
	}
}

func coarse(out, in []*tensor.Dense) {
	y := dtype.Slice[float32](out[0])
	for i, v := range dtype.Slice[float32](in[0]) {
		y[i] = v*v + 1e-3
	}
}

// running mixes neighbours, so that no index can leave alone.
func running[T kernel.Float](out, in []*tensor.Dense) {
	x, y := dtype.Slice[T](in[0]), dtype.Slice[T](out[0])
	for i := range x {
		y[i] = x[i] - x[(i+1)%len(x)]
	}
}

// lossy has a field that is not an attribute.
type lossy struct {
	Kept int `onnx:"kept"`
	Lost int
}

func (lossy) Operator() op.Name { return square().Operator() }
