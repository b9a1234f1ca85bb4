package onnxio

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
)

// TestAnnotationPlaces: where annotations are written, in which order and form, and what of the file that makes of its attributes and metadata.
func TestAnnotationPlaces(t *testing.T) {
	b := textModel(t, "input "+float("x", "2")+`node { op_type: "Relu" name: "r" input: "x" output: "y"
		attribute { name: "mark" type: INT i: 3 } attribute { name: "table" type: TENSOR t { data_type: 1 dims: 1 float_data: 1 } }
		metadata_props { key: "z" value: "[1,  2]" } metadata_props { key: "a" value: "0.50" } metadata_props { key: "k" value: "text" } } output `+float("y", "2"))
	none := func(*nn.Edit) {}
	for _, c := range []struct {
		edit func(e *nn.Edit)
		mode AnnotationMode
		want string
	}{
		{none, AsStored, `mark=3 table | z="[1,  2]" a="0.50" k="text"`},
		{none, AsMetadata, `table | z="[1,  2]" a="0.50" k="text" mark="3"`},
		{none, AsAttributes, `mark=3 table a=0.5 k="text" z=[1 2] |`},
		{func(e *nn.Edit) { e.Annotate(nn.Annotations{"a": 7, "mark": 4, "new": 1}) }, AsStored, `mark=4 table | z="[1,  2]" a="7" k="text" new="1"`},
		{func(e *nn.Edit) { e.Annotate(nn.Annotations{"a": 7, "mark": 4, "new": 1}) }, AsMetadata, `table | z="[1,  2]" a="7" k="text" mark="4" new="1"`},
		{func(e *nn.Edit) { e.Annotate(nn.Annotations{"a": 7, "mark": 4, "new": 1}) }, AsAttributes, `mark=4 table a=7 k="text" new=1 z=[1 2] |`},
		{func(e *nn.Edit) { e.RemoveAnnotations([]string{"mark", "a", "none"}) }, AsStored, `table | z="[1,  2]" k="text"`},
	} {
		g := read(t, b)
		change(t, g, c.edit)
		n := written(t, Saver{Annotations: c.mode}, g).Graph.Node[0]
		got := ""
		for _, a := range n.Attribute {
			got += a.GetName()
			if a.T == nil {
				v, err := decodeAttribute(a, nil)
				if err != nil {
					t.Fatal(err)
				}
				if s, ok := v.(string); ok {
					v = fmt.Sprintf("%q", s)
				}
				got += fmt.Sprint("=", v)
			}
			got += " "
		}
		got += "|"
		for _, p := range n.MetadataProps {
			got += fmt.Sprintf(" %s=%q", p.GetKey(), p.GetValue())
		}
		if got != c.want {
			t.Errorf("mode %d: got  %s\nwant %s", c.mode, got, c.want)
		}
	}
	// A tensor is not an annotation, an unreadable attribute neither; both stay.
	g := read(t, textModel(t, "input "+float("x", "2")+`node { op_type: "Relu" input: "x" output: "y" attribute { name: "table" type: TENSOR t { data_type: 1 dims: 1 float_data: 1 } } attribute { name: "s" type: STRINGS strings: ["p", "q"] } } output `+float("y", "2")))
	for n := range g.Nodes() {
		if a := n.Annotations(); len(a) != 1 || !slices.Equal(a["s"].([]string), []string{"p", "q"}) {
			t.Errorf("got %v", a)
		}
	}
}
