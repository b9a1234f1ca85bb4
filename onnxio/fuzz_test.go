package onnxio

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// FuzzValue feeds any bytes to the readers of every kind. What they accept must come out of the
// writer and go in again unchanged.
func FuzzValue(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 9))
	tensors := &dtype.Sequence{Elem: dtype.Float32}
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Bool, dtype.Int4, dtype.Uint2, dtype.BFloat16} {
		d := dtype.New(dt, 2, 3)
		for i := range dtype.Bytes(d) {
			dtype.Bytes(d)[i] = byte(r.IntN(2))
		}
		tensors.Items = append(tensors.Items, d)
	}
	keyed, err := dtype.NewMap(&dtype.Strings{Dims: []int{2}, Elems: []string{"a", "b"}}, dtype.New(dtype.Float32, 2))
	if err != nil {
		f.Fatal(err)
	}
	strings := &dtype.Strings{Dims: []int{1}, Elems: []string{"s"}}
	for _, v := range append(tensors.Items, tensors, strings, keyed, &dtype.Optional{Item: strings}, &dtype.Optional{Item: tensors}) {
		var b bytes.Buffer
		if err := WriteValue(&b, NamedValue{"v", v}); err != nil {
			f.Fatal(err)
		}
		for kind := range op.Map + 1 {
			f.Add(b.Bytes(), byte(kind))
		}
	}
	sparse, err := encodeSparse("s", dtype.New(dtype.Float32, 2, 2))
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := writeMessage(&b, sparse); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), byte(op.Sparse))
	f.Fuzz(func(t *testing.T, data []byte, kind byte) {
		v, err := ReadValue(bytes.NewReader(data), op.Type{Kind: op.Kind(kind), DType: dtype.Float32})
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteValue(&b, v); err != nil {
			if _, seq := v.Value.(*dtype.Sequence); seq {
				return // a sequence read from a file may mix kinds deeper down
			}
			t.Fatal(err)
		}
		if op.Kind(kind) == op.Sparse {
			kind = byte(op.Tensor)
		}
		again, err := ReadValue(&b, op.Type{Kind: op.Kind(kind), DType: dtype.DTypeOf(v.Value)})
		if err != nil || !same(v.Value, again.Value) {
			t.Fatalf("%s became %s: %v", dtype.Describe(v.Value), dtype.Describe(again.Value), err)
		}
	})
}
