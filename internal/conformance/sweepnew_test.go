package conformance_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// newSweeps: operators of the newest sets, as far as ONNX Runtime has them, and what is passed through optionals.
var newSweeps = map[string]func(r *draw) trial{
	"CumProd":             cumulating,
	"BitCast":             reinterpreting,
	"LinearAttention":     linearAttending,
	"CausalConvWithState": causally,
	"optional": func(r *draw) trial {
		x := r.any(r.maybeEmpty(r.between(0, 3), 1, 4)...)
		c := trial{op: pick(r, "OptionalHasElement", "OptionalGetElement"), opset: 18, in: fed(x)}
		if c.op == "OptionalHasElement" && r.rarely(3) {
			c.in = nil
		}
		return c
	},
	"random": func(r *draw) trial { // types and shapes: the numbers are others
		c := drawing(r)
		c.atol = math.Inf(1)
		return c
	},
}

func cumulating(r *draw) trial {
	shape := r.maybeEmpty(r.between(1, 4), 1, 5)
	x := r.floats(shape...)
	if t := pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64); t != dtype.Float32 {
		x = r.numbers(t, -3, 3, shape...)
	}
	axis := scalar(int64(r.axis(len(shape))))
	if r.flag() {
		axis = converted(dtype.Int32, axis)
	}
	return trial{op: "CumProd", opset: 26, attrs: map[string]any{"exclusive": r.IntN(2), "reverse": r.IntN(2)}, in: r.with(fed(x), axis)}
}

// sameWidth are element types of equal width. Those of ONNX Runtime's binding come first.
var sameWidth = [][]dtype.DType{
	{dtype.Float32, dtype.Int32, dtype.Uint32}, {dtype.Float64, dtype.Int64, dtype.Uint64}, {dtype.Int16, dtype.Uint16, dtype.Float16, dtype.BFloat16},
	{dtype.Int8, dtype.Uint8, dtype.Float8E4M3FN, dtype.Float8E5M2}, {dtype.Int4, dtype.Uint4}, {dtype.Int2, dtype.Uint2},
}

func reinterpreting(r *draw) trial {
	group := pick(r, sameWidth[:4]...)
	from, to := group[r.IntN(2)], group[r.IntN(2)]
	return trial{op: "BitCast", opset: 26, attrs: map[string]any{"to": int(to)}, in: fed(r.bits(from, r.maybeEmpty(r.between(0, 3), 1, 4)...))}
}

// bits returns a tensor of random bits.
func (r *draw) bits(t dtype.DType, shape ...int) dtype.Value {
	if t.Bits() < 8 {
		lo := 0
		if t == dtype.Int4 || t == dtype.Int2 {
			lo = -1 << (t.Bits() - 1)
		}
		return r.numbers(t, lo, lo+1<<t.Bits()-1, shape...)
	}
	d := dtype.New(t, shape...)
	for i := range dtype.Bytes(d) {
		dtype.Bytes(d)[i] = byte(r.IntN(256))
	}
	return d
}

func linearAttending(r *draw) trial {
	n, hk, each, d, e, t := r.between(1, 3), r.between(1, 3), r.between(1, 3), r.between(1, 4), r.between(1, 4), r.between(1, 6)
	rule := pick(r, "linear", "gated", "delta", "gated_delta")
	small := func(shape ...int) dtype.Value { return r.smaller(0.25, shape...) }
	in := fed(small(n, t, hk*each*d), small(n, t, hk*d), small(n, t, hk*e), small(n, hk, d, e))
	if r.flag() {
		in[3].value = nil
	}
	in = append(in, argument{}, argument{})
	if rule == "gated" || rule == "gated_delta" {
		in[4].value = small(n, t, hk*pick(r, 1, d))
	}
	if rule == "delta" || rule == "gated_delta" {
		in[5].value = small(n, t, pick(r, 1, hk))
	}
	for in[len(in)-1].value == nil {
		in = in[:len(in)-1]
	}
	attrs := map[string]any{"q_num_heads": hk * each, "kv_num_heads": hk, "update_rule": rule}
	if r.flag() {
		attrs["scale"] = pick(r, 0.0, 0.375)
	}
	return trial{op: "LinearAttention", opset: 27, there: "com.microsoft", attrs: attrs, in: in, out: 2}
}

func causally(r *draw) trial {
	n, ch, k, t := r.between(1, 3), r.between(1, 4), r.between(1, 4), r.between(1, 6)
	in := fed(r.floats(n, ch, t), r.floats(ch, 1, k), r.floats(ch), r.floats(n, ch, k-1))
	if r.flag() {
		in[2].value = nil
	}
	if r.flag() {
		in = in[:3]
	}
	attrs := map[string]any{}
	if r.flag() {
		attrs["activation"] = pick(r, "none", "silu", "swish")
	}
	return trial{op: "CausalConvWithState", opset: 27, there: "com.microsoft", attrs: attrs, in: in, out: 2}
}

func converted(t dtype.DType, v dtype.Value) dtype.Value {
	return must(dtype.ConvertTo(t, v.(*tensor.Dense)))
}

// smaller is floats times f.
func (r *draw) smaller(f float32, shape ...int) dtype.Value {
	v := r.floats(shape...)
	for i, x := range dtype.Slice[float32](v.(*tensor.Dense)) {
		dtype.Slice[float32](v.(*tensor.Dense))[i] = x * f
	}
	return v
}

// drawing is an operator that draws numbers.
func drawing(r *draw) trial {
	c := trial{op: pick(r, "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"), opset: pick(r, 15, 15, 15, 22), attrs: map[string]any{}}
	if r.flag() {
		c.attrs["seed"] = float64(r.between(-3, 3))
	}
	shape := r.maybeEmpty(r.between(0, 3), 1, 4)
	switch c.op {
	case "Bernoulli":
		p := make([]float64, elements(shape))
		for i := range p {
			p[i] = r.Float64()
		}
		c.in = fed(must(dtype.FromFloats(pick(r, dtype.Float32, dtype.Float64), p, shape...)))
		if r.flag() {
			c.attrs["dtype"] = int(pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Bool))
		}
		return c
	case "Multinomial":
		c.in = fed(r.floats(r.between(1, 4), r.between(1, 5)))
		if r.flag() {
			c.attrs["sample_size"] = r.between(1, 5)
		}
		if r.flag() {
			c.attrs["dtype"] = int(pick(r, dtype.Int32, dtype.Int64))
		}
		return c
	case "RandomNormalLike", "RandomUniformLike":
		c.in = fed(converted(pick(r, dtype.Float32, dtype.Float64), r.floats(shape...)))
	default:
		c.attrs["shape"] = shape
	}
	if r.flag() {
		c.attrs["dtype"] = int(pick(r, dtype.Float32, dtype.Float64))
	}
	for _, name := range map[bool][]string{true: {"mean", "scale"}, false: {"low", "high"}}[c.op[6] == 'N'] {
		if r.flag() {
			c.attrs[name] = map[string]float64{"mean": -2, "scale": 0.5, "low": -3, "high": 1.5}[name]
		}
	}
	return c
}

// TestSharedRate: one rate for all heads is known by its length, whatever the axes are called.
func TestSharedRate(t *testing.T) {
	for i := range 8 {
		r := &draw{Rand: rand.New(rand.NewPCG(1, uint64(i)))}
		c := trial{op: "LinearAttention", opset: 27, attrs: map[string]any{"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "delta"},
			in: append(fed(r.floats(1, 2, 4), r.floats(1, 2, 4), r.floats(1, 2, 4)), argument{}, argument{}, argument{value: r.floats(1, 2, 1)})}
		feed, _ := network{c}.feeds()
		if _, err := evaluate(t, c.model(t, r), feed); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestSweepBits: BitCast keeps the bits, also of types that ONNX Runtime's binding lacks.
func TestSweepBits(t *testing.T) {
	for i := range 8 * *sweepTrials {
		r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i)))}
		group := pick(r, sameWidth...)
		from, to := pick(r, group...), pick(r, group...)
		x := r.bits(from, r.maybeEmpty(r.between(0, 3), 1, 9)...)
		c := trial{op: "BitCast", opset: 26, attrs: map[string]any{"to": int(to)}, in: fed(x)}
		feed, _ := network{c}.feeds()
		out, err := evaluate(t, c.model(t, r), feed)
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		y := out["y0"]
		mask := byte(1<<min(8, from.Bits()) - 1)
		same := dtype.DTypeOf(y) == to && slices.Equal(y.Shape(), x.Shape())
		a, b := dtype.Bytes(x.(*tensor.Dense)), dtype.Bytes(y.(*tensor.Dense))
		for k := range a {
			same = same && k < len(b) && a[k]&mask == b[k]&mask
		}
		if !same {
			t.Errorf("%s: %v becomes %v", c, a, b)
		}
	}
}

// TestSweepDrawn draws many numbers: equal seeds give equal bits, others do not, and mean and variance are those of the distribution.
func TestSweepDrawn(t *testing.T) {
	const n = 20000
	for i := range 4 * *sweepTrials {
		r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i)))}
		c := drawing(r)
		c.attrs["seed"] = float64(r.between(1, 1000))
		var mean, variance float64
		lo, hi := math.Inf(-1), math.Inf(1)
		or := func(name string, otherwise float64) float64 {
			if v, ok := c.attrs[name]; ok {
				return v.(float64)
			}
			return otherwise
		}
		typ := pick(r, dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16)
		switch c.op {
		case "Bernoulli":
			p := float64(float32(r.Float64()))
			c.in = fed(must(dtype.FromFloats(dtype.Float32, slices.Repeat([]float64{p}, n), n)))
			mean, variance, lo, hi = p, p*(1-p), 0, 1
		case "Multinomial":
			a, b := r.Float64()*4, r.Float64()*4
			c.in = fed(must(dtype.FromFloats(dtype.Float32, []float64{a, b}, 1, 2)))
			c.attrs["sample_size"] = n
			mean = 1 / (1 + math.Exp(a-b))
			variance, lo, hi = mean*(1-mean), 0, 1
		case "RandomNormal", "RandomNormalLike":
			mean, variance = or("mean", 0), or("scale", 1)*or("scale", 1)
		default:
			lo, hi = or("low", 0), or("high", 1)
			mean, variance = (lo+hi)/2, (hi-lo)*(hi-lo)/12
		}
		if c.op[:3] == "Ran" {
			if c.attrs["dtype"] = int(typ); c.attrs["shape"] != nil {
				c.attrs["shape"] = []int{n / 100, 100}
			} else {
				c.in = fed(dtype.New(dtype.Float32, n/100, 100))
			}
		}
		run := func() oracle.Tensor {
			feed, _ := network{c}.feeds()
			out, err := evaluate(t, c.model(t, r), feed)
			if err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			return packValue(converted(dtype.Float64, out["y0"]))
		}
		first, second := run(), run()
		if !slices.Equal(first.Data, second.Data) {
			t.Errorf("%s: one seed gives different numbers", c)
		}
		c.attrs["seed"] = c.attrs["seed"].(float64) + 1
		if variance > 1e-3 && slices.Equal(first.Data, run().Data) {
			t.Errorf("%s: two seeds give the same numbers", c)
		}
		x, err := first.Float64s()
		if err != nil || len(x) != n {
			t.Fatalf("%s: %d numbers, %v", c, len(x), err)
		}
		var sum, squares float64
		for _, v := range x {
			sum += v - mean
			squares += (v - mean) * (v - mean)
			if v < lo || v > hi || v == hi && c.op[:7] == "RandomU" {
				t.Fatalf("%s: %v is outside", c, v)
			}
		}
		round := (math.Abs(mean) + math.Sqrt(variance)) / 256 // of the narrow types
		if sd := math.Sqrt(variance / n); math.Abs(sum/n) > 6*sd+round/8 || math.Abs(squares/n-variance) > 6*variance*math.Sqrt(3.0/n)+6*sd*math.Abs(1-2*mean)*map[bool]float64{true: 1}[hi == 1 && lo == 0]+round*round {
			t.Errorf("%s: mean %v and variance %v, want %v and %v", c, mean+sum/n, squares/n, mean, variance)
		}
	}
}
