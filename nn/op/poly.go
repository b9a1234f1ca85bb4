package op

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

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

// Beyond these numbers of terms and bytes a dimension is treated as unknown: in a file, expressions may double with
// every operator.
const (
	maxTerms = 64
	maxText  = 1024
)

var errLong = errors.New("the expression of a dimension is too long or too large")

func combinePoly(a, b poly, op string) (poly, error) {
	r := poly{}
	switch op {
	case "+", "-":
		sign := 1
		if op == "-" {
			sign = -1
		}
		for k, v := range a {
			r[k] += v
		}
		for k, v := range b {
			if !r.add(k, v, sign) {
				return nil, errLong
			}
		}
	case "*":
		if len(a)*len(b) > maxTerms {
			return nil, errLong
		}
		for ka, va := range a {
			for kb, vb := range b {
				if !r.add(joinFactors(ka, kb), va, vb) {
					return nil, errLong
				}
			}
		}
	case "/":
		r = divPoly(a, b)
	default:
		x, y := a.String(), b.String()
		if y < x {
			x, y = y, x
		}
		r[op+"("+x+","+y+")"] = 1
	}
	text := 0
	for k, v := range r {
		text += len(k) + 1
		if v == 0 {
			delete(r, k)
		}
	}
	if len(r) > maxTerms || text > maxText {
		return nil, errLong
	}
	return r, nil
}

// add adds v*w to the coefficient of a term, and reports whether it fits an int.
func (p poly) add(term string, v, w int) bool {
	n, ok := mulInts(v, w)
	if !ok {
		return false
	}
	p[term], ok = addInts(p[term], n)
	return ok
}

// mulInts and addInts report whether the result fits an int.
func mulInts(a, b int) (int, bool) {
	n := a * b
	return n, a == 0 || n/a == b && !(a == -1 && b == math.MinInt)
}

func addInts(a, b int) (int, bool) {
	n := a + b
	return n, (n > a) == (b > 0)
}

// divPoly cancels what divides exactly (2*N/2, N*H/H) and keeps the rest as floor(a,b).
func divPoly(a, b poly) poly {
	if len(b) == 1 {
		for kb, vb := range b {
			r := poly{}
			for ka, va := range a {
				k, ok := cancelFactors(ka, kb)
				if !ok || va%vb != 0 || vb == -1 && va == math.MinInt {
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
	return splitOutside(k, '*')
}

// splitOutside splits at a separator outside of parentheses.
func splitOutside(s string, separator rune) []string {
	var parts []string
	depth, start := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == separator && depth == 0:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
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
	sum, ok := 0, true
	for k, v := range p {
		for _, f := range splitFactors(k) {
			n, err := evalFactor(f, size)
			if err != nil {
				return 0, err
			}
			if v, ok = mulInts(v, n); !ok {
				return 0, errLong
			}
		}
		if sum, ok = addInts(sum, v); !ok {
			return 0, errLong
		}
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
	return 0, fmt.Errorf("%s is not a function of dimensions", name)
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

// splitCall returns the name and arguments of floor(a,b).
func splitCall(f string) (name, a, b string, ok bool) {
	i := strings.IndexByte(f, '(')
	if i < 0 {
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
