package op

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Dim is one dimension of a shape: a number, an expression over symbols, or unknown. In a
// lowering it is both: Size is the number at hand and Sym says what it depends on, so that a
// traced model keeps its symbolic batch.
type Dim struct {
	Size int    // -1: no number known
	Sym  string // "N", "2*H+1"; "": a plain number, or nothing known at all
}

// Unknown is a dimension of which nothing is known.
var Unknown = Dim{Size: -1}

// D is the dimension of n elements.
func D(n int) Dim { return Dim{Size: n} }

// Sym is a dimension known only by name.
func Sym(name string) Dim { return Dim{Size: -1, Sym: name} }

// Dims is the shape of the given sizes.
func Dims(sizes ...int) []Dim {
	d := make([]Dim, len(sizes))
	for i, n := range sizes {
		d[i] = D(n)
	}
	return d
}

// Known says whether the dimension has a number.
func (d Dim) Known() bool { return d.Size >= 0 }

// Symbolic says whether the dimension depends on a symbol.
func (d Dim) Symbolic() bool { return d.Sym != "" }

// length says whether the dimension goes by a plain name, which no negative number does.
func (d Dim) length() bool {
	return d.Sym != "" && !strings.ContainsAny(d.Sym, "-+*/(), ")
}

// String writes the dimension as in float32[N,3,?,224]. The symbol wins over the number.
func (d Dim) String() string {
	switch {
	case d.Sym != "":
		return d.Sym
	case d.Size >= 0:
		return strconv.Itoa(d.Size)
	}
	return "?"
}

// Same says whether two dimensions are known to be equal.
func (d Dim) Same(e Dim) bool {
	if d.Known() && e.Known() {
		return d.Size == e.Size
	}
	return d.Sym != "" && d.Sym == e.Sym
}

// Differ says whether two dimensions are known to be different. Of symbols that is never known.
func (d Dim) Differ(e Dim) bool { return d.Known() && e.Known() && d.Size != e.Size }

// Merge is what is known of a dimension of which d and e are both true; the second result is
// false when they contradict each other.
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

// Add is d + e.
func (d Dim) Add(e Dim) Dim { return combine(d, e, "+", func(a, b int) int { return a + b }) }

// Sub is d − e.
func (d Dim) Sub(e Dim) Dim { return combine(d, e, "-", func(a, b int) int { return a - b }) }

// Mul is d · e.
func (d Dim) Mul(e Dim) Dim { return combine(d, e, "*", func(a, b int) int { return a * b }) }

// Div is d / e rounded down. Division by zero is Unknown.
func (d Dim) Div(e Dim) Dim {
	if e.Size == 0 && e.Sym == "" {
		return Unknown
	}
	return combine(d, e, "/", floorDiv)
}

// Max is the larger of both.
func (d Dim) Max(e Dim) Dim {
	if d.Same(e) {
		return d
	}
	return combine(d, e, "max", func(a, b int) int { return max(a, b) })
}

// Min is the smaller of both.
func (d Dim) Min(e Dim) Dim {
	if d.Same(e) {
		return d
	}
	return combine(d, e, "min", func(a, b int) int { return min(a, b) })
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

// Product is the number of elements of a shape.
func Product(shape []Dim) Dim {
	p := D(1)
	for _, d := range shape {
		p = p.Mul(d)
	}
	return p
}

// Eval is the dimension's number when the symbols have the given sizes.
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

// Symbols are the names that a dimension depends on, sorted.
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
	r := Unknown
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
	p := combinePoly(a, b, op)
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

// poly is a sum of products: the factors of a term, sorted and joined by "*", to its
// coefficient. A factor is a symbol or a call such as floor(H+1,2), max(A,B).
type poly map[string]int

func constPoly(n int) poly {
	if n == 0 {
		return poly{}
	}
	return poly{"": n}
}

func (p poly) constant() (int, bool) {
	switch len(p) {
	case 0:
		return 0, true
	case 1:
		n, ok := p[""]
		return n, ok
	}
	return 0, false
}

func combinePoly(a, b poly, op string) poly {
	r := poly{}
	switch op {
	case "+", "-":
		for k, v := range a {
			r[k] += v
		}
		for k, v := range b {
			if op == "-" {
				v = -v
			}
			r[k] += v
		}
	case "*":
		for ka, va := range a {
			for kb, vb := range b {
				r[joinFactors(ka, kb)] += va * vb
			}
		}
	case "/":
		return divPoly(a, b)
	default:
		x, y := a.String(), b.String()
		if y < x {
			x, y = y, x
		}
		r[op+"("+x+","+y+")"] = 1
	}
	for k, v := range r {
		if v == 0 {
			delete(r, k)
		}
	}
	return r
}

// divPoly cancels what divides exactly (2*N/2, N*H/H) and keeps the rest as floor(a,b).
func divPoly(a, b poly) poly {
	if len(b) == 1 {
		for kb, vb := range b {
			r := poly{}
			for ka, va := range a {
				k, ok := cancelFactors(ka, kb)
				if !ok || va%vb != 0 {
					r = nil
					break
				}
				r[k] = va / vb
			}
			if r != nil {
				return r
			}
		}
	}
	if a.String() == b.String() {
		return constPoly(1)
	}
	return poly{"floor(" + a.String() + "," + b.String() + ")": 1}
}

func splitFactors(k string) []string {
	if k == "" {
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i, c := range k {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '*':
			if depth == 0 {
				parts = append(parts, k[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, k[start:])
}

func joinFactors(a, b string) string {
	f := append(splitFactors(a), splitFactors(b)...)
	sort.Strings(f)
	return strings.Join(f, "*")
}

func cancelFactors(a, b string) (string, bool) {
	fa := splitFactors(a)
next:
	for _, f := range splitFactors(b) {
		for i, g := range fa {
			if g == f {
				fa = append(fa[:i:i], fa[i+1:]...)
				continue next
			}
		}
		return "", false
	}
	return strings.Join(fa, "*"), true
}

func (p poly) String() string {
	keys := make([]string, 0, len(p))
	for k := range p {
		if k != "" {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var b strings.Builder
	term := func(v int, k string) {
		if v < 0 {
			b.WriteByte('-')
			v = -v
		} else if b.Len() > 0 {
			b.WriteByte('+')
		}
		switch {
		case k == "":
			b.WriteString(strconv.Itoa(v))
		case v == 1:
			b.WriteString(k)
		default:
			b.WriteString(strconv.Itoa(v) + "*" + k)
		}
	}
	for _, k := range keys {
		term(p[k], k)
	}
	if c := p[""]; c != 0 || b.Len() == 0 {
		term(c, "")
	}
	return b.String()
}

func (p poly) eval(size map[string]int) (int, error) {
	sum := 0
	for k, v := range p {
		for _, f := range splitFactors(k) {
			n, err := evalFactor(f, size)
			if err != nil {
				return 0, err
			}
			v *= n
		}
		sum += v
	}
	return sum, nil
}

func evalFactor(f string, size map[string]int) (int, error) {
	name, a, b, ok := splitCall(f)
	if !ok {
		n, ok := size[f]
		if !ok {
			return 0, fmt.Errorf("symbol %s has no size", f)
		}
		return n, nil
	}
	x, err := Dim{Size: -1, Sym: a}.Eval(size)
	if err != nil {
		return 0, err
	}
	y, err := Dim{Size: -1, Sym: b}.Eval(size)
	if err != nil {
		return 0, err
	}
	switch name {
	case "floor":
		if y == 0 {
			return 0, fmt.Errorf("division by zero in %s", f)
		}
		return floorDiv(x, y), nil
	case "max":
		return max(x, y), nil
	case "min":
		return min(x, y), nil
	}
	return 0, fmt.Errorf("%s is no function of dimensions", name)
}

func (p poly) symbols(set map[string]bool) {
	for k := range p {
		for _, f := range splitFactors(k) {
			if _, a, b, ok := splitCall(f); ok {
				for _, e := range []string{a, b} {
					if q, err := parsePoly(e); err == nil {
						q.symbols(set)
					}
				}
				continue
			}
			set[f] = true
		}
	}
}

// splitCall takes floor(a,b) apart.
func splitCall(f string) (name, a, b string, ok bool) {
	i := strings.IndexByte(f, '(')
	if i <= 0 || !strings.HasSuffix(f, ")") {
		return "", "", "", false
	}
	body, depth := f[i+1:len(f)-1], 0
	for j, c := range body {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				return f[:i], body[:j], body[j+1:], true
			}
		}
	}
	return "", "", "", false
}
