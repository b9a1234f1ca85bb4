package std

import "math"

// tap returns what is read at coordinate g along an axis of n pixels.
func (s *sample) tap(g float64, n int) (t tap) {
	// From [−1, 1] to pixels.
	slope := float64(n) / 2
	lo, hi := -0.5, float64(n)-0.5
	x := (g+1)*slope - 0.5
	if s.Corners {
		slope = float64(n-1) / 2
		lo, hi = 0, float64(n-1)
		x = (g + 1) * slope
	}
	if !(math.Abs(x) < 1<<40) { // or not a number
		x = -1 << 40
	}
	if s.Mode == "nearest" {
		x = math.RoundToEven(x)
	}
	if x < lo || x > hi {
		switch s.Padding {
		case "border":
			if s.Mode != "cubic" { // the curve continues beyond the border: only its pixels are clamped, as in PyTorch
				x, slope = math.Min(math.Max(x, 0), float64(n-1)), 0
			}
		case "reflection":
			var sign float64
			x, sign = reflect1(x, lo, hi)
			slope *= sign
		}
	}
	switch s.Mode {
	case "nearest":
		t.n, t.w[0] = 1, 1
		t.at[0] = s.pixel(int(math.RoundToEven(x)), n)
		return t
	case "cubic":
		from := math.Floor(x)
		t.n = 4
		t.w, t.dw = cubicWeights(x - from)
		for k := range 4 {
			t.at[k] = s.pixel(int(from)+k-1, n)
			t.dw[k] *= slope
		}
		return t
	}
	from := math.Floor(x)
	f := x - from
	t.n = 2
	t.w[0], t.w[1] = 1-f, f
	t.dw[0], t.dw[1] = -slope, slope
	t.at[0], t.at[1] = s.pixel(int(from), n), s.pixel(int(from)+1, n)
	return t
}

// pixel brings an index into the axis; −1 is a zero.
func (s *sample) pixel(i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	switch s.Padding {
	case "border":
		return min(max(i, 0), n-1)
	case "reflection":
		lo, hi := -0.5, float64(n)-0.5
		if s.Corners {
			lo, hi = 0, float64(n-1)
		}
		x, _ := reflect1(float64(i), lo, hi)
		return min(max(int(x), 0), n-1)
	}
	return -1
}

// reflect1 reflects x into [lo, hi] at both ends; sign is the derivative, 1 or −1.
func reflect1(x, lo, hi float64) (y, sign float64) {
	length := hi - lo
	if length <= 0 {
		return lo, 0
	}
	d, sign := x-lo, 1.0
	if d < 0 {
		d, sign = -d, -1
	}
	turns := math.Floor(d / length)
	rest := d - turns*length
	if math.Mod(turns, 2) == 0 {
		return lo + rest, sign
	}
	return hi - rest, -sign
}

// cubicWeights returns the weights of cubic convolution with a = −0.75 for the four pixels around a
// point at distance f after the second, and their derivatives.
func cubicWeights(f float64) (w, dw [4]float64) {
	const a = -0.75
	near := func(d float64) (float64, float64) { return ((a+2)*d-(a+3))*d*d + 1, (3*(a+2)*d - 2*(a+3)) * d }
	far := func(d float64) (float64, float64) {
		return ((a*d-5*a)*d+8*a)*d - 4*a, (3*a*d-10*a)*d + 8*a
	}
	w[0], dw[0] = far(1 + f)
	w[1], dw[1] = near(f)
	w[2], dw[2] = near(1 - f)
	w[3], dw[3] = far(2 - f)
	dw[2], dw[3] = -dw[2], -dw[3]
	return w, dw
}
