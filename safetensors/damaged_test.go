package safetensors

import (
	"bytes"
	"maps"
	"reflect"
	"testing"

	"gorgonia.org/tensor"
)

// TestDamaged: a file with one wrong bit is an error, or has the same tensors.
func TestDamaged(t *testing.T) {
	tensors := map[string]*tensor.Dense{
		"a": tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6})),
		"b": tensor.New(tensor.WithShape(2), tensor.WithBacking([]int64{7, 8})),
	}
	var w bytes.Buffer
	if err := Write(&w, tensors); err != nil {
		t.Fatal(err)
	}
	for i := range w.Len() * 8 {
		b := bytes.Clone(w.Bytes())
		b[i/8] ^= 1 << (i % 8)
		got, err := Read(bytes.NewReader(b))
		if err == nil && !maps.EqualFunc(got, tensors, func(a, b *tensor.Dense) bool {
			return a.Shape().Eq(b.Shape()) && reflect.DeepEqual(a.Data(), b.Data())
		}) {
			t.Errorf("bit %d of byte %d of %q is wrong: read as %v", i%8, i/8, w.String(), got)
		}
	}
}
