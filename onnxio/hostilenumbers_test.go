package onnxio

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
)

// TestHostileNumbers: sizes that a few bytes claim end in an error that names operator and node, soon and within the budget.
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
		"Expand":              ints("s", 1<<31, 1<<31, 1<<31) + node("Expand", []string{"x", "s"}),
		"Expand, negative":    ints("s", -5, 2, 4, 4) + node("Expand", []string{"x", "s"}),
		"Tile":                ints("r", huge, 1, 1, 1) + node("Tile", []string{"x", "r"}),
		"Tile, negative":      ints("r", -1, 1, 1, 1) + node("Tile", []string{"x", "r"}),
		"ConstantOfShape":     ints("s", 1<<40) + node("ConstantOfShape", []string{"s"}),
		"Reshape":             ints("s", huge, 2) + node("Reshape", []string{"x", "s"}),
		"OneHot":              ints("i", 3) + ints("d", huge) + ints("v", 0, 1) + node("OneHot", []string{"i", "d", "v"}),
		"Resize":              `initializer { name: "s" data_type: 1 dims: 4 float_data: 1 float_data: 1 float_data: 1e30 float_data: 1e30 } ` + node("Resize", []string{"x", "", "s"}),
		"Pad, negative":       ints("p", 0, 0, 0, -huge, 0, 0, 0, 0) + node("Pad", []string{"x", "p"}),
		"TopK":                ints("k", huge) + node("TopK", []string{"x", "k"}),
		"Split":               ints("s", huge, huge, 4) + node("Split", []string{"x", "s"}, `name: "axis" i: 3`),
		"SpaceToDepth":        node("SpaceToDepth", []string{"x"}, `name: "blocksize" i: 9223372036854775807`),
		"DepthToSpace":        node("DepthToSpace", []string{"x"}, `name: "blocksize" i: 4294967296`),
		"Gather":              ints("i", -huge) + node("Gather", []string{"x", "i"}),
		"Transpose":           node("Transpose", []string{"x"}, `name: "perm" ints: 9223372036854775807 ints: 1 ints: 2 ints: 3`),
		"Flatten":             node("Flatten", []string{"x"}, `name: "axis" i: -9223372036854775808`),
		"Conv, group":         "input " + float("w", "2 2 1 1") + node("Conv", []string{"x", "w"}, `name: "group" i: -2`),
		"Conv, dilation":      "input " + float("w", "2 2 3 3") + node("Conv", []string{"x", "w"}, `name: "dilations" ints: 9223372036854775807 ints: 1`),
		"ConvTranspose, pads": "input " + float("w", "2 2 3 3") + node("ConvTranspose", []string{"x", "w"}, `name: "strides" ints: 4611686018427387904 ints: 4611686018427387904`),
		"MaxPool, stride 0":   node("MaxPool", []string{"x"}, `name: "kernel_shape" ints: 2 ints: 2`, `name: "strides" ints: 0 ints: 0`),
		"LRN":                 node("LRN", []string{"x"}, `name: "size" i: -3`),
		"Concat":              node("Concat", []string{"x", "x"}, `name: "axis" i: 9223372036854775807`),
		"Softmax":             node("Softmax", []string{"x"}, `name: "axis" i: -9223372036854775808`),
		"HannWindow":          `initializer { name: "s" data_type: 7 int64_data: 4611686018427387904 } ` + node("HannWindow", []string{"s"}),
	} {
		begin := time.Now()
		err := use(textModel(t, graph+map[bool]string{false: x, true: ""}[!strings.Contains(graph, `input: "x"`)]+y))
		op, _, _ := strings.Cut(name, ",")
		if err == nil || !strings.Contains(err.Error(), op+" n") || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}
