package op

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// formula is an expression of dimensions, evaluated here with plain integers.
type formula struct {
	op   string // "" for a number or a symbol
	a, b *formula
	n    int
	sym  string
}

func drawFormula(r *rand.Rand, depth int) *formula {
	if depth == 0 || r.IntN(4) == 0 {
		if r.IntN(3) == 0 {
			return &formula{n: r.IntN(6)}
		}
		return &formula{sym: []string{"N", "H", "W_1"}[r.IntN(3)]}
	}
	ops := []string{"+", "-", "*", "/", "max", "min"}
	return &formula{op: ops[r.IntN(len(ops))], a: drawFormula(r, depth-1), b: drawFormula(r, depth-1)}
}

// dim returns the formula as a dimension; symbols have the given sizes, or none.
func (f *formula) dim(sizes map[string]int) Dim {
	if f.op == "" {
		if f.sym == "" {
			return D(f.n)
		}
		if n, ok := sizes[f.sym]; ok {
			return Dim{Size: n, Sym: f.sym}
		}
		return Sym(f.sym)
	}
	a, b := f.a.dim(sizes), f.b.dim(sizes)
	return map[string]func(Dim) Dim{"+": a.Add, "-": a.Sub, "*": a.Mul, "/": a.Div, "max": a.Max, "min": a.Min}[f.op](b)
}

// value reports false where something is divided by zero, or a part is negative, which no known size can be.
func (f *formula) value(sizes map[string]int) (n int, ok bool) {
	if f.op == "" {
		if f.sym == "" {
			return f.n, true
		}
		return sizes[f.sym], true
	}
	a, okA := f.a.value(sizes)
	b, okB := f.b.value(sizes)
	if !okA || !okB || f.op == "/" && b == 0 {
		return 0, false
	}
	switch f.op {
	case "+":
		n = a + b
	case "-":
		n = a - b
	case "*":
		n = a * b
	case "/":
		n = a / b
	case "max":
		n = max(a, b)
	case "min":
		n = min(a, b)
	}
	return n, n >= 0
}

// TestRandomDims evaluates random formulas before and after they are simplified, written and read again.
func TestRandomDims(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	compared, symbolic := 0, 0
	for range 6000 {
		f := drawFormula(r, 1+r.IntN(4))
		d := f.dim(nil)
		if d.Sym != "" {
			symbolic++
			if again, err := ParseDim(d.String()); err != nil || again != d {
				t.Fatalf("%v is read as %v, %v", d, again, err)
			}
		}
		for range 3 {
			sizes := map[string]int{"N": 1 + r.IntN(9), "H": 1 + r.IntN(9), "W_1": 1 + r.IntN(9)}
			want, ok := f.value(sizes)
			if !ok || d == Unknown() || !d.Known() && d.Sym == "" {
				continue
			}
			compared++
			if got, err := d.Eval(sizes); err != nil || got != want {
				t.Fatalf("%v at %v is %d, %v, want %d", d, sizes, got, err, want)
			}
			if got := f.dim(sizes); got.Size != want || got.Sym != d.Sym {
				t.Fatalf("%v at %v is %+v, want %d", d, sizes, got, want)
			}
			symbols := d.Symbols()
			if !slices.IsSorted(symbols) {
				t.Fatalf("symbols of %v: %q", d, symbols)
			}
			for name := range sizes {
				if slices.Contains(symbols, name) {
					continue
				}
				sizes[name]++
				if got, err := d.Eval(sizes); err != nil || got != want {
					t.Fatalf("%v does not depend on %s, says Symbols, but at %v it is %d, %v", d, name, sizes, got, err)
				}
				sizes[name]--
			}
		}
	}
	if compared < 5000 || symbolic < 3000 {
		t.Errorf("%d values compared, %d formulas with symbols", compared, symbolic)
	}
}

// TestDimLaws: what is equal by the laws of arithmetic is written alike.
func TestDimLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 8))
	for range 500 {
		x, y, z := drawFormula(r, 2).dim(nil), drawFormula(r, 2).dim(nil), drawFormula(r, 1).dim(nil)
		if !x.Symbolic() || !y.Symbolic() || !z.Symbolic() {
			continue
		}
		for name, pair := range map[string][2]Dim{
			"x+y = y+x":              {x.Add(y), y.Add(x)},
			"xy = yx":                {x.Mul(y), y.Mul(x)},
			"max(x,y) = max(y,x)":    {x.Max(y), y.Max(x)},
			"min(x,y) = min(y,x)":    {x.Min(y), y.Min(x)},
			"x(y+z) = xy+xz":         {x.Mul(y.Add(z)), x.Mul(y).Add(x.Mul(z))},
			"(x+y)+z = x+(y+z)":      {x.Add(y).Add(z), x.Add(y.Add(z))},
			"(x−y)+y = x":            {x.Sub(y).Add(y), x},
			"(2x+4)/2 = x+2":         {x.Mul(D(2)).Add(D(4)).Div(D(2)), x.Add(D(2))},
			"x/x = 1":                {x.Div(x), D(1)},
			"N(x+1)/N = x+1":         {Sym("N").Mul(x.Add(D(1))).Div(Sym("N")), x.Add(D(1))},
			"max(x,x) = x":           {x.Max(x), x},
			"Product(x,y,2) = 2·x·y": {Product([]Dim{x, y, D(2)}), D(2).Mul(y).Mul(x)},
		} {
			if u := Unknown(); pair[0] != pair[1] && pair[0] != u && pair[1] != u { // a negative number is not known
				t.Errorf("%s of %v, %v and %v: %v and %v", name, x, y, z, pair[0], pair[1])
			}
		}
	}
}

// TestDimRules pins what dimensions say of themselves, and of one another.
func TestDimRules(t *testing.T) {
	for _, c := range []struct {
		d                      Dim
		known, symbolic, plain bool
		text                   string
	}{
		{Unknown(), false, false, false, "?"}, {D(0), true, false, false, "0"}, {D(3), true, false, false, "3"}, {Sym("N"), false, true, true, "N"},
		{Dim{3, "N"}, true, true, true, "N"}, {Sym("2*N"), false, true, false, "2*N"}, {Sym("N+1"), false, true, false, "N+1"},
		{Sym("a b"), false, true, false, "a b"}, {Sym("floor(N,2)"), false, true, false, "floor(N,2)"}, {Sym("N-1"), false, true, false, "N-1"},
	} {
		if c.d.Known() != c.known || c.d.Symbolic() != c.symbolic || c.d.Plain() != c.plain || c.d.String() != c.text {
			t.Errorf("%+v: known %v, symbolic %v, plain %v, %s", c.d, c.d.Known(), c.d.Symbolic(), c.d.Plain(), c.d)
		}
	}
	list := []Dim{Unknown(), D(0), D(1), D(3), Sym("N"), Sym("M"), {1, "N"}, {3, "N"}, {3, "M"}}
	// Broadcasting by NumPy's rules: 1 gives way, equal lengths stay, what is known is kept; a symbol that happens to be 1
	// now gives way to what is not 1. - is a refusal.
	want := [][]string{
		{"?", "0", "?", "3", "?", "?", "?", "N=3", "M=3"},
		{"0", "0", "0", "-", "N=0", "M=0", "0", "-", "-"},
		{"?", "0", "1", "3", "N", "M", "N=1", "N=3", "M=3"},
		{"3", "-", "3", "3", "N=3", "M=3", "3", "N=3", "M=3"},
		{"?", "N=0", "N", "N=3", "N", "N", "N", "N=3", "N=3"},
		{"?", "M=0", "M", "M=3", "M", "M", "M", "M=3", "M=3"},
		{"?", "0", "N=1", "3", "N", "M", "N=1", "N=3", "M=3"},
		{"N=3", "-", "N=3", "N=3", "N=3", "N=3", "N=3", "N=3", "N=3"},
		{"M=3", "-", "M=3", "M=3", "M=3", "M=3", "M=3", "M=3", "M=3"},
	}
	for i, d := range list {
		for j, e := range list {
			got := "-"
			if b, ok := BroadcastDim(d, e); ok {
				if got = b.String(); b.Symbolic() && b.Known() {
					got += "=" + D(b.Size).String()
				}
			}
			if got != want[i][j] {
				t.Errorf("%+v and %+v broadcast to %s, want %s", d, e, got, want[i][j])
			}
			same := d.Size >= 0 && d.Size == e.Size || (d.Size < 0 || e.Size < 0) && d.Sym != "" && d.Sym == e.Sym
			if d.Same(e) != same {
				t.Errorf("%+v and %+v are the same: %v", d, e, d.Same(e))
			}
			if differ := d.Size >= 0 && e.Size >= 0 && d.Size != e.Size; d.Differ(e) != differ {
				t.Errorf("%+v and %+v differ: %v", d, e, d.Differ(e))
			}
		}
	}
}
