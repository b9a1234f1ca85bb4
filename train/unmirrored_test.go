package train

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// ramps are images that get brighter along an axis, or darker: class 0 and 1.
func ramps(n int, sideways bool) data.Dataset[data.Sample] {
	r := rand.New(rand.NewPCG(3, 4))
	var list []data.Sample
	for i := range n {
		const side = 12
		x := make([]float32, 3*side*side)
		for at := range x {
			row, col := at/side%side, at%side
			v := row
			if sideways {
				v = col
			}
			if i%2 == 1 {
				v = side - 1 - v
			}
			x[at] = float32(v%4)/12 + 0.75*r.Float32() // a saw in noise: means do not tell, edges do
		}
		list = append(list, data.Sample{X: []*tensor.Dense{tensor.New(tensor.WithShape(3, side, side), tensor.WithBacking(x))}, Y: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(i % 2)))}})
	}
	return data.Of(list...)
}

// TestUnmirrored checks that where classes are mirror images of each other, images are not mirrored; otherwise they are.
func TestUnmirrored(t *testing.T) {
	for name, sideways := range map[string]bool{"sideways": true, "upwards": false} {
		g := nn.New("edges")
		if err := g.Edit(func(e *nn.Edit) {
			e.Seed(5)
			e.Output("scores", e.Apply(nn.Sequential{layers.Conv{Out: 16, Kernel: []int{3}}, layers.ReLU{}, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 2}}, e.Input("x", "float32[N,3,12,12]")))
		}); err != nil {
			t.Fatal(err)
		}
		var notes strings.Builder
		p := data.Preprocess{Size: 12, Crop: 1}
		c := Config{Log: func(e Event) { notes.WriteString(e.Text + "\n") }}
		_, err := FineTuner{Policy: HeadOnly, New: true, Config: c}.FineTune(context.Background(), g, p.Vary(ramps(240, sideways)), p.Prepare(ramps(40, sideways)))
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(notes.String(), "images: not mirrored, since mirroring mixes up classes"); said != sideways {
			t.Errorf("%s:\n%s", name, &notes)
		}
	}
}

// The next plan has more than three times the rate, where the maxUniformRate was best, up to a rate that nothing stands.
func TestBolder(t *testing.T) {
	plans := []recipe{{Rate: 3e-4}, {Rate: 1e-3}, {Rate: 3e-3}}
	if p, ok := higherRate(plans[2], plans); !ok || p.Rate != 3e-3*10/3 {
		t.Errorf("%v, %v", p.Rate, ok)
	}
	if _, ok := higherRate(plans[1], plans); ok {
		t.Error("there was a higherRate one")
	}
	if _, ok := higherRate(plans[2], plans[2:]); ok {
		t.Error("nothing was compared")
	}
	if _, ok := higherRate(recipe{Rate: 0.03}, append(plans, recipe{Rate: 0.03})); ok {
		t.Error("a rate of a tenth")
	}
}
