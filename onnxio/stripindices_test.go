package onnxio

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
	"math/rand/v2"
)

// TestUnstripIndices: tables of indices that are stripped and filled again stay within the range that they had, and have
// about the same moments; so have other integers, within their type.
func TestUnstripIndices(t *testing.T) {
	const n = 4096
	window := func(i int) int { // relative positions in windows of 8 × 8, 0 … 224
		a, b := i/64, i%64
		return (a/8-b/8+7)*15 + a%8 - b%8 + 7
	}
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		of       dtype.DType
		at       func(i int) int
		low, top int
	}{
		"all rows":           {dtype.Int64, func(i int) int { return i % 50 }, 0, 49},
		"relative positions": {dtype.Int64, window, 0, 224},
		"of a narrow type":   {dtype.Int32, func(i int) int { return i % 2 }, 0, 1},
		"mostly the first":   {dtype.Int64, func(i int) int { return max(0, i%100-90) }, 0, 9},
		"one only":           {dtype.Int64, func(int) int { return 3 }, 3, 3},
		"a quantized weight": {dtype.Int8, func(int) int { return int(math.Round(max(-128, min(127, 60*r.NormFloat64())))) }, -128, 127},
		"bright pixels":      {dtype.Uint8, func(i int) int { return 255 - i%2*100 }, 0, 255},
		"a mask":             {dtype.Bool, func(i int) int { return min(i%4, 1) }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			list := make([]int, n)
			for i := range list {
				list[i] = c.at(i)
			}
			d, err := dtype.FromInts(c.of, list, n)
			if err != nil {
				t.Fatal(err)
			}
			p := &onnxpb.TensorProto{DataType: proto.Int32(int32(c.of)), Dims: []int64{n}, RawData: rawData(d, c.of)}
			if ok, err := stripTensor(p, 100); !ok || err != nil {
				t.Fatal(ok, err)
			}
			want, _ := parseStripped(p)
			if ok, err := unstripTensor(p, rand.New(rand.NewPCG(3, 4))); !ok || err != nil {
				t.Fatal(ok, err)
			}
			v, err := decodeTensor(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			elems, err := float64s(v)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range elems {
				if x < float64(c.low) || x > float64(c.top) || x != math.Trunc(x) {
					t.Fatalf("%g is not an integer from %d to %d", x, c.low, c.top)
				}
			}
			got, spread := moments(elems), math.Sqrt(want.Variance)
			if math.Abs(got.Average-want.Average) > 0.1*spread || math.Abs(math.Sqrt(got.Variance)-spread) > 0.15*spread {
				t.Errorf("moments %v, want about %v", got, want)
			}
		})
	}
}
