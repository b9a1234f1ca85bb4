package snapshot

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
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
	w, err := Of(t.Context(), g)
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

// TestCloneLooks: the copy of a long tensor looks at its context, and ends at any of these looks.
func TestCloneLooks(t *testing.T) {
	d := dtype.New(dtype.Uint8, 40<<20)
	dtype.Slice[uint8](d)[40<<20-1] = 7
	count := &kerneltest.EndsAfter{Context: t.Context(), Left: 1 << 30}
	c, err := Clone(count, d)
	if err != nil || !bytes.Equal(dtype.Bytes(c), dtype.Bytes(d)) {
		t.Fatal("the copy is another tensor", err)
	}
	looks := 1<<30 - count.Left
	if looks < 3 {
		t.Errorf("%d looks", looks)
	}
	for at := range looks {
		if _, err := Clone(&kerneltest.EndsAfter{Context: t.Context(), Left: at}, d); !errors.Is(err, context.Canceled) {
			t.Errorf("ended at look %d of %d: %v", at, looks, err)
		}
	}
}
