package generate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/format"
	"go/token"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// printer writes Go source.
type printer struct {
	bytes.Buffer
	ctx         context.Context   // ends writing, with an incomplete text; nil: nothing does
	gorgonia    bool              // the source uses Gorgonia only
	alias       map[string]string // of imports
	bodies      map[string]bool   // names of functions of subgraphs
	triedBodies map[string]int    // see numberedName
	pending     []*body           // subgraphs whose functions are not written yet
	imports     map[string]bool
	helpers     map[string]bool
}

// ended reports whether writing was ended.
func (p *printer) ended() bool { return p.ctx != nil && p.ctx.Err() != nil }

// q returns the qualified name of a symbol in source.
func (p *printer) q(s symbol) string {
	p.imports[s.pkg] = true
	return qualifier(s.pkg) + "." + s.name
}

func (p *printer) f(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// types are the constants of element types by their texts.
var types = map[dtype.DType]string{
	dtype.Float32: "Float32", dtype.Float64: "Float64", dtype.Float16: "Float16", dtype.BFloat16: "BFloat16",
	dtype.Int8: "Int8", dtype.Int16: "Int16", dtype.Int32: "Int32", dtype.Int64: "Int64",
	dtype.Uint8: "Uint8", dtype.Uint16: "Uint16", dtype.Uint32: "Uint32", dtype.Uint64: "Uint64",
	dtype.Bool: "Bool", dtype.String: "String", dtype.Complex64: "Complex64", dtype.Complex128: "Complex128",
	dtype.Float8E4M3FN: "Float8E4M3FN", dtype.Float8E4M3FNUZ: "Float8E4M3FNUZ", dtype.Float8E5M2: "Float8E5M2", dtype.Float8E5M2FNUZ: "Float8E5M2FNUZ",
	dtype.Int4: "Int4", dtype.Uint4: "Uint4", dtype.Float4E2M1: "Float4E2M1", dtype.Float8E8M0: "Float8E8M0", dtype.Int2: "Int2", dtype.Uint2: "Uint2",
}

// lit returns the source of a literal.
func (p *printer) lit(l *lit) string {
	if l.ref != "" {
		return l.ref
	}
	return p.text(l.v)
}

func (p *printer) text(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float32:
		if text := p.special(float64(v)); text != "" {
			return "float32(" + text + ")"
		}
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		if text := p.special(v); text != "" {
			return text
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *tensor.Dense:
		p.helpers["values"] = true
		text := "values(" + p.text(elementsOf(v))
		for _, n := range v.Shape() {
			text += ", " + strconv.Itoa(n)
		}
		return text + ")"
	case dtype.DType:
		return p.q(symbol{of[dtype.DType]().pkg, types[v]})
	}
	if x := reflect.ValueOf(v); x.Kind() == reflect.Slice {
		return x.Type().String() + "{" + p.elements(v) + "}"
	}
	return fmt.Sprint(v)
}

// special returns the source of a number without a Go literal.
func (p *printer) special(x float64) string {
	text := ""
	switch {
	case math.IsInf(x, 1):
		text = "math.Inf(1)"
	case math.IsInf(x, -1):
		text = "math.Inf(-1)"
	case math.IsNaN(x):
		text = "math.NaN()"
	case x == 0 && math.Signbit(x):
		text = "math.Copysign(0, -1)"
	default:
		return ""
	}
	p.imports["math"] = true
	return text
}

// elements returns the elements of a slice, separated by commas; long lists are split into lines.
func (p *printer) elements(v any) string {
	var b strings.Builder
	x := reflect.ValueOf(v)
	for i := range x.Len() {
		if i > 0 {
			b.WriteString(", ")
			if i%32 == 0 {
				b.WriteString("\n")
			}
		}
		b.WriteString(p.text(x.Index(i).Interface()))
	}
	return b.String()
}

// pointer returns an expression for a pointer to a literal.
func (p *printer) pointer(l *lit) string {
	switch l.v.(type) {
	case int, string, bool, float64:
		return "new(" + p.lit(l) + ")"
	}
	return "new(" + reflect.TypeOf(l.v).String() + "(" + p.lit(l) + "))"
}

// comp returns a composite literal.
func (p *printer) comp(c *comp) string {
	var list []string
	for _, f := range c.fields {
		if !f.shown() {
			continue
		}
		text := ""
		switch {
		case f.comp != nil:
			text = p.comp(f.comp)
		case f.pointer:
			text = p.pointer(f.lit)
		default:
			text = p.lit(f.lit)
		}
		list = append(list, f.name+": "+text)
	}
	return p.q(symbolOf(c.typ)) + "{" + strings.Join(list, ", ") + "}"
}

// config returns an operator with its attributes.
func (b *statements) config(s *step) string {
	p := b.printer
	switch {
	case s.config != nil:
		return p.comp(b.withBodies(s))
	case s.op.Domain == "":
		return p.q(symPlain) + "(" + strconv.Quote(s.op.Name) + ")"
	}
	return fmt.Sprintf("%s{Domain: %q, Name: %q}", p.q(symName), s.op.Domain, s.op.Name)
}

// shapeOf returns a shape for a comment.
func shapeOf(t op.Type) string {
	if t.Kind != op.Tensor || t.Unranked || !t.Present() {
		return ""
	}
	s := t.String()
	if strings.ContainsFunc(s, unicode.IsControl) { // a symbol from the file must not end the comment
		return ""
	}
	if i := strings.IndexByte(s, '['); i >= 0 && len(s) < 60 {
		if t.DType == dtype.Float32 {
			return s[i:]
		}
		return s
	}
	return ""
}

// reserved are names that no variable may have.
func reserved() map[string]bool {
	m := map[string]bool{"e": true, "g": true, "err": true, "nn": true, "op": true, "dtype": true, "fmt": true, "tensor": true, "safetensors": true, "name": true, "constant": true, "blank": true, "values": true, "at": true}
	return m
}

// variable derives a variable name from an input's name.
func variable(name string) string {
	var b strings.Builder
	upper := false
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' && b.Len() > 0:
			s := string(c)
			if upper && b.Len() > 0 {
				s = strings.ToUpper(s)
			}
			if b.Len() == 0 {
				s = strings.ToLower(s)
			}
			b.WriteString(s)
			upper = false
		default:
			upper = true
		}
	}
	s := b.String()
	if s == "" || token.IsKeyword(s) || reserved()[s] || predeclared[s] {
		return "x" + s
	}
	return s
}

// predeclared are predeclared identifiers that should not be shadowed.
var predeclared = map[string]bool{"string": true, "int": true, "bool": true, "len": true, "new": true, "make": true, "max": true, "min": true, "true": true, "false": true, "nil": true, "any": true, "copy": true, "real": true, "error": true, "iota": true, "append": true, "cap": true, "close": true, "clear": true, "delete": true, "panic": true, "print": true, "byte": true, "rune": true}

// origin returns the text of a comment about the file that a model came from.
func (o Options) origin() string {
	if o.From == "" {
		return ""
	}
	return " of " + strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return '?'
		}
		return c
	}, filepath.Base(o.From))
}

// source formats a file.
func (p *printer) source(doc, pkg string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%spackage %s\n\n", doc, pkg)
	if len(p.imports) > 0 {
		var std, other []string
		for _, path := range slices.Sorted(maps.Keys(p.imports)) {
			if a := p.alias[path]; a != "" {
				other = append(other, a+" "+strconv.Quote(path))
				continue
			}
			if strings.Contains(path, ".") {
				other = append(other, strconv.Quote(path))
			} else {
				std = append(std, strconv.Quote(path))
			}
		}
		fmt.Fprintf(&b, "import (\n%s\n\n%s\n)\n\n", strings.Join(std, "\n"), strings.Join(other, "\n"))
	}
	b.Write(p.Bytes())
	var out []byte
	var err error
	if ended := engine.Await(cmp.Or(p.ctx, context.Background()), func() { out, err = format.Source(b.Bytes()) }); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, fmt.Errorf("generate: the generated source is not valid Go: %w\n%s", err, b.Bytes())
	}
	return out, nil
}
