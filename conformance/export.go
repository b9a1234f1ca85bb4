package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// CaseWriter writes test cases: a model and, for each set of inputs, its outputs and, optionally, gradients. The zero value
// writes model.onnx, meta.json and outputs, replacing what the folder held. The layout is that of ONNX's backend tests
// and of pytorch-pfn-extras.
type CaseWriter struct {
	Saver onnxio.Saver // how the model is written

	// Gradients adds the gradients of the trainable parameters (gradient_N.pb for parameter N in the order of Graph.Params)
	// and those of the outputs (gradient_input_N.pb). There is no file for a parameter without a gradient.
	Gradients bool
	// OutGrad holds the gradients of the outputs, by name and with the outputs' shapes; missing ones are ones. It implies
	// Gradients.
	OutGrad nn.Feed

	// Train exports the model in training mode, as by nn.Edit.TrainingMode: normalization uses statistics of the batch, and
	// dropout is on. Outputs and gradients are computed in training mode, too; with dropout they differ from run to run.
	Train bool

	// KeepModel does not change an existing model.onnx, and writes data sets with the first numbers that are not used.
	// Otherwise the model is replaced, and so are data sets from test_data_set_0 on; others are kept.
	KeepModel bool

	// Strip removes the data of large tensors from the model and from the values.
	Strip *onnxio.Stripper

	// SequenceFiles writes a file for each item of a sequence, input_0_00.pb, as pytorch-pfn-extras does, instead of the
	// single file that ONNX's own runner reads.
	SequenceFiles bool

	NoMeta   bool           // do not write meta.json
	UserMeta map[string]any // additional entries of meta.json; an error together with NoMeta

	Now func() time.Time // returns the time to record in meta.json; nil: time.Now
}

// Export writes a test case to dir with a data set for each feed, and returns the computed outputs in the same order.
// Inputs that no node reads are removed, also from the model. Everything is computed before anything is written, and files
// are written atomically.
func (x CaseWriter) Export(ctx context.Context, g *nn.Graph, dir string, feeds ...nn.Feed) ([]nn.Feed, error) {
	if len(feeds) == 0 {
		return nil, errors.New("test case: there are no inputs to compute outputs from")
	}
	if x.NoMeta && x.UserMeta != nil {
		return nil, errors.New("test case: UserMeta needs the meta.json that NoMeta leaves out")
	}
	g, _ = g.Fork()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := dropUnused(g); err != nil {
		return nil, err
	}
	if x.Train {
		if err := g.Edit((*nn.Edit).TrainingMode); err != nil {
			return nil, err
		}
	}
	sets := make([]*onnxio.DataSet, len(feeds))
	outputs := make([]nn.Feed, len(feeds))
	for i, in := range feeds {
		var err error
		if sets[i], outputs[i], err = x.compute(ctx, g, in); err != nil {
			return nil, fmt.Errorf("data set %d: %w", i, err)
		}
	}
	return outputs, x.write(ctx, g, dir, sets)
}

// dropUnused removes inputs that nothing reads.
func dropUnused(g *nn.Graph) error {
	var unused []string
	for _, v := range g.Inputs() {
		if len(v.Users()) == 0 && !slices.Contains(g.Outputs(), v) {
			unused = append(unused, v.Name())
		}
	}
	if len(unused) == 0 {
		return nil
	}
	return g.Edit(func(e *nn.Edit) {
		for _, name := range unused {
			e.RemoveInput(name)
		}
	})
}

// compute runs the graph on one set of inputs.
func (x CaseWriter) compute(ctx context.Context, g *nn.Graph, in nn.Feed) (*onnxio.DataSet, nn.Feed, error) {
	feed, set := nn.Feed{}, &onnxio.DataSet{}
	for _, v := range g.Inputs() {
		value := in[v.Name()]
		if value != nil {
			feed[v.Name()] = value
		}
		set.Inputs = append(set.Inputs, onnxio.NamedValue{Name: v.Name(), Value: declared(v, value)})
	}
	out, err := g.Eval(ctx, feed)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range g.Outputs() {
		set.Outputs = append(set.Outputs, onnxio.NamedValue{Name: v.Name(), Value: out[v.Name()]})
	}
	if x.Gradients || x.OutGrad != nil {
		err = x.gradients(ctx, g, feed, set)
	}
	return set, out, err
}

// declared returns the value of an input in the form of its type, which its file has: what is given for an optional as an optional.
func declared(v *nn.Value, given dtype.Value) dtype.Value {
	if _, is := given.(*dtype.Optional); is || v.Type().Kind != op.Optional {
		return given
	}
	o := op.EmptyOptional(elemOf(v.Type()))
	o.Item = given
	return o
}

// gradients adds the gradients of the outputs and of the parameters to the data set.
func (x CaseWriter) gradients(ctx context.Context, g *nn.Graph, feed nn.Feed, set *onnxio.DataSet) error {
	weights := nn.Feed{}
	for i, o := range set.Outputs {
		set.GradientInputs = append(set.GradientInputs, onnxio.NamedValue{Name: o.Name})
		y, ok := isFloat(o.Value)
		given := x.OutGrad[o.Name]
		switch {
		case given != nil && !ok:
			return fmt.Errorf("output %s: %s takes no gradient", o.Name, dtype.Describe(o.Value))
		case !ok:
			continue
		case given == nil:
			one, err := ones(y)
			if err != nil {
				return err
			}
			given = one
		}
		if err := dtype.SameType(given, y); err != nil {
			return fmt.Errorf("the gradient of output %s: %w", o.Name, err)
		}
		weights[o.Name], set.GradientInputs[i].Value = given, given
	}
	for name := range x.OutGrad {
		if !slices.ContainsFunc(set.Outputs, func(o onnxio.NamedValue) bool { return o.Name == name }) {
			return fmt.Errorf("OutGrad: there is no output %s", name)
		}
	}
	var wrt []string
	for p := range g.Params() {
		if p.Trainable() {
			wrt = append(wrt, p.Name())
		}
	}
	got, err := graftSession{g}.Grad(ctx, feed, weights, wrt)
	if err != nil {
		return err
	}
	for _, name := range wrt {
		set.Gradients = append(set.Gradients, onnxio.NamedValue{Name: name, Value: got[name]})
	}
	return nil
}

// write writes the files of a case, all of them or none.
func (x CaseWriter) write(ctx context.Context, g *nn.Graph, dir string, sets []*onnxio.DataSet) error {
	change, err := disk.Begin(ctx, dir)
	if err != nil {
		return err
	}
	defer change.Discard()
	first, err := x.firstSet(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "model.onnx")); err != nil || !x.KeepModel {
		if err := x.writeModel(change, g); err != nil {
			return err
		}
	}
	for i, set := range sets {
		if err := x.writeSet(change, fmt.Sprintf("test_data_set_%d", first+i), set); err != nil {
			return err
		}
	}
	if !x.NoMeta {
		text, err := x.meta(dir)
		if err != nil {
			return err
		}
		if err := change.Write("meta.json", func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return err
		}
	}
	return change.Commit()
}

func (x CaseWriter) writeModel(change *disk.Folder, g *nn.Graph) error {
	return change.Make("model.onnx", func(path string) error {
		if err := x.Saver.Save(path, g); err != nil {
			return err
		}
		return x.strip(path)
	})
}

func (x CaseWriter) writeSet(change *disk.Folder, name string, set *onnxio.DataSet) error {
	set.SequenceFiles = x.SequenceFiles
	return change.Make(name, func(dir string) error {
		err := set.Write(dir)
		if err == nil {
			err = change.RemoveOthers(name, matches("input_*.pb", "output_*.pb", "gradient_*.pb"))
		}
		if err != nil || x.Strip == nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.pb"))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := x.strip(f); err != nil {
				return err
			}
		}
		return nil
	})
}

// matches returns a function that reports whether a name matches one of the patterns.
func matches(patterns ...string) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, err := filepath.Match(p, name); return ok && err == nil })
	}
}

func (x CaseWriter) strip(file string) error {
	if x.Strip == nil {
		return nil
	}
	_, err := x.Strip.Strip(file, "")
	return err
}

// firstSet returns the number of the first data set to write.
func (x CaseWriter) firstSet(dir string) (int, error) {
	if !x.KeepModel {
		return 0, nil
	}
	sets, err := onnxio.DataSets(disk.Dir(dir), ".")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil || len(sets) == 0 {
		return 0, err
	}
	for n := 0; ; n++ {
		if !slices.Contains(sets, fmt.Sprintf("test_data_set_%d", n)) {
			return n, nil
		}
	}
}
