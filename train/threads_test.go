package train_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestSameBits trains twice in processes of the same number of threads, once beside other work on the same threads: the
// weights are the same to the bit.
func TestSameBits(t *testing.T) {
	if os.Getenv("GRAFT_TEST_THREADS") != "" {
		if os.Getenv("GRAFT_TEST_BESIDE") != "" {
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			go func() {
				for ctx.Err() == nil {
					trainedWeights(t)
				}
			}()
		}
		fmt.Printf("weights %x\n", trainedWeights(t))
		return
	}
	for _, n := range []string{"1", "2", "3"} {
		weights := map[string]bool{}
		for _, beside := range []string{"", "", "1", "1"} {
			c := exec.Command(os.Args[0], "-test.run=^TestSameBits$")
			c.Env = append(os.Environ(), "GRAFT_TEST_THREADS=1", "GRAFT_TEST_BESIDE="+beside, "GOMAXPROCS="+n)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%s threads: %v\n%s", n, err, out)
			}
			_, line, _ := strings.Cut(string(out), "weights ")
			line, _, _ = strings.Cut(line, "\n")
			weights[line] = true
		}
		if len(weights) != 1 {
			t.Errorf("%s threads: %d different weights", n, len(weights))
		}
	}
}

// trainedWeights returns a sum of the weights of two networks after some steps.
func trainedWeights(t *testing.T) []byte {
	sum := sha256.New()
	images := nn.Sequential{
		layers.Conv{Out: 24, Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
		layers.Conv{Out: 40, Kernel: []int{3}, Stride: []int{2}}, layers.ReLU{}, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Dropout{P: 0.2}, layers.Linear{Out: 10},
	}
	texts := nn.Sequential{
		layers.Linear{Out: 48}, layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Attention{Heads: 4}}},
		layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Linear{Out: 192}, layers.GELU{}, layers.Linear{Out: 48}}}, layers.LSTM{Hidden: 16}, layers.Linear{Out: 10},
	}
	for _, c := range []struct {
		net   nn.Layer
		input string
		shape []int
	}{{images, "float32[N,3,20,20]", []int{9, 3, 20, 20}}, {texts, "float32[N,L,8]", []int{5, 37, 8}}} {
		g := nn.New("net")
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(c.net, e.Input("x", c.input))) }); err != nil {
			t.Fatal(err)
		}
		x := dtype.New(dtype.Float32, c.shape...)
		for i := range dtype.Slice[float32](x) {
			dtype.Slice[float32](x)[i] = float32(i*7919%1000)/500 - 1
		}
		out, err := g.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(dtype.Bytes(out[0]))
		tr, err := train.New(g, train.Config{Loss: train.MSE{}, Rule: optim.AdamW{}, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		y := dtype.New(dtype.Float32, out[0].Shape()...)
		for range 3 {
			if _, err := tr.Step(context.Background(), data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}); err != nil {
				t.Fatal(err)
			}
		}
		for p := range g.Params() {
			sum.Write(dtype.Bytes(p.Tensor().(*tensor.Dense)))
		}
	}
	return sum.Sum(nil)
}
