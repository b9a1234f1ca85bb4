package prune

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
)

// TestMasks compares masks with what is said of them: the smallest of a tensor, or of each run of M along the axis that is summed over.
func TestMasks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		s     Sparsity
		shape []int
		axis  int
	}{
		{Sparsity{Share: 0.5}, []int{3, 5}, 1}, {Sparsity{Share: 0}, []int{3, 5}, 1}, {Sparsity{Share: 1}, []int{3, 5}, 0}, {Sparsity{Share: 0.3}, []int{10}, 0},
		{Sparsity{N: 2, M: 4}, []int{3, 8}, 1}, {Sparsity{N: 1, M: 2}, []int{6, 5}, 0}, {Sparsity{N: 1, M: 3}, []int{2, 7, 3, 2}, 1}, {Sparsity{N: 2, M: 2}, []int{2, 4}, 1},
		{Sparsity{N: 1, M: 1}, []int{2, 4}, 1}, {Sparsity{N: 2, M: 4}, []int{2, 3}, 1}, {Sparsity{N: 3, M: 4}, []int{4, 4, 2}, 0},
	} {
		n := 1
		for _, k := range c.shape {
			n *= k
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		d, err := dtype.FromFloats(dtype.Float32, x, c.shape...)
		if err != nil {
			t.Fatal(err)
		}
		x, _ = dtype.Float64s(d)
		m, err := c.s.mask(c.axis, d)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := dtype.Float64s(m)
		for i := range x {
			larger, among := 0, 0 // how many of those that it is compared with are larger
			for j := range x {
				if c.s.M > 0 && !sameRun(i, j, c.shape, c.axis, c.s.M) {
					continue
				}
				if among++; math.Abs(x[j]) > math.Abs(x[i]) {
					larger++
				}
			}
			stays := larger < n-int(c.s.Share*float64(n))
			if c.s.M > 0 {
				stays = among < c.s.M || larger < c.s.N
			}
			if (got[i] == 1) != stays {
				t.Errorf("%+v of %v: element %d is %v", c.s, c.shape, i, got[i])
			}
		}
	}
	for _, c := range []struct {
		s  Sparsity
		ok bool
	}{
		{Sparsity{}, true}, {Sparsity{Share: 1}, true}, {Sparsity{Share: 1.01}, false}, {Sparsity{Share: -0.01}, false}, {Sparsity{Share: math.NaN()}, false},
		{Sparsity{N: 1, M: 1}, true}, {Sparsity{N: 0, M: 2}, false}, {Sparsity{N: 3, M: 2}, false}, {Sparsity{N: 2, M: 2}, true},
	} {
		if err := uneven(t).Edit(c.s.Mask); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
}

// sameRun reports whether two elements are in one run of m along an axis.
func sameRun(i, j int, shape []int, axis, m int) bool {
	for k := len(shape) - 1; k >= 0; k-- {
		a, b := i%shape[k], j%shape[k]
		if k == axis && a/m != b/m || k != axis && a != b {
			return false
		}
		i, j = i/shape[k], j/shape[k]
	}
	return true
}

// A weight that two layers share is masked once, one that is kept or no weight is not, and baking leaves other products alone.
func TestMaskShared(t *testing.T) {
	g := nn.New("m")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3]")
		w := e.Param("w", initial.Normal{Std: 1}, 3, 3)
		mul := func(x *nn.Value) *nn.Value { return e.Node(op.Plain("MatMul"), x, w).Out(0) }
		h := e.Node(op.Plain("Mul"), mul(mul(x)), e.Param("scale", initial.Ones{}, 3)).Out(0)
		h = e.Node(op.Plain("MatMul"), h, e.Node(op.Plain("Transpose"), h).Out(0)).Out(0)
		e.Output("y", h)
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(Sparsity{Share: 0.5}.Mask); err != nil {
		t.Fatal(err)
	}
	var masks []string
	for p := range g.Params() {
		if strings.HasSuffix(p.Name(), maskSuffix) {
			masks = append(masks, p.Name())
		}
	}
	if !slices.Equal(masks, []string{"w.mask"}) {
		t.Errorf("masks are %v", masks)
	}
	if err := g.Edit(func(e *nn.Edit) { // products that only their names make look like masks
		computed, param := e.Node(op.Plain("Neg"), e.Value("x")).Out(0), e.Param("p", initial.Ones{}, 3)
		e.RenameValue(computed, "h")
		e.Output("a", e.Node(op.Plain("Mul"), computed, e.Param("h.mask", initial.Ones{}, 3)).Out(0))
		turned := e.Node(op.Plain("Neg"), e.Value("x")).Out(0)
		e.RenameValue(turned, "p.mask")
		e.Output("b", e.Node(op.Plain("Mul"), param, turned).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(Bake); err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Collect(g.Nodes(nn.Ops("Mul")))); n != 3 {
		t.Errorf("%d products are left, want all but the mask's", n)
	}
	if err := g.Edit(Sparsity{Share: 0.5, Keep: []nn.Selector{nn.Ops("MatMul")}}.Mask); err == nil || !strings.Contains(err.Error(), "no weights") {
		t.Error(err)
	}
}
