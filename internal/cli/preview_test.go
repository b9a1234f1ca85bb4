package cli

import (
	"encoding/json"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// A tensor of rank 0 has a shape, too: an empty one.
func TestScalarAsObject(t *testing.T) {
	x, err := dtype.FromFloats(dtype.Float32, []float64{2.5})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(asObject(onnxio.NamedValue{Name: "loss", Value: x}))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"loss","type":"float32[]","shape":[],"data":[2.5]}`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}
