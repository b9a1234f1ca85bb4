package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// layer is a layer in a recipe.
type layer struct {
	Op       string   `json:"op"`
	Name     string   `json:"name"`
	Out      int      `json:"out"` // channels; 0: as many as the input has
	Kernel   []int    `json:"kernel"`
	Stride   []int    `json:"stride"`
	Dilation []int    `json:"dilation"`
	Pad      []int    `json:"pad"` // absent: the output length is the input length divided by the stride
	Group    int      `json:"group"`
	NoBias   bool     `json:"nobias"`
	Alpha    float64  `json:"alpha"` // slope of leakyrelu, initial slope of prelu, scale of elu
	P        *float64 `json:"p"`     // probability of dropout; nil: 0.5
}

// layerKind is a kind of layer in recipes.
type layerKind struct {
	op    string
	needs []string
	takes []string // fields besides the name
	build func(l layer) nn.Layer
}

// layerKinds lists them in the order of the help.
func layerKinds() []layerKind {
	list := func(s string) []string { return strings.Fields(s) }
	plain := func(name string) func(l layer) nn.Layer {
		return func(l layer) nn.Layer { return nn.OpLayer{Config: op.Plain(name), Name: l.Name} }
	}
	return []layerKind{
		{"conv", list("kernel"), list("out stride dilation pad group nobias"), func(l layer) nn.Layer {
			return layers.Conv{Out: l.Out, Kernel: l.Kernel, Stride: l.Stride, Dilation: l.Dilation, Pad: l.Pad, Same: l.Pad == nil, Group: l.Group, NoBias: l.NoBias, Name: l.Name}
		}},
		{"linear", nil, list("out nobias"), func(l layer) nn.Layer { return layers.Linear{Out: l.Out, NoBias: l.NoBias, Name: l.Name} }},
		{"batchnorm", nil, nil, func(l layer) nn.Layer { return layers.BatchNorm{Name: l.Name} }},
		{"layernorm", nil, nil, func(l layer) nn.Layer { return layers.LayerNorm{Name: l.Name} }},
		{"groupnorm", list("group"), nil, func(l layer) nn.Layer { return layers.GroupNorm{Groups: l.Group, Name: l.Name} }},
		{"dropout", nil, list("p"), func(l layer) nn.Layer { return layers.Dropout{P: *cmp.Or(l.P, new(0.5)), Name: l.Name} }},
		{"maxpool", list("kernel"), list("stride pad"), func(l layer) nn.Layer {
			return layers.MaxPool{Kernel: l.Kernel, Stride: l.Stride, Pad: l.Pad, Name: l.Name}
		}},
		{"avgpool", list("kernel"), list("stride pad"), func(l layer) nn.Layer {
			return layers.AvgPool{Kernel: l.Kernel, Stride: l.Stride, Pad: l.Pad, Name: l.Name}
		}},
		{"relu", nil, nil, func(l layer) nn.Layer { return layers.ReLU{Name: l.Name} }},
		{"leakyrelu", nil, list("alpha"), func(l layer) nn.Layer { return layers.LeakyReLU{Slope: l.Alpha, Name: l.Name} }},
		{"prelu", nil, list("alpha"), func(l layer) nn.Layer { return layers.PReLU{Slope: l.Alpha, Name: l.Name} }},
		{"elu", nil, list("alpha"), func(l layer) nn.Layer { return layers.ELU{Alpha: l.Alpha, Name: l.Name} }},
		{"gelu", nil, nil, func(l layer) nn.Layer { return layers.GELU{Name: l.Name} }},
		{"silu", nil, nil, func(l layer) nn.Layer { return layers.SiLU{Name: l.Name} }},
		{"sigmoid", nil, nil, func(l layer) nn.Layer { return layers.Sigmoid{Name: l.Name} }},
		{"tanh", nil, nil, func(l layer) nn.Layer { return layers.Tanh{Name: l.Name} }},
		{"hardswish", nil, nil, plain("HardSwish")},
		{"hardsigmoid", nil, nil, plain("HardSigmoid")},
		{"mish", nil, nil, plain("Mish")},
		{"selu", nil, nil, plain("Selu")},
		{"softplus", nil, nil, plain("Softplus")},
	}
}

func layerHelp() string {
	var names []string
	for _, k := range layerKinds() {
		s := k.op
		if fields := slices.Concat(k.needs, k.takes); len(fields) > 0 {
			s += " (" + strings.Join(fields, ", ") + ")"
		}
		names = append(names, s)
	}
	return strings.Join(names, ", ")
}

// build makes the layer, or returns an error that describes what is wrong with it.
func (l layer) build() (nn.Layer, error) {
	given := map[string]bool{
		"out": l.Out != 0, "kernel": len(l.Kernel) > 0, "stride": len(l.Stride) > 0, "dilation": len(l.Dilation) > 0, "pad": l.Pad != nil,
		"group": l.Group != 0, "nobias": l.NoBias, "alpha": l.Alpha != 0, "p": l.P != nil,
	}
	for _, k := range layerKinds() {
		if k.op != l.Op {
			continue
		}
		for _, field := range k.needs {
			if !given[field] {
				return nil, fmt.Errorf("layer %s needs %q", l.Op, field)
			}
		}
		var extra []string
		for field, set := range given {
			if set && !slices.Contains(k.needs, field) && !slices.Contains(k.takes, field) {
				extra = append(extra, field)
			}
		}
		if slices.Sort(extra); len(extra) > 0 {
			return nil, fmt.Errorf("layer %s does not take %q", l.Op, strings.Join(extra, `", "`))
		}
		return k.build(l), nil
	}
	return nil, fmt.Errorf("unknown layer %q", l.Op)
}

// must builds a layer that was checked when the recipe was read.
func (l layer) must() nn.Layer {
	x, _ := l.build()
	return x
}
