package dtype

import (
	"math"
	"math/rand/v2"
	"testing"
)

// samples are float32 of all magnitudes, special values and every value of the given formats with
// its neighbours and the midpoint to the next.
func samples(values ...[256]float32) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	inf := float32(math.Inf(1))
	s := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, math.MaxFloat32, -math.MaxFloat32, 1e-45,
		448, 464, 464.1, 480, 240, 248, 57344, 61440, 61441, 65504, 65519, 65520, 65536, -65520, 7, 5, 0.25, 0.75}
	for range 50000 {
		s = append(s, math.Float32frombits(r.Uint32()), float32(r.NormFloat64()*math.Exp2(float64(r.IntN(40)-25))))
	}
	for _, vs := range values {
		for i, v := range vs {
			s = append(s, v, math.Nextafter32(v, inf), math.Nextafter32(v, -inf), (v+vs[(i+1)%256])/2)
		}
	}
	return s
}

// TestNearest checks every rounding against its definition: no other code is nearer, and of two
// equally near ones the even one is taken.
func TestNearest(t *testing.T) {
	formats := map[string]struct {
		m      *minifloat
		values [256]float32
	}{
		"e4m3fn": {&e4m3fn, e4m3fnValues}, "e4m3fnuz": {&e4m3fnuz, e4m3fnuzValues},
		"e5m2": {&e5m2, e5m2Values}, "e5m2fnuz": {&e5m2fnuz, e5m2fnuzValues}, "e2m1": {&e2m1, e2m1Values},
	}
	for name, f := range formats {
		limit := float64(f.values[f.m.max])
		for _, x := range samples(f.values) {
			if x != x || math.Abs(float64(x)) > limit {
				continue
			}
			got := f.m.encode(float64(x), true)
			dist := math.Abs(float64(f.values[got]) - float64(x))
			for c, v := range f.values[:1<<f.m.bits] {
				d := math.Abs(float64(v) - float64(x))
				if v == v && (d < dist || d == dist && v != f.values[got] && got&1 == 1) {
					t.Fatalf("%s: %g became %g (code %#x), not %g (%#x)", name, x, f.values[got], got, v, c)
				}
			}
		}
	}
}

// TestHalves holds the fast conversions of float32 against the general one.
func TestHalves(t *testing.T) {
	for _, x := range samples() {
		if x != x {
			continue
		}
		if got, want := F16From(x), F16(e5m10.encode(float64(x), false)); got != want {
			t.Fatalf("F16From(%g) = %#x, not %#x", x, got, want)
		}
		if got, want := BF16From(x), BF16(e8m7.encode(float64(x), false)); got != want {
			t.Fatalf("BF16From(%g) = %#x, not %#x", x, got, want)
		}
	}
	for i := range 1 << 16 {
		if h := F16(i); h&0x7fff <= 0x7c00 && F16From(h.Float32()) != h {
			t.Fatalf("F16 %#x became %#x by way of %g", i, F16From(h.Float32()), h.Float32())
		}
		if h := BF16(i); h&0x7fff <= 0x7f80 && BF16From(h.Float32()) != h {
			t.Fatalf("BF16 %#x became %#x by way of %g", i, BF16From(h.Float32()), h.Float32())
		}
	}
	if h := F16(0x3555).Float32(); h != 0.333251953125 {
		t.Errorf("0x3555 is %v", h)
	}
	nan := float32(math.NaN())
	if h, b := F16From(nan).Float32(), BF16From(nan).Float32(); h == h || b == b {
		t.Errorf("NaN became %v, %v", h, b)
	}
}

// TestSpecial follows the table of ONNX's Cast: what becomes of infinities, NaN and large values.
func TestSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name             string
		m                *minifloat
		x                float64
		saturated, plain uint32
	}{
		{"e4m3fn", &e4m3fn, inf, 0x7e, 0x7f}, {"e4m3fn", &e4m3fn, -inf, 0xfe, 0xff},
		{"e4m3fn", &e4m3fn, 1e6, 0x7e, 0x7f}, {"e4m3fn", &e4m3fn, nan, 0x7f, 0x7f},
		{"e4m3fn", &e4m3fn, math.Copysign(0, -1), 0x80, 0x80},
		{"e4m3fnuz", &e4m3fnuz, inf, 0x7f, 0x80}, {"e4m3fnuz", &e4m3fnuz, -1e6, 0xff, 0x80},
		{"e4m3fnuz", &e4m3fnuz, nan, 0x80, 0x80}, {"e4m3fnuz", &e4m3fnuz, -1e-9, 0, 0},
		{"e5m2", &e5m2, inf, 0x7b, 0x7c}, {"e5m2", &e5m2, -1e6, 0xfb, 0xfc}, {"e5m2", &e5m2, nan, 0x7f, 0x7f},
		{"e5m2fnuz", &e5m2fnuz, inf, 0x7f, 0x80}, {"e5m2fnuz", &e5m2fnuz, nan, 0x80, 0x80},
		{"e2m1", &e2m1, inf, 7, 7}, {"e2m1", &e2m1, -inf, 15, 15}, {"e2m1", &e2m1, nan, 8, 8},
		{"f16", &e5m10, 1e300, 0x7bff, 0x7c00}, {"f16", &e5m10, 1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3c01},
		{"bf16", &e8m7, -inf, 0xff7f, 0xff80}, {"bf16", &e8m7, 5e-324, 0, 0},
	} {
		if got := c.m.encode(c.x, true); got != c.saturated {
			t.Errorf("%s: %g saturated is %#x, not %#x", c.name, c.x, got, c.saturated)
		}
		if got := c.m.encode(c.x, false); got != c.plain {
			t.Errorf("%s: %g is %#x, not %#x", c.name, c.x, got, c.plain)
		}
	}
	for code, want := range map[F8E5M2]float64{0x7c: inf, 0xfc: -inf, 0x7b: 57344, 1: 0x1p-16} {
		if got := float64(code.Float32()); got != want {
			t.Errorf("e5m2 %#x is %g, not %g", code, got, want)
		}
	}
}

func TestE8M0(t *testing.T) {
	for _, c := range []struct {
		x                 float32
		up, down, nearest F8E8M0
	}{
		{1, 127, 127, 127}, {1.4, 128, 127, 127}, {1.5, 128, 127, 128}, {-3, 129, 128, 129}, {0, 0, 0, 0},
		{math.MaxFloat32, 254, 254, 254}, {float32(math.Inf(1)), 255, 255, 255}, {float32(math.NaN()), 255, 255, 255},
	} {
		if u, d, n := f8e8m0From(c.x, true, Up), f8e8m0From(c.x, true, Down), f8e8m0From(c.x, true, Nearest); u != c.up || d != c.down || n != c.nearest {
			t.Errorf("%g became %d, %d, %d; wanted %d, %d, %d", c.x, u, d, n, c.up, c.down, c.nearest)
		}
	}
	for i := range 255 {
		if got := f8e8m0From(F8E8M0(i).Float32(), true, Down); got != F8E8M0(i) && i > 0 {
			t.Errorf("%d became %d", i, got)
		}
	}
}

// TestSmallFloatsRoundTrip checks that every bit pattern of the small floats that is not NaN
// round-trips through its value.
func TestSmallFloatsRoundTrip(t *testing.T) {
	for bits := range 256 {
		for name, pair := range map[string][2]float32{
			"e4m3fn":   {F8E4M3FN(bits).Float32(), f8e4m3fnFrom(F8E4M3FN(bits).Float32(), false).Float32()},
			"e4m3fnuz": {F8E4M3FNUZ(bits).Float32(), f8e4m3fnuzFrom(F8E4M3FNUZ(bits).Float32(), false).Float32()},
			"e5m2":     {F8E5M2(bits).Float32(), f8e5m2From(F8E5M2(bits).Float32(), false).Float32()},
			"e5m2fnuz": {F8E5M2FNUZ(bits).Float32(), f8e5m2fnuzFrom(F8E5M2FNUZ(bits).Float32(), false).Float32()},
			"e2m1":     {F4E2M1(bits & 15).Float32(), f4e2m1From(F4E2M1(bits & 15).Float32()).Float32()},
		} {
			if want, got := pair[0], pair[1]; want == want && math.Float32bits(want) != math.Float32bits(got) || want != want && got == got {
				t.Errorf("%s %#x: %v became %v", name, bits, want, got)
			}
		}
	}
}
