package prune

import (
	"math"
	"sort"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// Sparsity sets single weights to zero instead of removing channels: those with the smallest absolute values. Shapes do
// not change.
type Sparsity struct {
	Share float64 // fraction of each tensor to set to zero
	// N:M sparsity: of every M consecutive weights along the input channels, N are kept. Both zero: Share decides.
	N, M int
	Keep []nn.Selector // nodes whose weights do not change
}

// maskSuffix is the suffix of the names of masks, by which Bake finds them.
const maskSuffix = ".mask"

// Mask multiplies the weights of convolutions and matrix products by constant masks of zeros and ones. The masks are
// nodes of the graph, so they are kept in training and saved with the model; a masked weight has gradient zero.
func (s Sparsity) Mask(e *nn.Edit) {
	if s.M != 0 && (s.N < 1 || s.N > s.M) || s.M == 0 && (s.Share < 0 || s.Share > 1 || math.IsNaN(s.Share)) {
		e.Failf("N is %d, M %d and Share %v: want 1 <= N <= M, or no M and a Share between 0 and 1", s.N, s.M, s.Share)
		return
	}
	done := map[*nn.Value]bool{}
	for _, n := range e.Nodes(weighted) {
		layer, _ := n.WeightedSum()
		v := n.In(layer.Weight)
		if v == nil || v.Param() == nil || v.Param().Role() != nn.Weight || done[v] || s.keeps(n) {
			continue
		}
		done[v] = true
		m, err := s.mask(layer.In, direct.Data(v.Param()))
		if err != nil {
			e.Fail(err)
			return
		}
		users := v.Users()
		c := e.Const(v.Name()+maskSuffix, m)
		if e.Err() != nil {
			return
		}
		e.SetRole(c, nn.Constant)
		masked := e.Node(op.Plain("Mul"), v, c).Out(0)
		if e.Err() != nil {
			return
		}
		e.Rewire(v, masked, users...)
		e.SetRole(v, nn.Weight)
	}
	if len(done) == 0 {
		e.Failf("there are no weights to mask")
	}
}

func (s Sparsity) keeps(n *nn.Node) bool {
	for _, k := range s.Keep {
		if k(n) {
			return true
		}
	}
	return false
}

// mask returns 1 for weights that are kept, 0 for others; axis is the reduction axis.
func (s Sparsity) mask(axis int, d *tensor.Dense) (*tensor.Dense, error) {
	x, err := dtype.Float64s(d)
	if err != nil {
		return nil, err
	}
	m := make([]float64, len(x))
	for i := range m {
		m[i] = 1
	}
	for _, block := range s.blocks(axis, d.Shape()) {
		sort.SliceStable(block, func(a, b int) bool { return math.Abs(x[block[a]]) < math.Abs(x[block[b]]) })
		drop := int(s.Share * float64(len(block)))
		if s.M > 0 {
			drop = max(0, len(block)-s.N)
		}
		for _, i := range block[:drop] {
			m[i] = 0
		}
	}
	return dtype.FromFloats(dtype.Of(d.Dtype()), m, d.Shape()...)
}

// blocks returns the sets of weights in each of which the smallest are masked: all weights, or runs of M
// along the reduction axis.
func (s Sparsity) blocks(axis int, shape []int) [][]int {
	total := 1
	for _, k := range shape {
		total *= k
	}
	if s.M == 0 {
		all := make([]int, total)
		for i := range all {
			all[i] = i
		}
		return [][]int{all}
	}
	inner := 1
	for _, k := range shape[axis+1:] {
		inner *= k
	}
	var list [][]int
	for start := range total {
		if k := start / inner % shape[axis]; k%s.M == 0 && k+s.M <= shape[axis] {
			var b []int
			for i := range s.M {
				b = append(b, start+i*inner)
			}
			list = append(list, b)
		}
	}
	return list
}

// masked selects products of two operands, as Mask makes them.
func masked(n *nn.Node) bool { return n.Traits().Arithmetic == trait.Multiplies }

// Bake multiplies weights by their masks (Sparsity.Mask) and removes the nodes of the masks.
func Bake(e *nn.Edit) {
	for _, n := range e.Nodes(masked) {
		w, m := n.In(0), n.In(1)
		if w.Param() == nil || m.Param() == nil || m.Name() != w.Name()+maskSuffix {
			continue
		}
		x, err := dtype.Float64s(direct.Data(w.Param()))
		e.Fail(err)
		by, err := dtype.Float64s(direct.Data(m.Param()))
		e.Fail(err)
		if e.Err() != nil {
			return
		}
		for i := range x {
			x[i] *= by[i]
		}
		d, err := dtype.FromFloats(w.Type().DType, x, direct.Data(w.Param()).Shape()...)
		e.Fail(err)
		direct.SetData(e, w, d)
		e.Rewire(n.Out(0), w)
		e.Remove(n)
	}
}
