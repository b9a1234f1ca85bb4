package std

// slopes makes the pointwise functions of an activation from generic ones.
func slopes(need string, f32 func(float32) float32, f64 func(float64) float64, g32 func(dy, at float32) float32, g64 func(dy, at float64) float64) pointwise {
	p := pointwise{f: f64, f32: each(f32), f64: each(f64), g32: eachGrad(g32), g64: eachGrad(g64), need: need}
	p.grad = func(x, y, dy float64) float64 {
		if need == "y" {
			return g64(dy, y)
		}
		return g64(dy, x)
	}
	return p
}
