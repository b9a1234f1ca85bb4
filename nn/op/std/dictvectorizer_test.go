package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// A key that is in the vocabulary twice has two columns.
func TestDictVectorizerKeyTwice(t *testing.T) {
	m, err := dtype.NewMap(optest.Ints(7, 3), optest.Floats([]int{2}, 0.5, 2))
	if err != nil {
		t.Fatal(err)
	}
	out, err := optest.Forward(optest.Case{Config: std.DictVectorizerConfig{Ints: []int{3, 7, 9, 3}}, In: []dtype.Value{m}})
	if err != nil {
		t.Fatal(err)
	}
	y := dtype.Slice[float32](out[0].(*tensor.Dense))
	if want := []float32{2, 0.5, 0, 2}; len(y) != 4 || y[0] != want[0] || y[1] != want[1] || y[2] != want[2] || y[3] != want[3] {
		t.Errorf("got %v, want %v", y, want)
	}
}
