package generate

import (
	"fmt"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// gorgoniaModel returns the file of a model for Gorgonia.
func (r *reader) gorgoniaModel(fns []*function, o Options) ([]byte, error) {
	p := &printer{ctx: r.ctx, imports: map[string]bool{}, helpers: map[string]bool{}, gorgonia: true}
	items := r.items(fns)
	b := p.statements()
	b.shapes = true
	for _, x := range items {
		for _, v := range x.reads() {
			b.expect(v, 1)
		}
	}
	var in, out []string
	for _, v := range r.g.Inputs() {
		name := variable(v.Name())
		if len(r.g.Inputs()) == 1 {
			name = "x"
		}
		b.assign(r.vals[v], name)
		b.free[name] = name == "x"
		in = append(in, name)
	}
	for _, v := range r.g.Outputs() {
		b.expect(r.val(v), 1)
	}
	b.write(items)
	for _, v := range r.g.Outputs() {
		out = append(out, b.vars[r.val(v)])
	}
	body := p.String()
	p.Reset()
	var shapes []string
	for _, v := range r.g.Inputs() {
		shapes = append(shapes, strconv.Quote(v.Name())+" "+shapeOf(v.Type()))
	}
	p.f(`// New adds the model to the expression graph of its inputs, %s, and returns its outputs. Weights are by name, as
// Read gives them; what they lack, or have in another shape, starts with values of its own and is listed in Fresh.
func New(%s *G.Node, weights map[string]*tensor.Dense) (*Model, error) {
	m := &Model{g: %s.Graph(), weights: weights}
	%s
	m.Outputs = G.Nodes{%s}
	return m, m.err
}

`, strings.Join(shapes, ", "), strings.Join(in, ", "), in[0], strings.TrimSpace(body), strings.Join(out, ", "))
	for _, f := range fns {
		f.print(p)
	}
	p.f("%s", gorgoniaBuilder)
	for _, h := range gorgoniaHelpers {
		if p.helpers[h.name] {
			p.f("%s\n", h.text)
		}
	}
	p.imports["errors"], p.imports["fmt"] = true, true
	p.imports[of[tensor.Dense]().pkg] = true
	text := strings.Replace(gorgoniaReader, "READ", weightsFile, 1)
	p.f("%s", text)
	for _, path := range []string{"encoding/binary", "encoding/json", "hash/crc32", "io", "math", "os"} {
		p.imports[path] = true
	}
	if !strings.Contains(p.String(), "errors.") {
		delete(p.imports, "errors")
	}
	if !strings.Contains(p.String(), "math.") {
		delete(p.imports, "math")
	}
	p.alias = map[string]string{of[gorgonia.Node]().pkg: "G"}
	p.imports[of[gorgonia.Node]().pkg] = true
	doc := fmt.Sprintf("// Package %s is the model %q%s for Gorgonia. Running statistics of normalizations are those of the file and stay.\n", o.Package, r.g.Name(), o.origin())
	return p.source(doc, o.Package)
}
