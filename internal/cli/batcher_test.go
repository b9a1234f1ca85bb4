package cli

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// A batch runs until the last of its requests is canceled, and no longer.
func TestWhileAny(t *testing.T) {
	first, cancelFirst := context.WithCancel(context.Background())
	second, cancelSecond := context.WithCancel(context.Background())
	defer cancelSecond()
	ctx, stop := whileAny([]*job{{ctx: first}, {ctx: second}})
	defer stop()
	cancelFirst()
	if ctx.Err() != nil {
		t.Error("the batch ends with its first request")
	}
	cancelSecond()
	<-ctx.Done()
}

// TestServeFixedBatch checks that a feed whose values do not all have one row per sample is passed on
// unchanged to a model with a fixed batch size, which refuses it.
func TestServeFixedBatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.onnx")
	classifier(t, path, 3, 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h, err := quick.handler(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	h.fixed = 2
	for _, n := range []int{1, 2, 5} {
		out, err := h.ask(ctx, nn.Feed{"x": dtype.New(dtype.Float32, n, 3)}, n)
		if err != nil || out["y"].Shape()[0] != n {
			t.Errorf("%d samples: %v, %v", n, out, err)
		}
	}
	if out, err := h.ask(ctx, nn.Feed{"x": dtype.New(dtype.Float32, 0, 3)}, 0); err == nil && out["y"].Shape()[0] != 0 {
		t.Errorf("no samples: %v", out)
	}
	if out, err := h.ask(ctx, nn.Feed{"x": dtype.New(dtype.Float32)}, 0); err == nil {
		t.Errorf("a scalar: %v", out)
	}
	if out, err := h.ask(ctx, nn.Feed{"x": dtype.New(dtype.Float32)}, 3); err == nil {
		t.Errorf("a scalar beside 3 samples: %v", out)
	}
	if _, err := joinFeeds([]nn.Feed{{"x": &dtype.Strings{Elems: []string{"a"}}}}); err == nil {
		t.Error("a text without an axis is joined")
	}
}
