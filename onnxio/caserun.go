package onnxio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// caseRun is one case being verified.
type caseRun struct {
	Verifier
	Case
	fsys fs.FS
	res  Result
	tol  tolerances
	sets []string
}

func (r *caseRun) run(ctx context.Context) {
	err := r.forward(ctx)
	r.res.OK = err == nil
	if err != nil {
		r.fail(err)
	}
	switch found, err := r.gradients(ctx); {
	case err != nil:
		r.res.Gradients = "fail"
		r.fail(err)
	case found:
		r.res.Gradients = "ok"
	}
}

func (r *caseRun) loader() Loader { return Loader{Ops: r.Ops, FS: r.fsys} }

// forward runs every data set; an error in one does not keep the others from being written.
func (r *caseRun) forward(ctx context.Context) error {
	var err error
	if r.tol, err = readTolerances(r.fsys); err != nil {
		return err
	}
	if r.sets, err = DataSets(r.fsys, "."); err != nil {
		return err
	}
	if len(r.sets) == 0 {
		return errors.New("the case has no test_data_set_0")
	}
	g, err := r.loader().Load("model.onnx")
	if err != nil {
		return err
	}
	var errs []error
	for _, set := range r.sets {
		if err := r.dataSet(ctx, g, set); err != nil {
			if len(r.sets) > 1 {
				err = fmt.Errorf("%s: %w", set, err)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r *caseRun) dataSet(ctx context.Context, g *nn.Graph, name string) error {
	set, err := ReadDataSet(r.fsys, name, declaredOf(g.Inputs()), declaredOf(g.Outputs()))
	if err != nil {
		return err
	}
	feed, err := feedOf(g, set.Inputs)
	if err != nil {
		return err
	}
	got, err := g.Eval(ctx, feed)
	if err != nil {
		return err
	}
	if err := r.dump(path.Join(r.Name, name), g, got); err != nil {
		return err
	}
	want, err := matchOutputs(namesOf(g.Outputs()), set.Outputs)
	if err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	var errs []error
	for i, v := range g.Outputs() {
		if want[i].Value == nil {
			continue // the data set says nothing about it
		}
		if err := r.compare(i, v, got[v.Name()], want[i].Value, feed); err != nil {
			errs = append(errs, fmt.Errorf("output %d (%s): %w", i, v.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// matchOutputs is MatchNames where a data set may leave outputs out, if it names those it has: pytorch-pfn-extras does
// so with outputs that were added on the way.
func matchOutputs(names []string, values []Named) ([]Named, error) {
	if len(values) == 0 || len(values) >= len(names) {
		return MatchNames(names, values)
	}
	out := make([]Named, len(names))
	for _, v := range values {
		i := slices.Index(names, v.Name)
		if i < 0 || out[i].Value != nil {
			return MatchNames(names, values) // says what is wrong
		}
		out[i] = v
	}
	return out, nil
}

func (r *caseRun) compare(i int, v *nn.Value, got, want dtype.Value, feed nn.Feed) error {
	if isRandom(v, feed) {
		return sameType(got, want)
	}
	d, err := r.tol.at(i).Compare(got, want)
	r.res.MaxAbs = max(r.res.MaxAbs, d)
	return err
}

// dump writes the computed outputs below the folder for them.
func (r *caseRun) dump(dir string, g *nn.Graph, got nn.Feed) error {
	if r.Dump == "" {
		return nil
	}
	dir = filepath.Join(r.Dump, filepath.FromSlash(dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, v := range g.Outputs() {
		if x := got[v.Name()]; x != nil {
			if err := writeNamed(filepath.Join(dir, fmt.Sprintf("output_%d.pb", i)), Named{v.Name(), x}); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeNamed(name string, v Named) error {
	return WriteFile(name, func(w io.Writer) error { return WriteValue(w, v) })
}

// feedOf gives the inputs of a data set to the inputs of the graph. Optional ones may be missing
// at the end.
func feedOf(g *nn.Graph, given []Named) (nn.Feed, error) {
	inputs := g.Inputs()
	for len(given) < len(inputs) && inputs[len(given)].Type().Kind == op.Optional {
		given = append(given, Named{Name: inputs[len(given)].Name()})
	}
	in, err := MatchNames(namesOf(inputs), given)
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	feed := nn.Feed{}
	for i, v := range inputs {
		if in[i].Value != nil {
			feed[v.Name()] = in[i].Value
		}
	}
	return feed, nil
}

func namesOf(values []*nn.Value) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.Name()
	}
	return names
}

// declaredOf is what reading a data set needs to know of inputs or outputs.
func declaredOf(values []*nn.Value) []Declared {
	list := make([]Declared, len(values))
	for i, v := range values {
		t := v.Type()
		list[i] = Declared{Name: v.Name(), Kind: kindOfType(t.Kind)}
		for t.Elem != nil {
			t = *t.Elem
		}
		list[i].Elem = t.DType
	}
	return list
}

func kindOfType(k op.Kind) Kind {
	switch k {
	case op.Sparse:
		return KindSparse
	case op.Sequence:
		return KindSequence
	case op.Optional:
		return KindOptional
	case op.Map:
		return KindMap
	}
	return KindTensor
}

// isRandom says whether random numbers reach v, so that only its type and shape can be judged.
func isRandom(v *nn.Value, feed nn.Feed) bool {
	seen := map[*nn.Node]bool{}
	var reach func(v *nn.Value) bool
	reach = func(v *nn.Value) bool {
		n := v.Producer()
		if n == nil || seen[n] {
			return false
		}
		seen[n] = true
		if draws(n, feed) {
			return true
		}
		for _, x := range append(n.Inputs(), n.Captured()...) {
			if x != nil && reach(x) {
				return true
			}
		}
		return false
	}
	return reach(v)
}

// draws says whether a node, or one in its subgraphs, draws random numbers.
func draws(n *nn.Node, feed nn.Feed) bool {
	switch {
	case n.Type() == "Dropout" && n.Domain() == "":
		return dropsOut(n, feed)
	case n.Op() != nil && n.Op().Random:
		return true
	}
	for _, b := range n.Bodies() {
		for x := range b.Graph.Nodes() {
			if draws(x, feed) {
				return true
			}
		}
	}
	return false
}

// dropsOut says whether a Dropout is in training mode with a ratio other than zero.
func dropsOut(n *nn.Node, feed nn.Feed) bool {
	mode, ok := scalarOf(n.In(2), feed)
	if n.In(2) == nil || ok && mode == 0 {
		return false
	}
	ratio, ok := scalarOf(n.In(1), feed)
	return n.In(1) == nil || !ok || ratio != 0
}

// scalarOf is the value of a scalar that is fed or part of the model.
func scalarOf(v *nn.Value, feed nn.Feed) (float64, bool) {
	var x any = feed[v.Name()]
	if p := v.Param(); p != nil {
		x = p.Data
	} else if k := v.Known().Value; k != nil {
		x = k
	}
	d, ok := x.(*tensor.Dense)
	if !ok || d == nil {
		return 0, false
	}
	f, err := dtype.Float64s(d)
	if err != nil || len(f) != 1 {
		return 0, false
	}
	return f[0], true
}

// tolerances are those of data.json.
type tolerances struct {
	Tolerance
	outputs map[int]float64
}

func (t tolerances) at(i int) Tolerance {
	tol := t.Tolerance
	if atol, ok := t.outputs[i]; ok {
		tol.Atol = atol
	}
	return tol
}

func readTolerances(fsys fs.FS) (tolerances, error) {
	t := tolerances{Tolerance: DefaultTolerance, outputs: map[int]float64{}}
	b, err := fs.ReadFile(fsys, "data.json")
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	var file struct {
		Rtol, Atol *float64
		Outputs    json.RawMessage `json:"atol_outputs"`
	}
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		return t, fmt.Errorf("data.json: %w", err)
	}
	if file.Rtol != nil {
		t.Rtol = *file.Rtol
	}
	if file.Atol != nil {
		t.Atol = *file.Atol
	}
	if len(file.Outputs) == 0 {
		return t, nil
	}
	var list []float64 // by number, or an object by number
	if json.Unmarshal(file.Outputs, &list) == nil {
		for i, a := range list {
			t.outputs[i] = a
		}
		return t, nil
	}
	if err := json.Unmarshal(file.Outputs, &t.outputs); err != nil {
		return t, fmt.Errorf("data.json: atol_outputs: %w", err)
	}
	return t, nil
}
