package conformance_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// boundSweeps: equal elements where the order decides, and pads longer than the axis.
var boundSweeps = map[string]func(r *draw) trial{
	"TopK of equal elements": func(r *draw) trial {
		shape := r.shape(r.between(1, 3), 1, 6)
		axis := r.axis(len(shape))
		x := r.numbers(pick(r, dtype.Float32, dtype.Float64, dtype.Int32, dtype.Int64), 0, 2, shape...)
		return trial{op: "TopK", opset: 11, attrs: map[string]any{"axis": axis, "largest": r.IntN(2), "sorted": 1}, in: r.with(fed(x), ints(r.between(0, shape[(axis+len(shape))%len(shape)]))), out: 2}
	},
	"NonMaxSuppression of equal scores": func(r *draw) trial {
		c := suppression(r)
		c.in[1].value = r.numbers(dtype.Float32, 0, 2, c.in[1].value.Shape()...)
		boxes := c.in[0].value.Shape()
		c.in[0].value = r.numbers(dtype.Float32, 0, 3, boxes...) // of no area, some of them, and equal
		return c
	},
	"Pad beyond the axis": func(r *draw) trial {
		shape := r.shape(r.between(1, 3), 1, 4)
		mode, pads := pick(r, "edge", "wrap", "constant", "reflect"), make([]int, 2*len(shape))
		for i := range pads {
			n := shape[i%len(shape)]
			if pads[i] = r.between(0, 3*n); mode == "reflect" { // ONNX Runtime refuses more
				pads[i] = r.between(0, n-1)
			} else if mode == "wrap" { // and repeats the axis once
				pads[i] = r.between(0, n)
			}
		}
		return trial{op: "Pad", opset: 19, attrs: map[string]any{"mode": mode}, in: r.with(fed(r.floats(shape...)), ints(pads...))}
	},
}

// TestSweepNarrow converts and quantizes float32 to the types of 8 and 4 bits and back: every float16, what is next to it, halves between
// neighbors, and what is beyond.
func TestSweepNarrow(t *testing.T) {
	if testing.Short() {
		t.Skip("needs ONNX Runtime")
	}
	ort := oracle.ORT(t)
	var x []float32
	for bits := range 1 << 16 {
		half := dtype.New(dtype.Float16, 1)
		copy(dtype.Bytes(half), []byte{byte(bits), byte(bits >> 8)})
		f := dtype.Slice[float32](must(dtype.ConvertTo(dtype.Float32, half)).(*tensor.Dense))[0]
		if bits%4 == 0 || math.Abs(float64(f)) > 200 {
			x = append(x, f, math.Nextafter32(f, float32(math.Inf(1))), f*1.0005)
		}
	}
	x = append(x, 1e10, -1e10, 65536, float32(math.NaN()), 3.5, 4.5, -8.5, -7.5, 7.5, 14.5, 15.5)
	value := list(x...)
	for _, to := range []dtype.DType{dtype.Float8E4M3FN, dtype.Float8E4M3FNUZ, dtype.Float8E5M2, dtype.Float8E5M2FNUZ, dtype.Int4, dtype.Uint4} {
		const opset = 21
		back := trial{op: "Cast", opset: opset, attrs: map[string]any{"to": int(dtype.Float32)}, in: []argument{{}}, from: map[int]string{0: "y0"}}
		var firsts []trial
		for saturate := range 2 {
			c := trial{op: "Cast", opset: opset, attrs: map[string]any{"to": int(to)}, in: fed(value)}
			if to.IsFloat() {
				c.attrs["saturate"] = saturate
			} else if saturate == 1 {
				continue
			}
			if !to.IsFloat() { // ONNX leaves open what is beyond the integers, and ONNX Runtime rounds halves away from 0
				c.in = fed(list[float32](-8, -7.9, -7.4, -1.6, -0.4, 0, 0.6, 1.4, 2.7, 6.4, 7))
				if to == dtype.Uint4 {
					c.in = fed(list[float32](0, 0.4, 1.6, 2.4, 6.9, 7, 14.6, 15))
				}
			}
			firsts = append(firsts, c)
		}
		finite := slices.DeleteFunc(slices.Clone(x), func(f float32) bool { return f-f != 0 })
		for _, scale := range []float32{1, 0.5, 3} {
			firsts = append(firsts, trial{op: "QuantizeLinear", opset: opset, attrs: map[string]any{"output_dtype": int(to)}, in: fed(list(finite...), scalar(scale))})
		}
		for _, c := range firsts {
			w := network{c, back}
			if c.op == "QuantizeLinear" {
				w[1] = trial{op: "DequantizeLinear", opset: opset, in: []argument{{}, {value: scalar(float32(1)), constant: true}}, from: map[int]string{0: "y0"}}
			}
			compareNarrow(t, ort, w, to)
		}
	}
}

func compareNarrow(t *testing.T, ort *oracle.Runtime, w network, to dtype.DType) {
	t.Helper()
	what := fmt.Sprint(to, " ", w[0].op, w[0].attrs)
	var m onnxpb.ModelProto
	if err := proto.Unmarshal(w.model(t, &draw{Rand: rand.New(rand.NewPCG(1, 1))}), &m); err != nil {
		t.Fatal(err)
	}
	m.Graph.Output = m.Graph.Output[1:] // node's binding has no narrow types
	model, err := proto.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	feed, in := nn.Feed{}, map[string]oracle.Tensor{}
	for k, a := range w[0].in {
		feed[inputName(k)], in[inputName(k)] = a.value, packValue(a.value)
	}
	want, err := ort.Run(model, in)
	got, ours := evaluate(t, model, feed)
	if err != nil || ours != nil {
		t.Logf("%s: ONNX Runtime: %v; graft: %v", what, err, ours)
		return
	}
	g, y := packValue(got[outputName(stride)]), want[outputName(stride)]
	if bytes.Equal(g.Data, y.Data) {
		return
	}
	a, _ := g.Float64s()
	b, _ := y.Float64s()
	differ := 0
	from := dtype.Slice[float32](w[0].in[0].value.(*tensor.Dense))
	// Without saturation what is beyond the largest number is NaN or infinity, also where ONNX Runtime rounds it to that number, or infinity to NaN.
	largest := map[dtype.DType]float64{dtype.Float8E4M3FN: 448, dtype.Float8E5M2: 57344}[to]
	for i := range a {
		if w[0].attrs["saturate"] == 0 && largest > 0 && math.Abs(float64(from[i])) > largest {
			continue
		}
		if a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i]) {
			if differ++; differ < 4 {
				t.Errorf("%s of %v: %v, ONNX Runtime gives %v", what, from[i], a[i], b[i])
			}
		}
	}
	if differ > 0 {
		t.Errorf("%s: %d of %d differ", what, differ, len(a))
	}
}
