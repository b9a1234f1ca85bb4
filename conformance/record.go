package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

// Recorder returns a Keep function for nn.Recorder: each recording becomes a data set of the test case in dir, with the
// results of the run. For a failed run, the inputs are written, and the error as an entry of meta.json. An existing
// model.onnx is kept, as with KeepModel.
func (x CaseWriter) Recorder(dir string) func(ctx context.Context, r nn.Recording) error {
	x.KeepModel = true
	return func(ctx context.Context, r nn.Recording) error {
		g, _ := r.Graph.Fork()
		if err := dropUnused(g); err != nil {
			return err
		}
		x := x
		set, feed := &onnxio.DataSet{}, nn.Feed{}
		for _, v := range g.Inputs() {
			value := r.In[v.Name()]
			if value != nil {
				feed[v.Name()] = value
			}
			set.Inputs = append(set.Inputs, onnxio.NamedValue{Name: v.Name(), Value: declared(v, value)})
		}
		if r.Err == nil {
			for _, v := range g.Outputs() {
				set.Outputs = append(set.Outputs, onnxio.NamedValue{Name: v.Name(), Value: r.Out[v.Name()]})
			}
		}
		first, err := x.firstSet(dir)
		if err != nil {
			return err
		}
		if r.Err != nil {
			if x.UserMeta = maps.Clone(x.UserMeta); x.UserMeta == nil {
				x.UserMeta = map[string]any{}
			}
			x.UserMeta[fmt.Sprintf("error of test_data_set_%d", first)] = r.Err.Error()
		}
		if r.Err == nil && (x.Gradients || x.OutGrad != nil) {
			if err := x.gradients(ctx, g, feed, set); err != nil {
				return err
			}
		}
		return x.write(ctx, g, dir, []*onnxio.DataSet{set})
	}
}

// Trace traces a function, as nn.Trace does, for inputs with types such as "x float32[N,784]", and exports the graph with
// a data set for each feed. It returns the graph and the computed outputs.
func (x CaseWriter) Trace(ctx context.Context, f nn.Expr, inputs []string, dir string, feeds ...nn.Feed) (*nn.Graph, []nn.Feed, error) {
	g, err := nn.Trace(f, inputs...)
	if err != nil {
		return nil, nil, err
	}
	for _, feed := range feeds {
		for _, name := range slices.Sorted(maps.Keys(feed)) {
			if _, err := g.Value(name); err != nil {
				return nil, nil, err
			}
		}
	}
	out, err := x.Export(ctx, g, dir, feeds...)
	return g, out, err
}
