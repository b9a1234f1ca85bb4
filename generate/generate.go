package generate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/safetensors"
)

// Options are the settings of Generate.
type Options struct {
	Package string // name of the package; "": model
	From    string // the model's file, for the documentation
	Style   string // "" or Layers: graft's layers; Gorgonia: Gorgonia's functions, independent of graft at run time
}

// The styles of source.
const (
	Layers   = "layers"
	Gorgonia = "gorgonia"
)

// Source is a model as Go source.
type Source struct {
	Files map[string][]byte // by name, including "weights.safetensors"
	Lines int               // number of lines of the model's file
	Notes []string          // messages for the reader
	// Difference is the largest difference between outputs of the source and of the model, on random inputs; −1 if they
	// could not be compared, for which a note gives the reason.
	Difference float64
	Layers     int // number of layers recognized
	Operators  int // number of nodes written as operators
	Functions  int // number of functions for repeated blocks
}

// weightsFile is the name of the file with the weights.
const weightsFile = "weights.safetensors"

// Generate returns the source of a model. The model does not change.
func Generate(ctx context.Context, g *nn.Graph, o Options) (*Source, error) {
	if o.Package == "" {
		o.Package = "model"
	}
	if err := packageName(o.Package); err != nil {
		return nil, err
	}
	if o.Style != "" && o.Style != Layers && o.Style != Gorgonia {
		return nil, fmt.Errorf("generate: there is no style %q: want %s or %s", o.Style, Layers, Gorgonia)
	}
	fork, _, err := g.ForkUntil(ctx)
	if err != nil {
		return nil, err
	}
	s := &Source{Files: map[string][]byte{}}
	training := inference(ctx, fork)
	if training {
		if g, _, err = g.ForkUntil(ctx); err != nil {
			return nil, err
		}
		inference(ctx, g)
	}
	if err := newest(ctx, fork); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	r, err := read(ctx, fork, o.Style)
	if err != nil {
		return nil, err
	}
	r.training = training && modal(ctx, fork) > 0
	if o.Style == Gorgonia {
		if err := r.formless(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fns := r.repeats(o.Style)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, err := r.file(fns, o)
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	} else if err != nil {
		return nil, err
	}
	s.Notes = r.notes
	if err := r.check(ctx, g, s); err != nil {
		return nil, err
	}
	s.Files[o.Package+".go"] = text
	s.Lines, s.Functions = bytes.Count(text, []byte("\n")), len(fns)
	for _, x := range r.steps {
		if x.layer != nil {
			s.Layers++
		} else {
			s.Operators++
		}
	}
	weights := r.tensors()
	size := 0
	for _, d := range weights {
		size += len(dtype.Bytes(d))
	}
	w := bytes.NewBuffer(dtype.Bytes(engine.Uncleared(dtype.Uint8, size+size/100))[:0]) // it would be copied again and again, and cleared without a look at ctx
	if err := safetensors.WriteUntil(ctx, w, weights); err != nil {
		return nil, err
	}
	s.Files[weightsFile] = w.Bytes()
	return s, nil
}

// packageName returns an error if name is not a valid name of an importable package.
func packageName(name string) error {
	if !token.IsIdentifier(name) || name != strings.ToLower(name) || predeclared[name] || name == "main" {
		return fmt.Errorf("generate: %q cannot be the name of a package that others import: want lower-case letters and digits, and no word of Go", name)
	}
	return nil
}

// inference converts a graph from training to inference mode. It reports whether all nodes that depend on the mode were in training mode.
func inference(ctx context.Context, g *nn.Graph) bool {
	know, in := modal(ctx, g), len(g.TrainingNodes())
	return in > 0 && in == know && g.EditUntil(ctx, func(e *nn.Edit) { e.InferenceMode() }) == nil
}

// modal counts the nodes that behave differently in training mode, including those of subgraphs, until ctx ends.
func modal(ctx context.Context, g *nn.Graph) (count int) {
	for n := range g.Nodes() {
		if ctx.Err() != nil {
			return count
		}
		if n.Op() != nil && n.Traits().Training != nil {
			count++
		}
		for _, b := range n.Bodies() {
			count += modal(ctx, b.Graph)
		}
	}
	return count
}

// check builds the model like the source and compares its outputs with those of the original.
func (r *reader) check(ctx context.Context, g *nn.Graph, s *Source) error {
	built, err := r.build()
	if err != nil {
		return err
	}
	for _, x := range r.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n := x.nodes[len(x.nodes)-1]; x.layer == nil && n.Call().Draws() {
			s.Difference, s.Notes = -1, append(s.Notes, fmt.Sprintf("%v: %s %s draws random numbers", errUnchecked, n.Type(), n.Label()))
			return nil
		}
	}
	s.Difference, err = compare(ctx, g, built)
	if r.training && err == nil {
		err = built.EditUntil(ctx, func(e *nn.Edit) { e.TrainingMode() })
	}
	if errors.Is(err, errUnchecked) {
		s.Difference, s.Notes = -1, append(s.Notes, err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("generate: the source would not compute the same as the model: %w", err)
	}
	return nil
}

// file returns the source in the wanted style.
func (r *reader) file(fns []*function, o Options) ([]byte, error) {
	if o.Style == Gorgonia {
		return r.gorgoniaModel(fns, o)
	}
	return r.model(fns, o)
}

// model returns the file of a model of layers.
func (r *reader) model(fns []*function, o Options) ([]byte, error) {
	p := &printer{ctx: r.ctx, imports: map[string]bool{}, helpers: map[string]bool{}}
	items := r.items(fns)
	r.newFunction(p, items)
	r.loadFunction(p)
	for _, f := range fns {
		f.print(p)
	}
	for _, s := range r.variables {
		p.printLocal(s)
	}
	for len(p.pending) > 0 {
		x := p.pending[0]
		p.pending = p.pending[1:]
		x.print(p)
	}
	p.help()
	doc := fmt.Sprintf("// Package %s is the model %s%s as source: New builds it, Load with its weights.\n", o.Package, strconv.Quote(r.g.Name()), o.origin())
	return p.source(doc, o.Package)
}

func (r *reader) newFunction(p *printer, items []item) {
	p.f("// New builds the model with initial weights.\nfunc New() (*%s, error) {\n", p.q(symGraph))
	set := p.operators(r)
	if g := r.empty(); set == "" && len(g.Opsets()) == 1 && g.Opsets()[""] == nn.LatestOpset {
		p.f("g := %s(%q)\n", p.q(symNew), g.Name())
	} else {
		if set == "" {
			set = p.q(symOperators) + "()"
		}
		p.f("g := %s(%q, %s, map[string]int%s)\n", p.q(symNewGraph), g.Name(), set, strings.TrimPrefix(fmt.Sprintf("%#v", g.Opsets()), "map[string]int"))
	}
	p.meta(r)
	p.f("return g, g.Edit(func(e *%s) {\n", p.q(symEdit))
	b := p.statements()
	b.shapes = true
	for _, x := range items {
		for _, v := range x.reads() {
			b.expect(v, 1)
		}
	}
	for _, v := range r.g.Outputs() {
		b.expect(r.val(v), 1)
	}
	for _, v := range r.g.Inputs() {
		name := variable(v.Name())
		if len(r.g.Inputs()) == 1 {
			name = "x"
		}
		for b.declared[name] {
			name += "2"
		}
		x := r.vals[v]
		if b.left[x] == 0 {
			p.f("e.Input(%q, %q)\n", v.Name(), v.Type().String())
			continue
		}
		p.f("%se.Input(%q, %q)\n", b.assign(x, name), v.Name(), v.Type().String())
		b.free[name] = name == "x"
	}
	b.write(items)
	for _, v := range r.g.Outputs() {
		p.f("e.Output(%q, %s)\n", v.Name(), b.vars[r.val(v)])
	}
	if r.training {
		p.f("e.TrainingMode() // as in the file: statistics of the batch and Dropout whenever the model runs\n")
	}
	p.f("})\n}\n\n")
}

// operators writes the operator set of a model that has contributed operators and returns its variable; "" for the
// standard one.
func (p *printer) operators(r *reader) string {
	for _, c := range contrib.Ops() {
		for _, s := range r.steps {
			if s.layer == nil && s.op == c.Operator() {
				p.f("ops, err := %s(%s())\nif err != nil {\nreturn nil, err\n}\n", p.q(symContrib), p.q(symOperators))
				return "ops"
			}
		}
	}
	return ""
}

// most is the maximum length of metadata in source.
const most = 4000

// meta writes the model's metadata, such as class labels.
func (p *printer) meta(r *reader) {
	meta := r.g.Meta()
	if len(meta) == 0 {
		return
	}
	size := 0
	for k, v := range meta {
		size += len(k) + len(v)
	}
	if size > most {
		r.notes = append(r.notes, fmt.Sprintf("the metadata, %d bytes, is left out", size))
		return
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		fmt.Fprintf(&b, "%q: %q,\n", k, meta[k])
	}
	p.f("g.Meta = map[string]string{\n%s}\n", b.String())
}

func (r *reader) loadFunction(p *printer) {
	p.f(`// Load builds the model with the weights of a file; fresh names the parameters that the file has no fitting values for.
func Load(file string) (g *%s, fresh []string, err error) {
	if g, err = New(); err == nil {
		fresh, err = %s(g, file)
	}
	return g, fresh, err
}

`, p.q(symGraph), p.q(symLoad))
}

// help writes the helper functions that statements use.
func (p *printer) help() {
	if p.helpers["constant"] {
		p.f(`// constant is a tensor that is not trained.
func constant[T any](e *%s, name string, data []T, dims ...int) *%s {
	t, err := %s(data, dims...)
	e.Fail(err)
	v := e.Const(name, t)
	e.SetRole(v, %s)
	return v
}

`, p.q(symEdit), p.q(symValue), p.q(symTensor), p.q(symConstant))
	}
	if p.helpers["blank"] {
		p.f(`// blank is a tensor that is not trained and whose elements are loaded.
func blank(e *%s, name string, t %s, dims ...int) *%s {
	v := e.Const(name, %s(t, dims...))
	e.SetRole(v, %s)
	return v
}

`, p.q(symEdit), p.q(of[dtype.DType]()), p.q(symValue), p.q(symNewValue), p.q(symConstant))
	}
	if p.helpers["values"] {
		p.f(`// values is a tensor that is an attribute.
func values[T any](data []T, dims ...int) *%s {
	t, err := %s(data, dims...)
	if err != nil {
		panic(err) // the numbers stand in this file
	}
	return t
}

`, p.q(symDense), p.q(symTensor))
	}
	if p.helpers["at"] {
		p.f(`// at is output i of a layer, nil after an error.
func at(out []*%s, i int) *%s {
	if i < len(out) {
		return out[i]
	}
	return nil
}

`, p.q(symValue), p.q(symValue))
	}
}
