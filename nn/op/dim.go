package op

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"
)

// Dim is one dimension of a shape: a number, an expression over symbols, or unknown. In a lowering it can have
// both: Size is the current number and Sym the expression that it depends on, so that a traced model keeps its
// symbolic batch.
type Dim struct {
	Size int    // -1: unknown
	Sym  string // "N", "2*H+1"; "": a plain number, or unknown
}

// Unknown returns a dimension without a number or symbol.
func Unknown() Dim { return Dim{Size: -1} }

// D returns the dimension of size n.
func D(n int) Dim { return Dim{Size: n} }

// Sym returns a dimension that only has a name.
func Sym(name string) Dim { return Dim{Size: -1, Sym: name} }

// Dims returns the shape with the given sizes.
func Dims(sizes ...int) []Dim {
	d := make([]Dim, len(sizes))
	for i, n := range sizes {
		d[i] = D(n)
	}
	return d
}

// Known reports whether the dimension has a number.
func (d Dim) Known() bool { return d.Size >= 0 }

// Symbolic reports whether the dimension depends on a symbol.
func (d Dim) Symbolic() bool { return d.Sym != "" }

// Plain reports whether the dimension is a plain name such as N. Such a dimension is never negative.
func (d Dim) Plain() bool {
	return d.Sym != "" && !strings.ContainsAny(d.Sym, "-+*/(), ")
}

// String formats the dimension as in float32[N,3,?,224]. A symbol takes precedence over the number.
func (d Dim) String() string {
	switch {
	case d.Sym != "":
		return d.Sym
	case d.Size >= 0:
		return strconv.Itoa(d.Size)
	}
	return "?"
}

// Same reports whether two dimensions are known to be equal.
func (d Dim) Same(e Dim) bool {
	if d.Known() && e.Known() {
		return d.Size == e.Size
	}
	return d.Sym != "" && d.Sym == e.Sym
}

// Differ reports whether two dimensions are known to be different. Dimensions with symbols never are.
func (d Dim) Differ(e Dim) bool { return d.Known() && e.Known() && d.Size != e.Size }

// Merge returns a dimension with what is known of both, when d and e describe the same one. It reports false if they
// contradict each other.
func (d Dim) Merge(e Dim) (Dim, bool) {
	if d.Differ(e) {
		return d, false
	}
	if !d.Known() {
		d.Size = e.Size
	}
	if d.Sym == "" {
		d.Sym = e.Sym
	}
	return d, true
}

// Add returns d + e. A sum that exceeds an int becomes the largest int, which no tensor can have.
func (d Dim) Add(e Dim) Dim { return combine(d, e, "+", addLengths) }

// Sub returns d − e.
func (d Dim) Sub(e Dim) Dim { return combine(d, e, "-", func(a, b int) int { return a - b }) }

// Mul returns d · e, limited as in Add.
func (d Dim) Mul(e Dim) Dim { return combine(d, e, "*", mulLengths) }

// Div returns d / e rounded down, Unknown if e is zero.
func (d Dim) Div(e Dim) Dim {
	if e.Size == 0 && e.Sym == "" {
		return Unknown()
	}
	return combine(d, e, "/", floorDiv)
}

// Max returns the larger one.
func (d Dim) Max(e Dim) Dim {
	if d.Sym == e.Sym && d.Same(e) {
		return d
	}
	return combine(d, e, "max", func(a, b int) int { return max(a, b) })
}

// Min returns the smaller one.
func (d Dim) Min(e Dim) Dim {
	if d.Sym == e.Sym && d.Same(e) {
		return d
	}
	return combine(d, e, "min", func(a, b int) int { return min(a, b) })
}

func addLengths(a, b int) int {
	if a > 0 && b > math.MaxInt-a {
		return math.MaxInt
	}
	return a + b
}

func mulLengths(a, b int) int {
	if hi, lo := bits.Mul(uint(max(a, 0)), uint(max(b, 0))); hi > 0 || lo > math.MaxInt {
		return math.MaxInt
	}
	return a * b
}

func floorDiv(a, b int) int {
	if b == 0 {
		return 0
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// Product returns the number of elements of a shape.
func Product(shape []Dim) Dim {
	p := D(1)
	for _, d := range shape {
		p = p.Mul(d)
	}
	return p
}

// Eval returns the dimension's number if the symbols have the given sizes.
func (d Dim) Eval(size map[string]int) (int, error) {
	if d.Sym == "" {
		if d.Size < 0 {
			return 0, fmt.Errorf("dimension is unknown")
		}
		return d.Size, nil
	}
	p, err := parsePoly(d.Sym)
	if err != nil {
		return 0, err
	}
	return p.eval(size)
}

// Symbols returns the names that the dimension depends on, sorted.
func (d Dim) Symbols() []string {
	if d.Sym == "" {
		return nil
	}
	p, err := parsePoly(d.Sym)
	if err != nil {
		return []string{d.Sym}
	}
	set := map[string]bool{}
	p.symbols(set)
	names := make([]string, 0, len(set))
	for n := range set {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func combine(d, e Dim, op string, f func(a, b int) int) Dim {
	r := Unknown()
	if d.Known() && e.Known() {
		r.Size = f(d.Size, e.Size)
	}
	if d.Sym == "" && e.Sym == "" {
		return r
	}
	a, ok := d.poly()
	if !ok {
		return r
	}
	b, ok := e.poly()
	if !ok {
		return r
	}
	p, err := combinePoly(a, b, op)
	if err != nil {
		return r
	}
	if n, ok := p.constant(); ok {
		return D(n)
	}
	r.Sym = p.String()
	return r
}

func (d Dim) poly() (poly, bool) {
	if d.Sym == "" {
		return constPoly(d.Size), d.Size >= 0
	}
	p, err := parsePoly(d.Sym)
	return p, err == nil
}
