package std

import (
	"math"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// ModConfig has the attributes of Mod. With Fmod the result has the sign of the dividend, as in
// C, otherwise that of the divisor.
type ModConfig struct {
	Fmod bool `onnx:"fmod"` // ONNX requires it for floating-point inputs
}

// Operator makes ModConfig a Config.
func (ModConfig) Operator() op.Name { return op.Name{Name: "Mod"} }

func mod() *op.Op {
	rule := func(fmod bool) binary {
		r := binary{name: "Mod", types: op.Numeric(), noZero: true, f: floorMod, i: floorModInt, u: func(a, b uint64) uint64 { return a % b }}
		if fmod {
			r.v32, r.v64, r.i = fmodVectors[float32](), fmodVectors[float64](), func(a, b int64) int64 { return a % b }
		}
		return r
	}
	r := rule(false)
	r.doc, r.since, r.attrs, r.grad = "Remainder of the division A / B.", []int{10, 13}, ModConfig{}, modGrad
	o := r.op()
	o.Kernel = func(c *op.Call) (op.Kernel, error) { return rule(c.Config.(ModConfig).Fmod).kernel(c) }
	o.Scheduling.Patterns = func(c *op.Call) []op.Pattern { return withLoop(nil, rule(c.Config.(ModConfig).Fmod).loop(c)) }
	return o
}

func floorMod(a, b float64) float64 {
	r := math.Mod(a, b)
	if r != 0 && math.Signbit(r) != math.Signbit(b) {
		r += b
	}
	return r
}

func floorModInt(a, b int64) int64 {
	r := a % b
	if r != 0 && r^b < 0 { // of different signs
		r += b
	}
	return r
}

// modGrad: between its jumps the result is a − q·b with a constant q = (a − y)/b.
func modGrad(c *op.Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error) {
	q, err := c.Apply1(op.Plain("Sub"), a, y)
	if err == nil {
		q, err = c.Apply1(op.Plain("Div"), q, b)
	}
	if err == nil {
		q, err = c.Apply1(op.Plain("Mul"), q, dy)
	}
	if err == nil {
		db, err = scaleBy(c, q, -1)
	}
	return dy, db, err
}
