package generate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// form is the call of a layer in source for Gorgonia: a method of the builder and its arguments besides the input.
type form struct {
	method string
	args   func(b *statements, s *step) []string
	needs  []need
}

// need is a condition under which a layer has a form.
type need struct {
	text string
	met  func(s *step) bool
}

// ofRank needs an input of a rank.
func ofRank(n int) need {
	return need{fmt.Sprintf("an input of rank %d", n), func(s *step) bool { return rank(s) == n }}
}

// even needs fields that are lists of one number, or empty.
func even(names ...string) need {
	return need{"the same " + strings.Join(names, ", ") + " on all axes", func(s *step) bool {
		return !slices.ContainsFunc(names, func(n string) bool {
			l := s.layer.field(n)
			return l != nil && len(l.v.([]int)) > 1
		})
	}}
}

// setting needs a field that has a value, or that the layer lacks.
func setting(name string, v any) need {
	return need{strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprintf("%s %v", name, v)), func(s *step) bool {
		l := s.layer.field(name)
		return l == nil || same(l.v, v)
	}}
}

// noAxis needs the default axis.
var noAxis = need{"the default axis", func(s *step) bool { return s.layer.absent("Axis") }}

// square returns the number of a list of one element, which applies to all axes.
func square(b *statements, s *step, name string) string {
	text := b.lit(s.layer.field(name))
	return strings.TrimSuffix(strings.TrimPrefix(text, "[]int{"), "}")
}

func rank(s *step) int { return s.values()[0].typ.Rank() }

// plainForm returns a form without arguments.
func plainForm(method string) form {
	return form{method, func(*statements, *step) []string { return nil }, nil}
}

// gorgoniaLayers are the forms of layers, by the name of their type.
var gorgoniaLayers = map[string]form{
	"Conv": {"conv", func(b *statements, s *step) []string {
		return []string{b.lit(s.layer.field("Name")), b.lit(s.layer.field("Out")), square(b, s, "Kernel"), square(b, s, "Stride"), square(b, s, "Pad"), square(b, s, "Dilation"), fmt.Sprint(!s.layer.field("NoBias").v.(bool))}
	}, []need{ofRank(4), even("Kernel", "Stride", "Pad", "Dilation"), setting("Group", 1)}},
	"Linear": {"linear", func(b *statements, s *step) []string {
		return []string{b.lit(s.layer.field("Name")), b.lit(s.layer.field("Out")), fmt.Sprint(!s.layer.field("NoBias").v.(bool))}
	}, []need{ofRank(2)}},
	"BatchNorm": {"batchNorm", func(b *statements, s *step) []string {
		return []string{b.lit(s.layer.field("Name")), b.lit(s.layer.field("Eps"))}
	}, []need{ofRank(4)}},
	"MaxPool": {"maxPool", func(b *statements, s *step) []string {
		stride := square(b, s, "Stride")
		if len(s.layer.field("Stride").v.([]int)) == 0 {
			stride = square(b, s, "Kernel")
		}
		return []string{square(b, s, "Kernel"), stride, square(b, s, "Pad")}
	}, []need{ofRank(4), even("Kernel", "Stride", "Pad"), setting("Dilation", []int{1}), setting("Ceil", false)}},
	"GlobalAvgPool": {"globalAvgPool", func(*statements, *step) []string { return nil }, []need{ofRank(4)}},
	"Flatten":       {"flatten", func(*statements, *step) []string { return nil }, []need{noAxis}},
	"Softmax":       {"softmax", func(*statements, *step) []string { return nil }, []need{ofRank(2), noAxis}},
	"LeakyReLU":     {"leakyReLU", func(b *statements, s *step) []string { return []string{b.lit(s.layer.field("Slope"))} }, nil},
	"Dropout":       {"dropout", func(b *statements, s *step) []string { return nil }, nil},
	"ReLU":          plainForm("relu"), "Sigmoid": plainForm("sigmoid"), "Tanh": plainForm("tanh"), "SiLU": plainForm("silu"),
}

// gorgoniaOperators are the functions of Gorgonia that operators on values of one shape are.
var gorgoniaOperators = map[string]string{"Add": "Add", "Sub": "Sub", "Mul": "HadamardProd", "Div": "HadamardDiv", "Exp": "Exp", "Log": "Log", "Sqrt": "Sqrt", "Neg": "Neg", "Abs": "Abs"}

// gorgoniaForm returns the form of a step. Without one, ok is false and want is what the step would need for one, or empty.
func gorgoniaForm(s *step) (f form, want string, ok bool) {
	if s.layer != nil {
		f, ok := gorgoniaLayers[s.layer.typ.Name()]
		if !ok {
			return f, "", false
		}
		for _, n := range append(f.needs, need{"one output", func(s *step) bool { return len(s.out) == 1 }}) {
			if !n.met(s) {
				return f, n.text, false
			}
		}
		return f, "", true
	}
	name, ok := gorgoniaOperators[s.op.Name]
	if len(s.bodies) > 0 || !ok || s.op.Domain != "" || s.config != nil || len(s.out) != 1 {
		return form{}, "", false
	}
	first := s.in[0].val
	for _, a := range s.in {
		if a.val == nil || first == nil || !slices.Equal(a.val.typ.Shape, first.typ.Shape) {
			return form{}, "inputs of one shape", false
		}
	}
	return form{method: name}, "", true
}

// formless returns an error that lists the operators without a form for Gorgonia, each with a node.
func (r *reader) formless() error {
	missing := map[string]string{}
	for _, s := range r.steps {
		if _, want, ok := gorgoniaForm(s); !ok {
			name := s.op.Name
			if s.layer != nil {
				name = s.layer.typ.Name()
			}
			if missing[name] == "" {
				missing[name] = s.label()
				if want != "" {
					missing[name] += ", which would need " + want
				}
			}
		}
	}
	if len(missing) == 0 {
		return r.float32Inputs()
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		list = append(list, fmt.Sprintf("%s (%s)", name, missing[name]))
	}
	return &nn.Error{Stage: "generate", Kind: nn.ErrUnsupported, Err: fmt.Errorf("no form in Gorgonia for %s", strings.Join(list, ", "))}
}

// float32Inputs returns an error for inputs of other types than float32.
func (r *reader) float32Inputs() error {
	for _, v := range r.g.Inputs() {
		if v.Type().DType != dtype.Float32 {
			return &nn.Error{Stage: "generate", Input: v.Name(), Want: dtype.Float32, Got: v.Type(), Err: errors.New("source for Gorgonia computes in float32")}
		}
	}
	return nil
}

// step writes a step as a call of the builder.
func (b *statements) step(s *step, into string) {
	f, _, _ := gorgoniaForm(s)
	var args []string
	for _, v := range s.values() {
		args = append(args, b.vars[v])
	}
	text := ""
	if s.layer != nil {
		b.helpers[f.method] = true
		text = fmt.Sprintf("m.%s(%s)", f.method, strings.Join(append(args, f.args(b, s)...), ", "))
	} else {
		kind := map[int]string{1: "unary", 2: "binary"}[len(args)]
		b.helpers[kind] = true
		text = fmt.Sprintf("m.%s(G.%s, %s)", kind, f.method, strings.Join(args, ", "))
	}
	b.read(s.values())
	if into == "" {
		into = b.reuse(s.values())
	}
	b.f("%s%s%s\n", b.assign(s.out[0], into), text, b.comment(s.out[0]))
}
