package op

import (
	"math"
	"strings"
	"testing"
)

// TestDimLimits: expressions that grow with every operator, and coefficients that no int holds, end as unknown dimensions.
func TestDimLimits(t *testing.T) {
	sum := Sym("N")
	for _, s := range []string{"A", "B", "C", "D"} {
		sum = sum.Add(Sym(s))
	}
	big := Sym("N").Mul(D(math.MaxInt))
	for name, d := range map[string]Dim{
		"a power of a sum":     sum.Mul(sum).Mul(sum).Mul(sum),
		"a doubled quotient":   repeated(Sym("N"), 40, func(d Dim) Dim { return d.Add(d.Div(D(2))) }),
		"a doubled maximum":    repeated(Sym("N"), 40, func(d Dim) Dim { return d.Add(D(1)).Max(d.Div(D(3))) }),
		"a product of numbers": repeated(Sym("N"), 41, func(d Dim) Dim { return d.Mul(D(3)) }),
		"a sum of products":    big.Add(big),
		"a difference":         D(0).Sub(big).Sub(big),
		"many symbols": repeated(Sym("N"), 100, func(d Dim) Dim {
			return d.Add(Sym("S" + strings.Repeat("x", strings.Count(d.Sym, "+"))))
		}),
	} {
		if d != Unknown() {
			t.Errorf("%s is %.80s", name, d)
		}
	}
	for _, d := range []Dim{sum.Mul(sum), big, repeated(Sym("N"), 39, func(d Dim) Dim { return d.Mul(D(3)) }), D(0).Sub(big)} {
		if again, err := ParseDim(d.Sym); err != nil || again != d || !d.Symbolic() {
			t.Errorf("%.80s is read again as %.80v, %v", d, again, err)
		}
	}
	for _, text := range []string{
		strings.Repeat("(", 1<<20), strings.Repeat("(", 500) + "N" + strings.Repeat(")", 500) + strings.Repeat("*(A+B)", 40), strings.Repeat("(A+B+C)*", 20) + "N", "4611686018427387904*N+4611686018427387904*N",
	} {
		if _, err := (Sym(text)).Eval(map[string]int{"N": 1, "A": 1, "B": 1, "C": 1}); err == nil {
			t.Errorf("%.40s has a size", text)
		}
	}
	for text, size := range map[string]int{"N*N": 1 << 32, "N+N": 1 << 62, "2*N": math.MinInt, "N": math.MaxInt} {
		n, err := Sym(text).Eval(map[string]int{"N": size})
		if (err == nil) != (text == "N") {
			t.Errorf("%s of %d is %d, %v", text, size, n, err)
		}
	}
	long := strings.Repeat("name", 1000)
	if n, err := Sym(long).Eval(map[string]int{long: 3}); n != 3 || err != nil {
		t.Errorf("a long name is %d, %v", n, err)
	}
}

func repeated(d Dim, times int, f func(Dim) Dim) Dim {
	for range times {
		d = f(d)
	}
	return d
}
