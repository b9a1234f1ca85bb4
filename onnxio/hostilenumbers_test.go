package onnxio

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// TestConstantsAreCounted: what is computed from constants is charged to the budget, all of it together.
func TestConstantsAreCounted(t *testing.T) {
	nn.LimitMemory(256 << 20)
	defer nn.LimitMemory(0)
	graph := `initializer { name: "s" data_type: 7 dims: 1 int64_data: 10000000 } node { name: "n0" op_type: "ConstantOfShape" input: "s" output: "c0" } `
	for i := range 12 {
		graph += fmt.Sprintf(`node { name: "n%d" op_type: "Neg" input: "c%d" output: "c%d" } `, i+1, i, i+1)
	}
	err := use(textModel(t, "input "+float("x", "1")+graph+`node { op_type: "Add" input: "x" input: "c12" output: "y" } output `+float("y", "")))
	if err == nil || !strings.Contains(err.Error(), "Neg n6: would give float32[10000000]: takes 40000000 bytes of memory") {
		t.Error(err)
	}
	if left := nn.MemoryLeft(); left < 0 {
		t.Errorf("%d bytes are left", left)
	}
}

// TestShapeIsNoTensor: an optional where a shape is wanted is refused, and not asked for again and again.
func TestShapeIsNoTensor(t *testing.T) {
	err := use(textModel(t, "input "+float("x", "4")+`node { op_type: "Optional" input: "x" output: "o" }
		node { name: "n" op_type: "Reshape" input: "x" input: "o" output: "y" } output `+float("y", "")))
	if err == nil || !strings.Contains(err.Error(), "Reshape n: input shape: want integers, got optional(float32[4])") {
		t.Error(err)
	}
}

// TestHostileNumbers: sizes that a few bytes claim end in an error that names operator, node and number, soon and within the budget.
func TestHostileNumbers(t *testing.T) {
	nn.LimitMemory(256 << 20)
	defer nn.LimitMemory(0)
	x, y := "input "+float("x", "1 2 4 4"), "output "+float("y", "")
	ints := func(name string, v ...int64) string {
		s := fmt.Sprintf(`initializer { name: %q data_type: 7 dims: %d `, name, len(v))
		for _, i := range v {
			s += fmt.Sprintf("int64_data: %d ", i)
		}
		return s + "} "
	}
	node := func(op string, in []string, attributes ...string) string {
		s := fmt.Sprintf(`node { name: "n" op_type: %q output: "y" `, op)
		for _, i := range in {
			s += fmt.Sprintf("input: %q ", i)
		}
		for _, a := range attributes {
			s += "attribute { " + a + " } "
		}
		return s + "} "
	}
	const huge = 1<<63 - 1
	for name, graph := range map[string]string{
		"Expand|2147483648":                       ints("s", 1<<31, 1<<31, 1<<31) + node("Expand", []string{"x", "s"}),
		"Expand, negative|-5":                     ints("s", -5, 2, 4, 4) + node("Expand", []string{"x", "s"}),
		"Tile|9223372036854775807":                ints("r", huge, 1, 1, 1) + node("Tile", []string{"x", "r"}),
		"Tile, negative|-1":                       ints("r", -1, 1, 1, 1) + node("Tile", []string{"x", "r"}),
		"ConstantOfShape|1099511627776":           ints("s", 1<<40) + node("ConstantOfShape", []string{"s"}),
		"Reshape|9223372036854775807":             ints("s", huge, 2) + node("Reshape", []string{"x", "s"}),
		"OneHot|9223372036854775807":              ints("i", 3) + ints("d", huge) + ints("v", 0, 1) + node("OneHot", []string{"i", "d", "v"}),
		"Resize|1e+30":                            `initializer { name: "s" data_type: 1 dims: 4 float_data: 1 float_data: 1 float_data: 1e30 float_data: 1e30 } ` + node("Resize", []string{"x", "", "s"}),
		"Pad, negative|9223372036854775807":       ints("p", 0, 0, 0, -huge, 0, 0, 0, 0) + node("Pad", []string{"x", "p"}),
		"TopK|9223372036854775807":                ints("k", huge) + node("TopK", []string{"x", "k"}),
		"Split|9223372036854775807":               ints("s", huge) + node("Split", []string{"x", "s"}, `name: "axis" i: 3`),
		"SpaceToDepth|9223372036854775807":        node("SpaceToDepth", []string{"x"}, `name: "blocksize" i: 9223372036854775807`),
		"DepthToSpace|4294967296":                 node("DepthToSpace", []string{"x"}, `name: "blocksize" i: 4294967296`),
		"Gather|-9223372036854775807":             ints("i", -huge) + node("Gather", []string{"x", "i"}),
		"Transpose|9223372036854775807":           node("Transpose", []string{"x"}, `name: "perm" ints: 9223372036854775807 ints: 1 ints: 2 ints: 3`),
		"Flatten|-9223372036854775808":            node("Flatten", []string{"x"}, `name: "axis" i: -9223372036854775808`),
		"Conv, group|-2":                          "input " + float("w", "2 2 1 1") + node("Conv", []string{"x", "w"}, `name: "group" i: -2`),
		"Conv, dilation|9223372036854775807":      "input " + float("w", "2 2 3 3") + node("Conv", []string{"x", "w"}, `name: "dilations" ints: 9223372036854775807 ints: 1`),
		"ConvTranspose, pads|4611686018427387904": "input " + float("w", "2 2 3 3") + node("ConvTranspose", []string{"x", "w"}, `name: "strides" ints: 4611686018427387904 ints: 4611686018427387904`),
		"MaxPool, stride 0|0":                     node("MaxPool", []string{"x"}, `name: "kernel_shape" ints: 2 ints: 2`, `name: "strides" ints: 0 ints: 0`),
		"LRN|-3":                                  node("LRN", []string{"x"}, `name: "size" i: -3`),
		"Concat|9223372036854775807":              node("Concat", []string{"x", "x"}, `name: "axis" i: 9223372036854775807`),
		"Softmax|-9223372036854775808":            node("Softmax", []string{"x"}, `name: "axis" i: -9223372036854775808`),
		"Tile, of nothing|9223372036854775807":    ints("r", 1<<62, 1, 1<<62, 0) + node("Tile", []string{"x", "r"}),
		"BlackmanWindow|2147483648":               `initializer { name: "s" data_type: 7 int64_data: 2147483648 } ` + node("BlackmanWindow", []string{"s"}),
		"AffineGrid|-1":                           "input " + float("th", "1 2 3") + ints("s", 1, 1, -1, 4) + node("AffineGrid", []string{"th", "s"}),
		"AffineGrid, huge|2147483647":             "input " + float("th", "1 2 3") + ints("s", 1, 1, 2147483647, 4) + node("AffineGrid", []string{"th", "s"}),
		"CenterCropPad, huge|2147483647":          ints("s", 1, 2147483647, 4, 4) + node("CenterCropPad", []string{"x", "s"}),
		"MaxUnpool|-9223372036854775808": ints("i", make([]int64, 32)...) + ints("d", 1, 2, 4, 4) + `node { op_type: "Reshape" input: "i" input: "d" output: "at" } ` +
			ints("s", -1<<63, 2, 8, 8) + node("MaxUnpool", []string{"x", "at", "s"}, `name: "kernel_shape" ints: 2 ints: 2`),
		"CenterCropPad|-1":               ints("s", 1, -1, 4, 4) + node("CenterCropPad", []string{"x", "s"}),
		"Col2Im|-1":                      "input " + float("c", "1 4 4") + ints("s", -1, 4) + ints("b", 2, 2) + node("Col2Im", []string{"c", "s", "b"}),
		"RandomUniform|2147483648":       node("RandomUniform", nil, `name: "shape" ints: 2147483648 ints: 2`),
		"Multinomial|2147483648":         "input " + float("p", "2 3") + node("Multinomial", []string{"p"}, `name: "sample_size" i: 2147483648`),
		"DFT|2147483647":                 "input " + float("d", "1 8 1") + `initializer { name: "l" data_type: 7 int64_data: 2147483647 } ` + node("DFT", []string{"d", "l"}),
		"HannWindow|4611686018427387904": `initializer { name: "s" data_type: 7 int64_data: 4611686018427387904 } ` + node("HannWindow", []string{"s"}),
	} {
		name, number, _ := strings.Cut(name, "|")
		begin := spent(t)
		if strings.Contains(graph, `input: "x"`) {
			graph += x
		}
		err := use(fullModel(t, `ir_version: 9 opset_import { version: 20 } graph { name: "g" `+graph+y+`}`))
		op, _, _ := strings.Cut(name, ",")
		if err == nil || !strings.Contains(err.Error(), op+" n") || !strings.Contains(err.Error(), number) || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s: %v", name, err)
		}
		if took := spent(t) - begin; took > 2*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// TestStrideBeyondTheInput: a window that moves beyond the end of the input at its first step costs what its first position does,
// forward and backward, whatever its stride.
func TestStrideBeyondTheInput(t *testing.T) {
	nn.LimitMemory(16 << 20)
	defer nn.LimitMemory(0)
	run := func(operator, stride string) []float64 {
		in := `input: "x" `
		if strings.HasPrefix(operator, "Conv") {
			in += `input: "w" `
		}
		g, err := Read(bytes.NewReader(textModel(t, "input "+float("x", "1 1 4 4")+`initializer { name: "w" data_type: 1 dims: 1 dims: 1 dims: 2 dims: 2 float_data: 1 float_data: 2 float_data: 3 float_data: 4 }
			node { name: "n" op_type: "`+operator+`" `+in+`output: "h" attribute { name: "kernel_shape" ints: 2 ints: 2 } attribute { name: "strides" ints: `+stride+` ints: `+stride+` } }
			node { op_type: "ReduceSum" input: "h" output: "y" attribute { name: "keepdims" i: 0 } } output `+float("y", ""))))
		if err != nil {
			t.Fatal(operator, err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		x := dtype.New(dtype.Float32, 1, 1, 4, 4)
		for i := range 16 {
			dtype.Slice[float32](x)[i] = float32(i + 1)
		}
		out, err := g.Grad(ctx, nn.Feed{"x": x}, "y", "x")
		if err != nil {
			t.Fatal(operator, stride, err)
		}
		d, err := dtype.Float64s(out["x"].(*tensor.Dense))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, operator := range []string{"MaxPool", "AveragePool", "LpPool", "Conv"} {
		if near, far := run(operator, "3"), run(operator, "2147483647"); !slices.Equal(near, far) {
			t.Errorf("%s: the gradient is %v with a stride of 2³¹−1, %v with one of 3", operator, far, near)
		}
	}
}
