package snapshot

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

func TestRestore(t *testing.T) {
	g := nn.New("linear")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 2}, e.Input("x", "float32[N,3]"))) }); err != nil {
		t.Fatal(err)
	}
	was := map[*nn.Param][]float32{}
	for p := range g.Params() {
		was[p] = append([]float32(nil), p.Data().Float32s()...)
	}
	w, err := Of(g)
	if err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		for i := range p.Data().Float32s() {
			p.Data().Float32s()[i] += 1
		}
		p.Changed()
	}
	w.Restore()
	if len(w) != 2 {
		t.Errorf("%d parameters, want weight and bias", len(w))
	}
	for p, want := range was {
		for i, v := range p.Data().Float32s() {
			if v != want[i] {
				t.Fatalf("%s[%d] = %v, want %v", p.Name(), i, v, want[i])
			}
		}
	}
}
