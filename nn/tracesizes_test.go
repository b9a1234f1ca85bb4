package nn

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/op"
)

// TestSamplePoints: sizes differ from each other, each symbol changes alone once and all change together once.
func TestSamplePoints(t *testing.T) {
	for n := range 24 {
		for _, scale := range []int{1, 4, 32} {
			var symbols []string
			for i := range n {
				symbols = append(symbols, fmt.Sprintf("S%02d", i))
			}
			points := samplePoints(symbols, scale)
			if n == 0 {
				if len(points) != 1 || len(points[0]) != 0 {
					t.Errorf("without symbols: %v", points)
				}
				continue
			}
			if len(points) != n+2 {
				t.Fatalf("%d symbols: %d points", n, len(points))
			}
			for k, p := range points {
				seen := map[int]string{}
				changed := 0
				for s, x := range p {
					if x%scale != 0 || x < 11*scale {
						t.Errorf("%s is %d at scale %d", s, x, scale)
					}
					if other := seen[x]; other != "" {
						t.Errorf("%s and %s are both %d", s, other, x)
					}
					if seen[x] = s; x != points[0][s] {
						changed++
					}
				}
				if want := map[bool]int{true: 0, false: 1}[k == 0]; k <= n && changed != want || k > n && changed != n || len(p) != n {
					t.Errorf("%d symbols: %d change at point %d", n, changed, k)
				}
				if 0 < k && k <= n && p[symbols[k-1]] == points[0][symbols[k-1]] {
					t.Errorf("point %d does not change %s", k, symbols[k-1])
				}
			}
			shared := slices.Clone(points)
			shareUnknown(shared, map[string]bool{symbols[0]: true, symbols[n-1]: true})
			for _, p := range shared {
				if p[symbols[0]] != p[symbols[n-1]] {
					t.Errorf("%s and %s are to be the same, %v", symbols[0], symbols[n-1], p)
				}
			}
		}
	}
	for text, p := range map[string]map[string]int{"given": {}, "N=2": {"N": 2}, "A=1, N=2": {"N": 2, "A": 1}} {
		if got := sizeText(p); got != text {
			t.Errorf("%v is %q, want %q", p, got, text)
		}
	}
}

// TestSizesOfSizes: lines, ratios, quotients and products of sizes at several points.
func TestSizesOfSizes(t *testing.T) {
	x := size{11, 11, 43, 22}
	of := func(f func(n int) int) size {
		d := make(size, len(x))
		for i, n := range x {
			d[i] = f(n)
		}
		return d
	}
	for a := -3; a <= 3; a++ {
		for b := -3; b <= 3; b++ {
			if ga, gb, ok := line(x, of(func(n int) int { return a*n + b })); ok != (a != 0) || ok && (ga != a || gb != b) {
				t.Errorf("%d·x%+d: %d·x%+d, %v", a, b, ga, gb, ok)
			}
		}
		if got, ok := ratio(of(func(n int) int { return a * n }), x); ok != (a != 0) || ok && got != a {
			t.Errorf("%d·x is %d times x, %v", a, got, ok)
		}
	}
	square, half := of(func(n int) int { return n * n }), of(func(n int) int { return n / 2 })
	if a, b, ok := line(x, square); ok {
		t.Errorf("the square is %d·x%+d", a, b)
	}
	if a, b, ok := line(x, half); ok {
		t.Errorf("the half is %d·x%+d", a, b)
	}
	for _, d := range []size{square, half, of(func(n int) int { return n + 11 }), of(func(n int) int { return n - 1 })} {
		if a, ok := ratio(d, x); ok {
			t.Errorf("%v is %d times %v", d, a, x)
		}
	}
	if _, ok := ratio(x, size{0, 0, 0, 0}); ok {
		t.Error("a multiple of zero")
	}
	if _, ok := ratio(x, size{0, 11, 43, 22}); ok {
		t.Error("a multiple of what is zero at one point")
	}
	if q, ok := quotient(square, x); !ok || !slices.Equal(q, x) {
		t.Errorf("square by number is %v, %v", q, ok)
	}
	if q, ok := quotient(x, size{11, 11, 43, 4}); ok {
		t.Errorf("a quotient that is not whole is %v", q)
	}
	if q, ok := quotient(x, size{11, 11, 0, 2}); ok {
		t.Errorf("a quotient by zero is %v", q)
	}
	if got := product(x, x, size{1, 2, 1, 2}); !slices.Equal(got, size{121, 242, 1849, 968}) {
		t.Errorf("the product is %v", got)
	}
	if got := total(nil, 3); !slices.Equal(got, size{1, 1, 1}) {
		t.Errorf("nothing makes %v", got)
	}
	if (size{2, 2, 3}).constant() || !(size{2, 2}).constant() || (size{2, 2}).is(3) || !(size{2, 2}).is(2) || (size{2, 3}).is(2) {
		t.Error("constant sizes")
	}
	if allConstant([]size{{1, 1}, {1, 2}}) || !allConstant([]size{{1, 1}, {2, 2}}) || !allConstant(nil) {
		t.Error("constant shapes")
	}
}

// TestBroadcastSizes compares with the rule, element by element from the back.
func TestBroadcastSizes(t *testing.T) {
	n, m, one, two := size{11, 43}, size{13, 13}, size{1, 1}, size{2, 2}
	shapes := [][]size{{}, {n}, {one}, {two}, {n, two}, {one, two}, {n, one}, {two, n}, {one, one, n}, {m, one, two}, {m, n, two}}
	for _, a := range shapes {
		for _, b := range shapes {
			want, fits := []size{}, true
			for i := range max(len(a), len(b)) {
				x, y := one, one
				if i < len(a) {
					x = a[len(a)-1-i]
				}
				if i < len(b) {
					y = b[len(b)-1-i]
				}
				switch {
				case slices.Equal(x, y) || slices.Equal(y, one):
					want = append([]size{x}, want...)
				case slices.Equal(x, one):
					want = append([]size{y}, want...)
				default:
					fits = false
				}
			}
			got := broadcast(a, b)
			if fits != (got != nil) || fits && !sameShapes(got, want) {
				t.Errorf("%v and %v give %v, want %v, %v", a, b, got, want, fits)
			}
		}
	}
}

// TestMoreSymbols: symbols take the places of numbers, whatever is known first.
func TestMoreSymbols(t *testing.T) {
	number, symbol := op.T(1, op.D(2), op.D(3)), op.T(1, op.Sym("N"), op.D(3))
	for _, c := range []struct {
		have, t op.Type
		want    string
	}{{number, symbol, "float32[N,3]"}, {symbol, number, "float32[N,3]"}, {op.Type{}, symbol, "float32[N,3]"}, {number, op.Type{}, "float32[2,3]"}, {op.T(1, op.D(2)), symbol, "float32[N]"}, {op.T(1, op.D(2)), op.T(1, op.D(2), op.Sym("M")), "float32[2]"}} {
		if got := moreSymbols(c.have, c.t).String(); got != c.want {
			t.Errorf("%v and %v are %s, want %s", c.have, c.t, got, c.want)
		}
	}
}
