package kernel

import (
	"fmt"
	"math"
	"runtime"
	"testing"
)

var winogradShapes = []*ConvShape{
	plane3x3(1, 16, 16, 8, 8, 1),
	plane3x3(2, 16, 32, 7, 9, 1),
	plane3x3(1, 20, 35, 5, 6, 0),
	plane3x3(3, 33, 16, 4, 4, 2),
	plane3x3(2, 24, 40, 1, 2, 1),
	plane3x3(5, 17, 50, 3, 3, 1),
	plane3x3(2, 48, 70, 14, 13, 1),
	plane3x3(1, 150, 64, 7, 7, 1),
	plane3x3(3, 16, 16, 30, 41, 1),
	{N: 2, C: 18, OC: 19, In: []int{9, 8}, Kernel: []int{3, 3}, Out: []int{8, 9}, PadBegin: []int{1, 2}, PadEnd: []int{0, 1}},
}

func plane3x3(n, c, oc, high, wide, pad int) *ConvShape {
	return convolution(n, c, oc, 1, []int{high, wide}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{pad, pad})
}

func testWinograd[T Float](t *testing.T, tile *winogradTile, tol float64) {
	all := pools(t)
	for _, s := range winogradShapes {
		x, w := random[T](s.N*s.C*product1(s.In), 1), random[T](s.OC*s.C*9, 2)
		dy := random[T](s.N*s.OC*product1(s.Out), 4)
		y, dx, dw := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w))
		visit(s, func(xi, wi, yi int) {
			y[yi] += float64(x[xi]) * float64(w[wi])
			dx[xi] += float64(dy[yi]) * float64(w[wi])
			dw[wi] += float64(dy[yi]) * float64(x[xi])
		})
		g := s.geometry()
		for name, p := range all {
			for _, pass := range []struct {
				name string
				want []float64
				run  func(got []T) bool
			}{
				{"y", y, func(got []T) bool { return forwardWinograd(p, tile, &g, x, w, Epilogue[T]{}, got, nil) }},
				{"dx", dx, func(got []T) bool { return dataWinograd(p, tile, &g, dy, w, got, nil) }},
				{"dw", dw, func(got []T) bool { return weightWinograd(p, tile, &g, x, dy, got, nil) }},
			} {
				what := fmt.Sprint(name, " F", tile.m, " ", *s, " ", pass.name)
				got := random[T](len(pass.want), 5)
				if !pass.run(got) {
					t.Error(what, "is not finite")
				}
				relative(t, what, got, pass.want, tol)
			}
		}
	}
}

// relative fails where got is further from want than tol times the largest element of want.
func relative[T Float](t *testing.T, what string, got []T, want []float64, tol float64) {
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
	for _, tile := range []*winogradTile{winograd2, winograd4} {
		t.Run(fmt.Sprintf("float64/F%d", tile.m), func(t *testing.T) { testWinograd[float64](t, tile, 1e-13) })
		t.Run(fmt.Sprintf("float32/F%d", tile.m), func(t *testing.T) { testWinograd[float32](t, tile, 1e-5) })
	}
}

// The epilogue is that of every other convolution.
func TestWinogradEpilogue(t *testing.T) {
	s := plane3x3(2, 32, 20, 9, 10, 1)
	g := s.geometry()
	x, w := random[float32](s.N*s.C*product1(s.In), 1), random[float32](s.OC*s.C*9, 2)
	space := product1(s.Out)
	y := make([]float64, s.N*s.OC*space)
	visit(s, func(xi, wi, yi int) { y[yi] += float64(x[xi]) * float64(w[wi]) })
	largest := 0.0
	for _, v := range y {
		largest = max(largest, abs(v))
	}
	for what, e := range epilogues[float32](s.OC, len(y)) {
		got := make([]float32, len(y))
		forwardWinograd(nil, winograd4, &g, x, w, e, got, nil)
		for q, v := range y {
			// What the convolution may be off by, its scale and the steepest activation (1.1) on top.
			scale := 1.1
			if e.Scale != nil {
				scale *= abs(float64(e.Scale[q/space%s.OC]))
			}
			want := e.finished(v, q/space%s.OC, q)
			if d := abs(float64(got[q]) - want); !(d <= 1e-5*largest*scale+1e-6) {
				t.Errorf("%s: element %d is %v, want %v", what, q, got[q], want)
				break
			}
		}
	}
}

// An infinity or NaN anywhere gives what the definition says, and is not spread over a tile.
func TestWinogradNotFinite(t *testing.T) {
	s := plane3x3(2, 64, 64, 12, 12, 1)
	g := s.geometry()
	if winogradFor[float32](s, &g, 10) == nil || winogradFor[float32](s, &g, 30) == nil {
		if has(blockGroup) && !simd {
			t.Skip("no transforms for this processor")
		}
		t.Fatal("the test is of another algorithm")
	}
	exact := *s
	exact.exact = true
	for what, v := range map[string]float64{"Inf": math.Inf(1), "-Inf": math.Inf(-1), "NaN": math.NaN(), "overflow": math.MaxFloat32} {
		x, w := random[float32](s.N*s.C*product1(s.In), 1), random[float32](s.OC*s.C*9, 2)
		dy := random[float32](s.N*s.OC*product1(s.Out), 4)
		for name, into := range map[string][]float32{"x": x, "w": w, "dy": dy} {
			at := len(into) / 3
			was := into[at]
			into[at] = float32(v)
			got, want := make([]float32, len(dy)), make([]float32, len(dy))
			ConvForward(nil, s, x, w, Epilogue[float32]{}, got, nil)
			ConvForward(nil, &exact, x, w, Epilogue[float32]{}, want, nil)
			near(t, what+" in "+name+": y", got, want, 1e-3)
			got, want = make([]float32, len(x)), make([]float32, len(x))
			ConvBackwardData(nil, s, dy, w, got, nil)
			ConvBackwardData(nil, &exact, dy, w, want, nil)
			near(t, what+" in "+name+": dx", got, want, 1e-3)
			got, want = make([]float32, len(w)), make([]float32, len(w))
			ConvBackwardWeight(nil, s, x, dy, got, nil)
			ConvBackwardWeight(nil, &exact, x, dy, want, nil)
			near(t, what+" in "+name+": dw", got, want, 1e-3)
			into[at] = was
		}
	}
}

// What the assembly computes is what the portable transforms do, but for rounding.
func TestWinogradPortable(t *testing.T) {
	for _, tile := range []*winogradTile{winograd2, winograd4} {
		portably(func() { testWinograd[float32](t, tile, 1e-5) })
	}
}

func TestWinogradSameBytes(t *testing.T) {
	p := NewPool(2)
	defer p.Close()
	for _, s := range winogradShapes {
		g := s.geometry()
		x, w := random[float32](s.N*s.C*product1(s.In), 1), random[float32](s.OC*s.C*9, 2)
		dy := random[float32](s.N*s.OC*product1(s.Out), 4)
		var first [3][]float32
		for i := range 3 {
			y, dx, dw := random[float32](len(dy), uint64(i)), random[float32](len(x), uint64(i)), random[float32](len(w), uint64(i))
			forwardWinograd(p, winograd4, &g, x, w, Epilogue[float32]{}, y, nil)
			dataWinograd(p, winograd4, &g, dy, w, dx, nil)
			weightWinograd(p, winograd4, &g, x, dy, dw, nil)
			for q, v := range [][]float32{y, dx, dw} {
				if i == 0 {
					first[q] = v
				}
				near(t, fmt.Sprint(*s, q), v, first[q], 0)
			}
		}
	}
}

// BenchmarkWinograd compares F(4×4), F(2×2) and the direct way; rates count the multiplications of the
// direct way, and so may exceed the peak.
func BenchmarkWinograd(b *testing.B) {
	arena := make([]float32, 1<<25)
	for threads := 1; threads <= min(2, runtime.GOMAXPROCS(0)); threads++ {
		p := NewPool(threads)
		defer p.Close()
		for _, c := range []struct {
			name string
			s    *ConvShape
		}{
			{"resnet18/64@56", plane3x3(4, 64, 64, 56, 56, 1)},
			{"resnet18/128@28", plane3x3(4, 128, 128, 28, 28, 1)},
			{"resnet18/256@14", plane3x3(4, 256, 256, 14, 14, 1)},
			{"resnet18/512@7", plane3x3(4, 512, 512, 7, 7, 1)},
			{"resnet18x1/64@56", plane3x3(1, 64, 64, 56, 56, 1)},
			{"resnet18x1/512@7", plane3x3(1, 512, 512, 7, 7, 1)},
			{"resnet18_64/64@16", plane3x3(16, 64, 64, 16, 16, 1)},
			{"resnet18_64/128@8", plane3x3(16, 128, 128, 8, 8, 1)},
			{"resnet18_64/256@4", plane3x3(16, 256, 256, 4, 4, 1)},
			{"resnet18_64/512@2", plane3x3(16, 512, 512, 2, 2, 1)},
			{"smallcnn/64@16", plane3x3(32, 32, 64, 16, 16, 1)},
			{"smallcnn/128@8", plane3x3(32, 64, 128, 8, 8, 1)},
			{"squeezenet/64@55", plane3x3(4, 16, 64, 55, 55, 1)},
			{"squeezenet/128@27", plane3x3(4, 32, 128, 27, 27, 1)},
			{"squeezenet/256@13", plane3x3(4, 64, 256, 13, 13, 1)},
		} {
			benchmarkWinograd(b, p, threads, c.name, c.s, arena)
		}
	}
}

func benchmarkWinograd(b *testing.B, p *Pool, threads int, name string, s *ConvShape, arena []float32) {
	direct := *s
	direct.exact = true
	g := s.geometry()
	x, w := random[float32](s.N*s.C*product1(s.In), 1), random[float32](s.OC*s.C*9, 2)
	dy := random[float32](s.N*s.OC*product1(s.Out), 4)
	y, dx, dw := make([]float32, len(dy)), make([]float32, len(x)), make([]float32, len(w))
	var used int
	scratch := func(n int) []float32 { used += n; return arena[used-n : used : used] }
	run := func(what string, f func()) {
		b.Run(fmt.Sprintf("threads=%d/%s/%s", threads, name, what), func(b *testing.B) {
			for b.Loop() {
				used = 0
				f()
			}
			reportFlops(b, 2*9*float64(s.C)*float64(len(dy)), threads)
		})
	}
	run("forward/direct", func() { ConvForward(p, &direct, x, w, Epilogue[float32]{}, y, scratch) })
	run("data/direct", func() { ConvBackwardData(p, &direct, dy, w, dx, scratch) })
	run("weight/direct", func() { ConvBackwardWeight(p, &direct, x, dy, dw, scratch) })
	for _, t := range []*winogradTile{winograd4, winograd2} {
		run(fmt.Sprint("forward/F", t.m), func() { forwardWinograd(p, t, &g, x, w, Epilogue[float32]{}, y, scratch) })
		run(fmt.Sprint("data/F", t.m), func() { dataWinograd(p, t, &g, dy, w, dx, scratch) })
		run(fmt.Sprint("weight/F", t.m), func() { weightWinograd(p, t, &g, x, dy, dw, scratch) })
	}
}
