package convolution

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/epiloguetest"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

var winogradShapes = []*Shape{
	plane3x3(1, 16, 16, 8, 8, 1),
	plane3x3(2, 16, 32, 7, 9, 1),
	plane3x3(1, 20, 35, 5, 6, 0),
	plane3x3(3, 33, 16, 4, 4, 2),
	plane3x3(2, 24, 40, 1, 2, 1),
	plane3x3(5, 17, 50, 3, 3, 1),
	plane3x3(2, 48, 70, 14, 13, 1),
	plane3x3(1, 150, 64, 7, 7, 1),
	plane3x3(3, 16, 16, 30, 41, 1),
	plane3x3(4, 17, 20, 40, 41, 1), // enough tiles for threads to take them apart
	plane3x3(3, 32, 40, 2, 2, 1),
	square(2, 16, 24, 1, 8, 3, 2, 1), // stride 2
	square(1, 20, 35, 1, 11, 3, 2, 1),
	square(9, 33, 16, 1, 2, 3, 2, 1),
	square(3, 70, 48, 1, 13, 3, 2, 0),
	convolution(2, 24, 40, 1, []int{7, 30}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	convolution(12, 16, 96, 1, []int{6, 9}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	{N: 2, C: 18, OC: 19, In: []int{9, 8}, Kernel: []int{3, 3}, Out: []int{8, 9}, PadBegin: []int{1, 2}, PadEnd: []int{0, 1}},
	square(2, 16, 32, 1, 9, 5, 1, 2), // blocks of 3×3
	square(3, 20, 35, 1, 7, 4, 1, 0),
	square(1, 20, 17, 1, 6, 7, 1, 6),
	square(2, 16, 24, 1, 2, 5, 1, 4),
	square(5, 17, 20, 1, 30, 5, 1, 2),
	convolution(2, 24, 16, 1, []int{6, 19}, []int{3, 9}, []int{1, 1}, []int{1, 1}, []int{1, 7}),
	{N: 2, C: 18, OC: 19, In: []int{9, 8}, Kernel: []int{6, 5}, Out: []int{8, 9}, PadBegin: []int{1, 2}, PadEnd: []int{3, 3}},
}

func plane3x3(n, c, oc, high, wide, pad int) *Shape {
	return convolution(n, c, oc, 1, []int{high, wide}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{pad, pad})
}

// eachWay calls f with every tile that can compute a pass of s, those that are never chosen included.
func eachWay(s *Shape, pass winogradPass, f func(t *winogradTile, g *geometry)) {
	g := s.geometry()
	ways := winogradWays(&g, pass)
	if g.stride[1] == 1 && !slices.Contains(ways, winograd4) {
		ways = append(ways, winograd4, winograd2)
	}
	for _, t := range ways {
		f(t, &g)
	}
}

func testWinograd[T kernel.Float](t *testing.T, tol float64) {
	all := kerneltest.Pools(t)
	for _, s := range winogradShapes {
		x, w := kerneltest.Random[T](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[T](s.OC*s.C*kerneltest.Product1(s.Kernel), 2)
		dy := kerneltest.Random[T](s.N*s.OC*kerneltest.Product1(s.Out), 4)
		y, dx, dw := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w))
		visit(s, func(xi, wi, yi int) {
			y[yi] += float64(x[xi]) * float64(w[wi])
			dx[xi] += float64(dy[yi]) * float64(w[wi])
			dw[wi] += float64(dy[yi]) * float64(x[xi])
		})
		for name, p := range all {
			for pass, want := range [][]float64{y, dx, dw} {
				eachWay(s, winogradPass(pass), func(tile *winogradTile, g *geometry) {
					what := fmt.Sprintf("%s F%d/%d %v pass %d", name, tile.m, tile.step, *s, pass)
					got, ok := kerneltest.Random[T](len(want), 5), false
					switch winogradPass(pass) {
					case winogradY:
						ok = forwardWinograd(p, tile, g, x, w, elementwise.Epilogue[T]{}, got, nil)
					case winogradDX:
						ok = dataWinograd(p, tile, g, dy, w, got, nil)
					case winogradDW:
						ok = weightWinograd(p, tile, g, x, dy, got, nil)
					}
					if !ok {
						t.Error(what, "is not finite")
					}
					relative(t, what, got, want, tol)
				})
			}
		}
	}
}

// relative fails where got is further from want than tol times the largest element of want.
func relative[T kernel.Float](t *testing.T, what string, got []T, want []float64, tol float64) {
	t.Helper()
	largest, worst := 0.0, 0.0
	for i, v := range want {
		largest = max(largest, abs(v))
		worst = max(worst, abs(v-float64(got[i])))
	}
	if !(worst <= tol*largest) {
		t.Errorf("%s: off by %g of %g", what, worst, largest)
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestWinograd(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testWinograd[float64](t, 1e-13) })
	t.Run("float32", func(t *testing.T) { testWinograd[float32](t, 1e-5) })
}

// The epilogue is that of every other convolution.
func TestWinogradEpilogue(t *testing.T) {
	s := plane3x3(2, 32, 20, 9, 10, 1)
	g := s.geometry()
	x, w := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[float32](s.OC*s.C*kerneltest.Product1(s.Kernel), 2)
	space := kerneltest.Product1(s.Out)
	y := make([]float64, s.N*s.OC*space)
	visit(s, func(xi, wi, yi int) { y[yi] += float64(x[xi]) * float64(w[wi]) })
	largest := 0.0
	for _, v := range y {
		largest = max(largest, abs(v))
	}
	for what, e := range epiloguetest.Epilogues[float32](s.OC, len(y)) {
		got := make([]float32, len(y))
		forwardWinograd(nil, winograd4, &g, x, w, e, got, nil)
		for q, v := range y {
			// What the convolution may be off by, its scale and the steepest activation (1.1) on top.
			scale := 1.1
			if e.Scale != nil {
				scale *= abs(float64(e.Scale[q/space%s.OC]))
			}
			want := epiloguetest.Finished(&e, v, q/space%s.OC, q)
			if d := abs(float64(got[q]) - want); !(d <= 1e-5*largest*scale+1e-6) {
				t.Errorf("%s: element %d is %v, want %v", what, q, got[q], want)
				break
			}
		}
	}
}

// An infinity or NaN anywhere gives what the definition says, and is not spread over a tile.
func TestWinogradNotFinite(t *testing.T) {
	for _, s := range []*Shape{plane3x3(2, 64, 64, 12, 12, 1), square(2, 64, 64, 1, 24, 3, 2, 1), plane3x3(16, 64, 64, 2, 2, 1), square(8, 64, 64, 1, 12, 5, 1, 2), dilated(2, 64, 64, []int{24, 25}, []int{2, 2}, []int{2, 2})} {
		testNotFinite(t, s)
	}
}

func testNotFinite(t *testing.T, s *Shape) {
	g := s.geometry()
	if winogradFor[float32](s, &g, winogradY) == nil || winogradFor[float32](s, &g, winogradDW) == nil {
		if kernel.Has(kernel.BlockGroup) && !kernel.SIMD {
			t.Skip("no transforms for this processor")
		}
		t.Fatal("the test is of another algorithm")
	}
	exact := *s
	exact.exact = true
	for what, v := range map[string]float64{"Inf": math.Inf(1), "-Inf": math.Inf(-1), "NaN": math.NaN(), "overflow": math.MaxFloat32} {
		x, w := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[float32](s.OC*s.C*kerneltest.Product1(s.Kernel), 2)
		dy := kerneltest.Random[float32](s.N*s.OC*kerneltest.Product1(s.Out), 4)
		for name, into := range map[string][]float32{"x": x, "w": w, "dy": dy} {
			at := len(into) / 3
			was := into[at]
			into[at] = float32(v)
			got, want := make([]float32, len(dy)), make([]float32, len(dy))
			Forward(nil, s, x, w, elementwise.Epilogue[float32]{}, got, nil)
			Forward(nil, &exact, x, w, elementwise.Epilogue[float32]{}, want, nil)
			kerneltest.Near(t, what+" in "+name+": y", got, want, 1e-3)
			got, want = make([]float32, len(x)), make([]float32, len(x))
			BackwardData(nil, s, dy, w, got, nil)
			BackwardData(nil, &exact, dy, w, want, nil)
			kerneltest.Near(t, what+" in "+name+": dx", got, want, 1e-3)
			got, want = make([]float32, len(w)), make([]float32, len(w))
			BackwardWeight(nil, s, x, dy, got, nil)
			BackwardWeight(nil, &exact, x, dy, want, nil)
			kerneltest.Near(t, what+" in "+name+": dw", got, want, 1e-3)
			into[at] = was
		}
	}
}

// TestWinogradPortable compares the assembly with the portable transforms, up to rounding.
func TestWinogradPortable(t *testing.T) {
	kerneltest.Portably(func() { testWinograd[float32](t, 1e-5) })
}

func TestWinogradSameBytes(t *testing.T) {
	p := kernel.NewPool(2)
	defer p.Close()
	for _, s := range winogradShapes {
		x, w := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[float32](s.OC*s.C*kerneltest.Product1(s.Kernel), 2)
		dy := kerneltest.Random[float32](s.N*s.OC*kerneltest.Product1(s.Out), 4)
		same := func(what string, n int, run func(got []float32)) {
			first := kerneltest.Random[float32](n, 1)
			run(first)
			for i := range 2 {
				again := kerneltest.Random[float32](n, uint64(i+2))
				run(again)
				kerneltest.Near(t, fmt.Sprint(*s, what), again, first, 0)
			}
		}
		eachWay(s, winogradY, func(tile *winogradTile, g *geometry) {
			same("y", len(dy), func(got []float32) { forwardWinograd(p, tile, g, x, w, elementwise.Epilogue[float32]{}, got, nil) })
		})
		eachWay(s, winogradDX, func(tile *winogradTile, g *geometry) {
			same("dx", len(x), func(got []float32) { dataWinograd(p, tile, g, dy, w, got, nil) })
		})
		eachWay(s, winogradDW, func(tile *winogradTile, g *geometry) {
			same("dw", len(w), func(got []float32) { weightWinograd(p, tile, g, x, dy, got, nil) })
		})
	}
}
