package onnxio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestDecoderMemory checks that ImageDecoder refuses a file of a few bytes that claims to hold an image larger than the memory that is left,
// or than any image may be, before it allocates the pixels.
func TestDecoderMemory(t *testing.T) {
	defer budget.Limit(0)
	budget.Limit(100 << 20)
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(std.ImageDecoderConfig{Format: "RGB"}, e.Input("x", "uint8[n]")).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		side int
		want string
	}{
		{2, ""}, {12000, "would give uint8[12000,12000,3]: takes 432000000 bytes of memory"}, {65536, "an image of 65536×65536 pixels is empty or too large"},
		{3500, "ImageDecoder y: image: decoding 3500×3500 pixels: takes 147000000 bytes of memory"}, // of which the result is a quarter
	} {
		file := []byte(fmt.Sprintf("P5 %d %d 255 abcd", c.side, c.side))
		y, err := g.Eval(t.Context(), nn.Feed{"x": tensor.New(tensor.WithBacking(file))})
		if c.want == "" {
			if err != nil || y["y"].Shape().TotalSize() != 12 {
				t.Errorf("%d: %v, %v", c.side, y, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %v, want %s", c.side, err, c.want)
		}
	}
}
