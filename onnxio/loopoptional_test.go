package onnxio

import (
	"bytes"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// TestLoopFillsOptional: a Loop starts with an optional sequence, or with none, and its body gives a sequence, which the next
// iteration gets as an optional again. The result is a sequence, as ONNX's test_loop16_seq_none declares it.
func TestLoopFillsOptional(t *testing.T) {
	const sequence = `sequence_type { elem_type { tensor_type { elem_type: 1 } } }`
	const optional = `optional_type { elem_type { ` + sequence + ` } }`
	g, err := Read(bytes.NewReader(fullModel(t, `ir_version: 8 opset_import { version: 16 } graph { name: "g"
		input { name: "trips" type { tensor_type { elem_type: 7 shape { } } } }
		input { name: "first" type { `+optional+` } }
		output { name: "all" type { `+sequence+` } }
		node { op_type: "Loop" name: "loop" input: "trips" input: "" input: "first" output: "all" attribute { name: "body" type: GRAPH g { name: "body"
			input { name: "i" type { tensor_type { elem_type: 7 shape { } } } }
			input { name: "on" type { tensor_type { elem_type: 9 shape { } } } }
			input { name: "before" type { `+optional+` } }
			node { op_type: "OptionalHasElement" input: "before" output: "has" }
			node { op_type: "If" input: "has" output: "list"
				attribute { name: "then_branch" type: GRAPH g { name: "then"
					node { op_type: "OptionalGetElement" input: "before" output: "held" }
					output { name: "held" type { `+sequence+` } } } }
				attribute { name: "else_branch" type: GRAPH g { name: "else"
					node { op_type: "SequenceEmpty" output: "empty" }
					output { name: "empty" type { `+sequence+` } } } } }
			node { op_type: "Cast" input: "i" output: "item" attribute { name: "to" type: INT i: 1 } }
			node { op_type: "SequenceInsert" input: "list" input: "item" output: "longer" }
			node { op_type: "Identity" input: "on" output: "still" }
			output { name: "still" type { tensor_type { elem_type: 9 shape { } } } }
			output { name: "longer" type { `+sequence+` } }
		} } } }`)))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := g.Value("all"); err != nil || v.Type().Kind != op.Sequence {
		t.Errorf("the result is %v (%v), want a sequence", v.Type(), err)
	}
	nine := &dtype.Sequence{Elem: dtype.Float32, Items: []dtype.Value{dtype.Scalar[float32](9)}}
	some, none := &dtype.Optional{Elem: dtype.Float32, Seq: true, Item: nine}, &dtype.Optional{Elem: dtype.Float32, Seq: true}
	for _, c := range []struct {
		name  string
		first *dtype.Optional
		trips int64
		want  []float32
	}{
		{"some", some, 2, []float32{9, 0, 1}},
		{"none", none, 3, []float32{0, 1, 2}},
		{"some, no iteration", some, 0, []float32{9}},
		{"none, no iteration", none, 0, nil},
	} {
		in, err := g.Value("first")
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer // through a file, as in a test case
		if err := WriteValue(&file, NamedValue{"first", c.first}); err != nil {
			t.Fatal(err)
		}
		read, err := ReadValue(&file, in.Type())
		if err != nil {
			t.Fatal(err)
		}
		out, err := g.Eval(t.Context(), nn.Feed{"trips": dtype.Scalar(c.trips), "first": read.Value})
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), "but no iteration ran and v_initial") {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		items := out["all"].(*dtype.Sequence).Items
		if len(items) != len(c.want) {
			t.Errorf("%s: got %v, want %v", c.name, items, c.want)
			continue
		}
		for i, w := range c.want {
			if got := dtype.Slice[float32](items[i].(*tensor.Dense))[0]; got != w {
				t.Errorf("%s: item %d is %g, want %g", c.name, i, got, w)
			}
		}
	}
}
