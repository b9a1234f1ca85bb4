package op

import (
	"math"

	"gorgonia.org/gorgonia"
)

// ModConfig has the attributes of Mod. With Fmod the result has the sign of the dividend, as in
// C, otherwise that of the divisor.
type ModConfig struct {
	Fmod bool `onnx:"fmod"`
}

// Operator makes ModConfig a Config.
func (ModConfig) Operator() Name { return Name{Name: "Mod"} }

func mod() *Op {
	rule := func(fmod bool) binary {
		r := binary{name: "Mod", types: Numeric, noZero: true, f: floorMod, i: floorModInt, u: func(a, b uint64) uint64 { return a % b }}
		if fmod {
			r.v32, r.v64, r.i = fmodVectors[float32](), fmodVectors[float64](), func(a, b int64) int64 { return a % b }
		}
		return r
	}
	r := rule(false)
	r.doc, r.since, r.attrs, r.grad = "Remainder of the division A / B.", []int{10, 13}, ModConfig{}, modGrad
	o := r.op()
	o.Kernel = func(c *Call) (Kernel, error) { return rule(c.Config.(ModConfig).Fmod).kernel(c) }
	o.Patterns = func(c *Call) []Pattern { return withLoop(nil, rule(c.Config.(ModConfig).Fmod).loop(c)) }
	return o
}

func floorMod(a, b float64) float64 {
	r := math.Mod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

func floorModInt(a, b int64) int64 {
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// modGrad: between its jumps the result is a − q·b with a constant q = (a − y)/b.
func modGrad(c *Call, a, b, y, dy *gorgonia.Node) (da, db *gorgonia.Node, err error) {
	q, err := c.Apply1(Plain("Sub"), a, y)
	if err == nil {
		q, err = c.Apply1(Plain("Div"), q, b)
	}
	if err == nil {
		q, err = c.Apply1(Plain("Mul"), q, dy)
	}
	if err == nil {
		db, err = c.ScaleBy(q, -1)
	}
	return dy, db, err
}
