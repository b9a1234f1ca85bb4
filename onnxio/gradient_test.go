package onnxio

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// gradientModel has a Gradient node with the given attributes and inputs after y = (a+b)*a*w.
func gradientModel(t *testing.T, attrs, in, domain string) *nn.Graph {
	t.Helper()
	input := func(name string) string {
		return `input { name: "` + name + `" type { tensor_type { elem_type: 1 shape { } } } } `
	}
	b := fullModel(t, `ir_version: 8 opset_import { version: 17 } opset_import { domain: "`+domain+`" version: 1 }
		graph { name: "g" `+input("a")+input("b")+input("c")+`
		output { name: "da" type { tensor_type { elem_type: 1 shape { } } } }
		node { op_type: "Add" input: "a" input: "b" output: "s" }
		node { op_type: "Mul" input: "s" input: "a" output: "p" }
		node { op_type: "Mul" input: "p" input: "w" output: "y" }
		node { op_type: "Gradient" name: "grad" domain: "`+domain+`" `+in+` output: "da" `+attrs+` }
		initializer { name: "w" data_type: 1 float_data: [10] } }`)
	g, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const byA = `attribute { name: "xs" type: STRINGS strings: "a" } attribute { name: "y" type: STRING s: "y" }`

func scalars(v ...float32) nn.Feed {
	f := nn.Feed{}
	for i, name := range []string{"a", "b", "c"} {
		f[name] = tensor.New(tensor.FromScalar(v[i]))
	}
	return f
}

// TestGradient checks that Gradient differentiates the values around it or, given other inputs, the recomputed values.
func TestGradient(t *testing.T) {
	const preview = "ai.onnx.preview.training"
	zs := `attribute { name: "zs" type: STRINGS strings: "b" }`
	for _, c := range []struct {
		name, attrs, in, domain string
		want                    float64
	}{
		{"of y", byA, `input: "a"`, preview, 10 * (2*2 + 3)},
		{"pytorch-pfn-extras' domain", byA, `input: "a"`, "ai.onnx.preview", 10 * (2*2 + 3)},
		{"with zs", byA + zs, `input: "a" input: "b"`, preview, 10 * (2*2 + 3)},
		{"another x", byA, `input: "c"`, preview, 10 * (2*5 + 3)},
		{"another z", byA + zs, `input: "a" input: "c"`, preview, 10 * (2*2 + 5)},
		{"an inner value", strings.Replace(byA, `"a"`, `"s"`, 1), `input: "s"`, preview, 10 * 2},
		{"unrelated", strings.Replace(byA, `"a"`, `"c"`, 1), `input: "c"`, preview, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := gradientModel(t, c.attrs, c.in, c.domain).Eval(context.Background(), scalars(2, 3, 5))
			if err != nil {
				t.Fatal(err)
			}
			got, err := dtype.Float64s(out["da"].(*tensor.Dense))
			if err != nil || got[0] != c.want {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

// A Gradient node's names follow when the values are renamed, and it is written as it was read otherwise.
func TestGradientRenamed(t *testing.T) {
	g := gradientModel(t, byA, `input: "a"`, "ai.onnx.preview.training")
	plan, err := g.Plan(func(e *nn.Edit) {
		e.RenameValue(e.Value("y"), "energy")
		e.RenameValue(e.Value("a"), "position")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, g); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	feed := scalars(2, 3, 5)
	feed["position"] = feed["a"]
	delete(feed, "a")
	out, err := again.Eval(context.Background(), feed)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dtype.Float64s(out["da"].(*tensor.Dense)); err != nil || got[0] != 70 {
		t.Errorf("got %v, %v, want 70", got, err)
	}
}

func TestGradientRefused(t *testing.T) {
	b := textModel(t, `node { op_type: "Gradient" domain: "ai.onnx.preview.training" input: "x" output: "dx"
		attribute { name: "xs" type: STRINGS strings: "x" } attribute { name: "y" type: STRING s: "nowhere" } }
		input { name: "x" type { tensor_type { elem_type: 1 shape { } } } }`)
	if _, err := Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), `reads "nowhere"`) {
		t.Errorf("got %v", err)
	}
}
