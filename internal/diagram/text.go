package diagram

import (
	"fmt"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/rivo/uniseg"
	"gorgonia.org/tensor"
)

// Sizes of text, in pixels.
const (
	titleSize = 13.0
	textSize  = 11.0
	lineHigh  = 15.0
)

// textWidth returns the width of a text in a font whose characters are all 0.6 times as wide as high.
func textWidth(s string, size float64) float64 {
	return float64(uniseg.StringWidth(s)) * size * 0.605
}

// shapeText returns a type in short: 1×64×56×56, after the type of the elements unless they are float32.
func shapeText(t op.Type) string {
	switch {
	case !t.Present():
		return "?"
	case t.Kind != op.Tensor:
		return shorten(t.String())
	}
	name := ""
	if t.DType != dtype.Float32 {
		name = t.DType.String() + " "
	}
	if t.Unranked {
		return name + "?"
	}
	dims := make([]string, len(t.Shape))
	for i, d := range t.Shape {
		dims[i] = d.String()
	}
	if len(dims) == 0 {
		return name + "scalar"
	}
	return shorten(name + strings.Join(dims, "×"))
}

// shorten keeps texts within a line.
func shorten(s string) string {
	if r := []rune(s); len(r) > 36 {
		return string(r[:35]) + "…"
	}
	return s
}

// operator returns a node's operator, after its domain unless that is the standard one.
func operator(n *nn.Node) string {
	if n.Domain() != "" {
		return n.Domain() + "." + n.Type()
	}
	return n.Type()
}

// few is the number of elements up to which a constant is written out.
const few = 6

// held describes a value that is not a wire, as the node that reads it shows it: W 64×3×7×7, or a short constant's elements.
func held(name string, v *nn.Value) string {
	value, typ := v.Known().Value, v.Type()
	if p := v.Param(); p != nil && p.Role() == nn.Constant {
		value = direct.Tensor(p)
	} else if x := stated(v.Producer()); value == nil && x != nil {
		value, typ = x, op.TypeOf(x)
	}
	if d, ok := value.(*tensor.Dense); ok && d.Shape().TotalSize() <= few {
		if x, err := dtype.Float64s(d); err == nil {
			parts := make([]string, len(x))
			for i, f := range x {
				parts[i] = fmt.Sprintf("%.4g", f)
			}
			text := strings.Join(parts, " ")
			if d.Dims() > 0 {
				text = "[" + text + "]"
			}
			return shorten(name + " = " + text)
		}
	}
	if dims := v.Known().Dims; len(dims) > 0 && len(dims) <= few {
		return shorten(fmt.Sprintf("%s = %v", name, dims))
	}
	if !typ.Present() {
		return name
	}
	return shorten(name + " " + shapeText(typ))
}

// stated returns the value that a node without inputs has as an attribute.
func stated(n *nn.Node) dtype.Value {
	if n == nil || n.Config() == nil || len(n.Inputs()) > 0 {
		return nil
	}
	for _, a := range op.Encode(n.Op().Latest(), n.Config()) {
		if v, ok := a.Value.(dtype.Value); ok {
			return v
		}
	}
	return nil
}

// slotName returns the formal name of a node's input.
func slotName(n *nn.Node, i int) string {
	if n.Op() == nil {
		return "input"
	}
	slots := n.Op().In.List()
	switch {
	case len(slots) == 0:
		return "input"
	case i >= len(slots):
		return slots[len(slots)-1].Name
	}
	return slots[i].Name
}

// about returns the tooltip of a node: its name, its attributes and its outputs.
func about(n *nn.Node, opsets map[string]int) string {
	lines := []string{n.Label()}
	if c := n.Config(); c != nil {
		for _, a := range op.Encode(opsets[n.Domain()], c) {
			switch a.Value.(type) {
			case int64, float32, string, []int64, []float32, []string:
				lines = append(lines, shorten(fmt.Sprintf("%s = %v", a.Name, a.Value)))
			}
		}
	}
	for _, v := range n.Outputs() {
		if v != nil {
			lines = append(lines, v.Name()+" "+v.Type().String())
		}
	}
	return strings.Join(lines, "\n")
}
