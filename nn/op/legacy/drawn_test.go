package legacy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/legacy"
	"github.com/graft-ml/graft/nn/op/optest"
	"gorgonia.org/tensor"
)

// drawnUse returns a random use of an operator that ONNX Runtime still has, on an image.
func drawnUse(seed uint64) (op.Config, *tensor.Dense) {
	r := rand.New(rand.NewPCG(seed, 5))
	number := func() float32 { return float32(r.NormFloat64()) }
	batch, channels, height, width := 1+r.IntN(2), 1+r.IntN(4), 5+r.IntN(4), 5+r.IntN(4)
	var c op.Config
	switch seed % 6 {
	case 0:
		c = legacy.AffineConfig{Alpha: pointer(number()), Beta: number()}
	case 1:
		c = legacy.ScaledTanhConfig{Alpha: pointer(number()), Beta: pointer(number())}
	case 2:
		c = legacy.ParametricSoftplusConfig{Alpha: pointer(number()), Beta: pointer(number())}
	case 3:
		c = legacy.ScaleConfig{Scale: pointer(number())}
	case 4:
		bias := make([]float32, channels)
		for i := range bias {
			bias[i] = number()
		}
		c = legacy.ImageScalerConfig{Bias: bias, Scale: pointer(number())}
	case 5:
		crop := legacy.CropConfig{Border: []int{r.IntN(3), r.IntN(3), r.IntN(3), r.IntN(3)}} // left, top, right, bottom
		if r.IntN(2) == 0 {
			crop.Scale = []int{1 + r.IntN(height-crop.Border[1]), 1 + r.IntN(width-crop.Border[0])}
		}
		c = crop
	}
	return c, optest.Rand(seed, batch, channels, height, width)
}

// TestDrawnInRuntime compares random uses with ONNX Runtime.
func TestDrawnInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for seed := range uint64(90) {
		c, x := drawnUse(seed)
		g := nn.NewGraph("one", set(t), map[string]int{"": 8})
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Node(c, e.Input("x", op.TypeOf(x).String())).Out(0)) }); err != nil {
			t.Errorf("%+v of %v: %v", c, x.Shape(), err)
			continue
		}
		got, want := runBoth(t, ort, g, map[string]*tensor.Dense{"x": x})
		if err := oracle.Close(packed(got["y"]), want["y"], 1e-4, 1e-5); err != nil {
			t.Errorf("%+v of %v: %v", c, x.Shape(), err)
		}
	}
}

// TestDrawn takes random uses through all checks, gradients against finite differences among them.
func TestDrawn(t *testing.T) {
	for seed := range uint64(24) {
		c, x := drawnUse(1000 + seed)
		if err := optest.Check(optest.Case{Ops: set(t), Config: c, In: []dtype.Value{x}, GradTol: 1e-5, NoCut: "checked in TestUses"}); err != nil {
			t.Errorf("%+v of %v: %v", c, x.Shape(), err)
		}
	}
}
