package generate_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/std"
)

// An old Dropout whose mask nothing reads is a layer; a mask that is read is of another type in newer operator sets.
func TestDropoutMask(t *testing.T) {
	for name, use := range map[string]func(e *nn.Edit, mask *nn.Value){
		"unread": func(*nn.Edit, *nn.Value) {},
		"output": func(e *nn.Edit, mask *nn.Value) { e.Output("mask", mask) },
		"read": func(e *nn.Edit, mask *nn.Value) {
			e.Output("z", e.Node(std.CastConfig{To: mask.Type().DType}, mask).Out(0))
		},
	} {
		g := nn.New("masked")
		err := g.Edit(func(e *nn.Edit) {
			e.SetOpset(11)
			ratio := float32(0.25)
			n := e.NodeN(std.DropoutConfig{Ratio: &ratio}, 2, e.Input("x", "float32[N,4]"))
			if e.Err() == nil {
				e.Output("y", n.Out(0))
				use(e, n.Out(1))
			}
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := generate.Generate(t.Context(), g, generate.Options{Package: "masked"})
		if name != "unread" {
			if err == nil || !strings.Contains(err.Error(), "output mask is a different one in that version") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.Layers != 1 || s.Operators != 0 {
			t.Errorf("%d layers, %d operators", s.Layers, s.Operators)
		}
	}
}
