package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// AffineGridConfig has the attributes of AffineGrid.
type AffineGridConfig struct {
	AlignCorners bool `onnx:"align_corners"` // −1 and 1 are the centers of the outermost pixels, not their outer edges
}

// Operator makes AffineGridConfig a Config.
func (AffineGridConfig) Operator() op.Name { return op.Name{Name: "AffineGrid"} }

func affineGrid() *op.Op {
	return &op.Op{
		Name: "AffineGrid", Since: []int{20}, Doc: "The sampling positions that an affine map gives, for GridSample.",
		In: "theta T, size int64 shape", Out: "grid T", Where: op.Where{"T": op.Floats()}, Attrs: AffineGridConfig{},
		Infer: inferAffineGrid, Lower: lowerAffineGrid, Pinned: "the axes are coordinates",
	}
}

func inferAffineGrid(c *op.Call) ([]op.Type, error) {
	size, err := c.Dims(1)
	if err != nil {
		return []op.Type{{DType: c.In[0].DType, Unranked: true}}, err
	}
	n := len(size) - 2
	if n != 2 && n != 3 {
		return nil, c.Errorf("size has %d entries, want 4 or 5", len(size))
	}
	if t := c.In[0]; !t.Unranked && (len(t.Shape) != 3 || t.Shape[0].Differ(size[0]) || t.Shape[1].Differ(op.D(n)) || t.Shape[2].Differ(op.D(n+1))) {
		return nil, c.Mismatch(0, op.T(t.DType, size[0], op.D(n), op.D(n+1)), t)
	}
	if err := noNegative(c, 1, size); err != nil {
		return []op.Type{c.In[0].With(anyDims(n + 2)...)}, err
	}
	for _, d := range size {
		if d.Sym == "" && d.Size > maxExtent {
			return nil, c.Errorf("size %v is out of range", size)
		}
	}
	return convOutput(c, append(append([]op.Dim{size[0]}, size[2:]...), op.D(n)))
}

func lowerAffineGrid(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	b, out := composeOn(c, in), c.Out[0].Sizes()
	n := len(out) - 2
	space := out[1 : n+1]
	points := dtype.Product(space)
	// Homogeneous coordinates, the last spatial axis first.
	v := make([]float64, points*(n+1))
	workers := poolOf(c)
	pace := workers.Pace()
	for p := range points {
		pace.Did(n + 1)
		row, rest := v[p*(n+1):(p+1)*(n+1)], p
		for a := n - 1; a >= 0; a-- {
			row[n-1-a] = gridCoordinate(rest%space[a], space[a], c.Config.(AffineGridConfig).AlignCorners)
			rest /= space[a]
		}
		row[n] = 1
	}
	base := b.constant(tensorOf(workers, c.In[0].DType, v, points, n+1))
	grid := b.do(op.Plain("MatMul"), base, b.transpose(in[0], 0, 2, 1))
	return b.results(in, b.reshape(grid, c.Out[0].Shape...))
}

// gridCoordinate is where pixel i of n is between −1 and 1.
func gridCoordinate(i, n int, corners bool) float64 {
	if !corners {
		return float64(2*i+1)/float64(n) - 1
	}
	if n == 1 {
		return 0
	}
	return float64(2*i)/float64(n-1) - 1
}
