package op

import (
	"fmt"
	"strconv"
	"strings"
)

// parsePoly reads an expression of dimensions: symbols, numbers, + - * / and the calls
// floor(a,b), max(a,b), min(a,b). Any other text is one symbol: files name dimensions freely.
func parsePoly(s string) (poly, error) {
	r, err := poly(nil), errLong
	if p := (&dimParser{s: s}); len(s) <= maxText {
		if r, err = p.sum(); err == nil && p.i < len(p.s) {
			err = fmt.Errorf("unexpected %q in dimension %q", p.s[p.i:], s)
		}
	}
	if err != nil {
		if strings.ContainsAny(s, "*()") {
			return nil, err
		}
		return poly{s: 1}, nil
	}
	return r, nil
}

type dimParser struct {
	s string
	i int
}

func (p *dimParser) peek() byte {
	for p.i < len(p.s) && p.s[p.i] == ' ' {
		p.i++
	}
	if p.i == len(p.s) {
		return 0
	}
	return p.s[p.i]
}

func (p *dimParser) sum() (poly, error) {
	left := poly{}
	sign := "+"
	if p.peek() == '-' {
		sign = "-"
		p.i++
	}
	for {
		t, err := p.product()
		if err != nil {
			return nil, err
		}
		if left, err = combinePoly(left, t, sign); err != nil {
			return nil, err
		}
		switch p.peek() {
		case '+', '-':
			sign = string(p.s[p.i])
			p.i++
		default:
			return left, nil
		}
	}
}

func (p *dimParser) product() (poly, error) {
	left, err := p.factor()
	for err == nil {
		c := p.peek()
		if c != '*' && c != '/' {
			break
		}
		p.i++
		var right poly
		if right, err = p.factor(); err == nil {
			left, err = combinePoly(left, right, string(c))
		}
	}
	return left, err
}

func (p *dimParser) factor() (poly, error) {
	c := p.peek()
	start := p.i
	switch {
	case c == '(':
		p.i++
		r, err := p.sum()
		if err == nil && p.peek() != ')' {
			err = fmt.Errorf("missing ) in dimension %q", p.s)
		}
		p.i++
		return r, err
	case c >= '0' && c <= '9':
		for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
			p.i++
		}
		n, err := strconv.Atoi(p.s[start:p.i])
		return constPoly(n), err
	case isNameByte(c):
		for p.i < len(p.s) && (isNameByte(p.s[p.i]) || p.slashInName()) {
			p.i++
		}
		name := p.s[start:p.i]
		if p.peek() == '(' {
			return p.call(name)
		}
		return poly{name: 1}, nil
	}
	return nil, fmt.Errorf("dimension %q ends where a number or a symbol should stand", p.s)
}

func (p *dimParser) call(name string) (poly, error) {
	p.i++
	a, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.peek() != ',' {
		return nil, fmt.Errorf("%s in dimension %q takes two arguments", name, p.s)
	}
	p.i++
	b, err := p.sum()
	if err != nil {
		return nil, err
	}
	if p.peek() != ')' {
		return nil, fmt.Errorf("missing ) in dimension %q", p.s)
	}
	p.i++
	if name == "floor" {
		return combinePoly(a, b, "/")
	}
	return combinePoly(a, b, name)
}

// slashInName reports whether the next byte is a slash that belongs to a name: exporters name
// dimensions after nodes, "block/conv_dim_0". A division by a symbol is written with blanks around the slash.
func (p *dimParser) slashInName() bool {
	if p.s[p.i] != '/' || p.i+1 == len(p.s) {
		return false
	}
	c := p.s[p.i+1]
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isNameByte accepts the bytes of dimension names in files, such as dots.
func isNameByte(c byte) bool {
	return c == '_' || c == '.' || c == ':' || c == '#' || c == '@' || c == '$' || c >= 0x80 ||
		c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
