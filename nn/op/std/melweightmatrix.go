package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// MelWeightMatrixConfig has the attributes of MelWeightMatrix.
type MelWeightMatrixConfig struct {
	Output op.DType `onnx:"output_datatype,default=float32"` // type of the output
}

// Operator makes MelWeightMatrixConfig a Config.
func (MelWeightMatrixConfig) Operator() op.Name { return op.Name{Name: "MelWeightMatrix"} }

func melWeightMatrix() *op.Op {
	return &op.Op{
		Name: "MelWeightMatrix", Since: []int{17}, Doc: "The matrix that brings spectra to the mel scale.",
		In:  "num_mel_bins T1 shape, dft_length T1 shape, sample_rate T1, lower_edge_hertz T2, upper_edge_hertz T2",
		Out: "output T3", Where: op.Where{"T1": op.Indices(), "T2": op.Floats(), "T3": op.Numeric()}, Attrs: MelWeightMatrixConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			t := c.Config.(MelWeightMatrixConfig).Output
			if !t.IsNumeric() {
				return nil, c.Errorf("output_datatype %v is not numeric", t)
			}
			mel, err := scalarOf(c, 0)
			if err != nil {
				return []op.Type{op.T(t, op.Unknown(), op.Unknown())}, err
			}
			n, err := scalarOf(c, 1)
			if err != nil {
				return []op.Type{op.T(t, op.Unknown(), op.D(mel))}, err
			}
			if mel < 1 || n < 1 || mel > 1<<16 || n > 1<<24 {
				return nil, c.Errorf("%d bands of %d points are out of range", mel, n)
			}
			return []op.Type{op.Shaped(t, n/2+1, mel)}, nil
		},
		Kernel: valueFunction(weighMel).kernel, NoGrad: "constant", Pinned: "the axes are frequencies",
	}
}

func weighMel(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	n, err := scalarOf(c, 1)
	if err != nil {
		return nil, err
	}
	rows, bands := c.Out[0].Shape[0].Size, c.Out[0].Shape[1].Size
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		var given [3]float64 // sample rate, lower and upper edge
		for i := range given {
			v, err := numbersOf(p, c, i+2, in[i+2])
			if err != nil || len(v) != 1 {
				return nil, c.Mismatch(i+2, "one number", op.TypeOf(in[i+2]))
			}
			given[i] = v[0]
		}
		mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
		lo, hi := mel(given[1]), mel(given[2])
		edges := make([]int, bands+2)
		for i := range edges {
			f := 700 * (math.Pow(10, (lo+float64(i)*(hi-lo)/float64(bands+2))/2595) - 1)
			e := math.Floor(float64(n+1) * f / given[0])
			if !(e >= 0 && e <= float64(rows)) || i > 0 && int(e) < edges[i-1] {
				return nil, c.Errorf("band edges from %v to %v Hz do not fit a sample rate of %v", given[1], given[2], given[0])
			}
			edges[i] = int(e)
		}
		y := make([]float64, rows*bands)
		set := func(row, band int, v float64) {
			if row < rows {
				y[row*bands+band] = v
			}
		}
		for b := range bands {
			from, mid, to := edges[b], edges[b+1], edges[b+2]
			if from == mid {
				set(mid, b, 1)
			}
			p.Check()
			for k := from; k <= mid && from < mid; k++ {
				set(k, b, float64(k-from)/float64(mid-from))
			}
			for k := mid; k < to; k++ {
				set(k, b, float64(to-k)/float64(to-mid))
			}
		}
		d, err := tensorOf(p, c.Out[0].DType, y, rows, bands)
		return []dtype.Value{d}, err
	}, nil
}
