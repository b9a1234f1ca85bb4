package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// caseRun is one case being run.
type caseRun struct {
	Runner
	Case
	fsys    fs.FS
	res     Result
	tol     tolerances
	sets    []string
	model   *nn.Graph // the model of the file, which graft may not be able to run
	session Session
}

func (r *caseRun) run(ctx context.Context) {
	err := r.forward(ctx)
	r.res.OK = err == nil
	if err != nil {
		r.fail(err)
	}
	if _, ok := r.session.(Differentiator); !ok {
		return
	}
	switch found, err := r.gradients(ctx); {
	case err != nil:
		r.res.Gradients = "fail"
		r.fail(err)
	case found:
		r.res.Gradients = "ok"
	}
}

// forward runs every data set; after an error in one, the results of the others are still written.
func (r *caseRun) forward(ctx context.Context) error {
	var err error
	if r.tol, err = readTolerances(r.fsys); err != nil {
		return err
	}
	if r.sets, err = onnxio.DataSets(r.fsys, "."); err != nil {
		return err
	}
	if len(r.sets) == 0 {
		return errors.New("the case has no test_data_set_0")
	}
	backend := r.Backend
	if backend == nil {
		backend = Graft{}
	}
	session, err := backend.Load(ctx, r.fsys, "model.onnx")
	if err != nil {
		return err
	}
	if own, ok := session.(interface{ graph() *nn.Graph }); ok { // a second one would take as much memory
		r.model = own.graph()
	} else if r.model, err = (onnxio.Loader{FS: r.fsys}).Load("model.onnx"); err != nil {
		return err
	}
	r.session = session
	var errs []error
	for _, set := range r.sets {
		if err := r.dataSet(ctx, set); err != nil {
			if len(r.sets) > 1 {
				err = fmt.Errorf("%s: %w", set, err)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// read reads a data set and arranges its inputs by name.
func (r *caseRun) read(name string) (*onnxio.DataSet, nn.Feed, error) {
	set, err := onnxio.ReadDataSet(r.fsys, name, typesOf(r.model.Inputs()), typesOf(r.model.Outputs()))
	if err != nil {
		return nil, nil, err
	}
	feed, err := feedOf(r.model, set.Inputs)
	return set, feed, err
}

func (r *caseRun) dataSet(ctx context.Context, name string) error {
	set, feed, err := r.read(name)
	if err != nil {
		return err
	}
	got, err := r.session.Run(ctx, feed)
	if err != nil {
		return err
	}
	if err := r.dump(path.Join(r.Name, name), got); err != nil {
		return err
	}
	want, err := matchOutputs(namesOf(r.model.Outputs()), set.Outputs)
	if err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	var errs []error
	for i, v := range r.model.Outputs() {
		if want[i].Value == nil {
			continue // the data set has no value for this input
		}
		if err := r.compare(i, v, got[v.Name()], want[i].Value, feed); err != nil {
			errs = append(errs, fmt.Errorf("output %d (%s): %w", i, v.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// matchOutputs is MatchNames for data sets that may lack outputs if their values are named, as pytorch-pfn-extras
// writes them for outputs that were added later.
func matchOutputs(names []string, values []onnxio.NamedValue) ([]onnxio.NamedValue, error) {
	if len(values) == 0 || len(values) >= len(names) {
		return onnxio.MatchNames(names, values)
	}
	out := make([]onnxio.NamedValue, len(names))
	for _, v := range values {
		i := slices.Index(names, v.Name)
		if i < 0 || out[i].Value != nil {
			return onnxio.MatchNames(names, values) // returns the error
		}
		out[i] = v
	}
	return out, nil
}

func (r *caseRun) compare(i int, v *nn.Value, got, want dtype.Value, feed nn.Feed) error {
	if isRandom(v, feed) {
		return dtype.SameType(got, want)
	}
	d, err := r.tol.at(i).Compare(got, want)
	r.res.MaxAbs = max(r.res.MaxAbs, d)
	return err
}

// dump writes the computed outputs to a folder below Dump.
func (r *caseRun) dump(dir string, got nn.Feed) error {
	if r.Dump == "" {
		return nil
	}
	dir = filepath.Join(r.Dump, filepath.FromSlash(dir))
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	for i, v := range r.model.Outputs() {
		if x := got[v.Name()]; x != nil {
			if err := writeNamed(filepath.Join(dir, fmt.Sprintf("output_%d.pb", i)), onnxio.NamedValue{Name: v.Name(), Value: x}); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeNamed(name string, v onnxio.NamedValue) error {
	return onnxio.WriteFile(name, func(w io.Writer) error { return onnxio.WriteValue(w, v) })
}

// feedOf assigns the inputs of a data set to the inputs of the graph. Optional ones may be missing at the end.
func feedOf(g *nn.Graph, given []onnxio.NamedValue) (nn.Feed, error) {
	inputs := g.Inputs()
	for len(given) < len(inputs) && inputs[len(given)].Type().Kind == op.Optional {
		given = append(given, onnxio.NamedValue{Name: inputs[len(given)].Name()})
	}
	in, err := onnxio.MatchNames(namesOf(inputs), given)
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

func typesOf(values []*nn.Value) []op.Type {
	types := make([]op.Type, len(values))
	for i, v := range values {
		types[i] = v.Type()
	}
	return types
}
