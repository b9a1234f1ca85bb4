package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// TestInferenceMode checks that InferenceMode reverses what TrainingMode changes in nodes.
func TestInferenceMode(t *testing.T) {
	g := nn.New("modes")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 4}, layers.BatchNorm{}, layers.Dropout{P: 0.5}}, e.Input("x", "float32[N,3]")))
	}); err != nil {
		t.Fatal(err)
	}
	before := g.Summary().String()
	if n := len(g.TrainingNodes()); n != 0 {
		t.Errorf("%d nodes train", n)
	}
	if err := g.Edit(func(e *nn.Edit) { e.TrainingMode() }); err != nil {
		t.Fatal(err)
	}
	list := g.TrainingNodes()
	if len(list) != 2 || list[0].Op().Name != "BatchNormalization" || list[1].Op().Name != "Dropout" {
		t.Fatalf("%v train", list)
	}
	if out := list[0].Outputs(); len(out) != 3 || out[2].Type().String() != "float32[4]" { // as ONNX's shape inference demands
		t.Errorf("the normalization has the outputs %v", out)
	}
	if err := g.Edit(func(e *nn.Edit) {
		if n := e.InferenceMode(); n != 2 {
			t.Errorf("%d nodes changed", n)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if after := g.Summary().String(); len(g.TrainingNodes()) != 0 || after != before {
		t.Errorf("%s\nwant\n%s", after, before)
	}
}
