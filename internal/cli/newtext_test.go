package cli

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestNewMasked checks that padding has no influence, before or after the text, whatever its token
// ids; ONNX Runtime computes the same.
func TestNewMasked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	if _, err := command("new", "transformer", "--input", "9", "--vocabulary", "20", "--mask", "--classes", "3", "--width", "8", "-o", path); err != nil {
		t.Fatal(err)
	}
	g, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	run := func(n int, ids, mask []int64) []float32 {
		t.Helper()
		d := func(x []int64) *tensor.Dense { return tensor.New(tensor.WithShape(n, len(x)/n), tensor.WithBacking(x)) }
		out, err := g.Eval(context.Background(), nn.Feed{"input_ids": d(ids), "attention_mask": d(mask)}, "scores")
		if err != nil {
			t.Fatal(err)
		}
		return dtype.Slice[float32](out["scores"].(*tensor.Dense))
	}
	alone := run(1, []int64{5, 6, 7}, []int64{1, 1, 1})
	ids := []int64{5, 6, 7, 0, 0, 11, 12, 5, 6, 7, 5, 6, 7, 9, 13}
	mask := []int64{1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}
	all := run(3, ids, mask)
	for i, v := range all[:6] {
		if math.Abs(float64(v-alone[i%3])) > 1e-5 {
			t.Errorf("score %d is %v, of the text alone %v", i, v, alone[i%3])
		}
	}
	if all[6] == alone[0] {
		t.Error("longer texts have the same score")
	}
	ort := oracle.ORT(t)
	model, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	feed := map[string]oracle.Tensor{}
	for name, x := range map[string][]int64{"input_ids": ids, "attention_mask": mask} {
		if feed[name], err = oracle.Pack(x, 3, 5); err != nil {
			t.Fatal(err)
		}
	}
	out, err := ort.Run(model, feed)
	if err != nil {
		t.Fatal(err)
	}
	want, err := out["scores"].Float64s()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want {
		if math.Abs(v-float64(all[i])) > 1e-5 {
			t.Errorf("score %d is %v, in ONNX Runtime %v", i, all[i], v)
		}
	}
	for _, args := range [][]string{{"lstm", "--input", "7", "--vocabulary", "9"}, {"transformer", "--input", "7,2"}} {
		if _, err := command(append(append([]string{"new"}, args...), "--mask", "-o", path)...); err == nil || err.Error() != "--mask is for transformer with --vocabulary" {
			t.Errorf("%v: %v", args, err)
		}
	}
}
