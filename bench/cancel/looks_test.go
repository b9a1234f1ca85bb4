//go:build gaps && smallparts

package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestLooksGrow: with eight times the work, in small parts, kernels look at least three times as often: a loop without looks would not.
func TestLooksGrow(t *testing.T) {
	const small, large = "1000", "8000"
	for line, what := range map[string]string{
		"LSTM hidden_size=2 : f[N,1,2] f[1,8,2] f[1,8,2] -> 3":     "run gradient",
		"GRU hidden_size=2 : f[N,1,2] f[1,6,2] f[1,6,2] -> 2":      "run gradient",
		"Conv kernel_shape=[3,3] : f[1,2,8,N] f[2,2,3,3]":          "gradient",
		"ConvTranspose kernel_shape=[2,2] : f[1,2,4,N] f[2,2,2,2]": "gradient",
		"Unique : f[N] -> 4":          "run",
		"Unique sorted=0 : f[N] -> 4": "run",
		"Max : f[N] f[N] f[N]":        "gradient",
		"BitCast to=6 : f[N]":         "run",
		"CumProd : f[N,3] i64=0":      "run gradient",
		"Unsqueeze : f(0,0,0,7,N) i64(0) ; MaxRoiPool pooled_shape=[1,1] : f[1,1,N,8] %0": "run",
		"Trilu : f[1,N]":                                 "run gradient",
		"Expand : f[N,1] i64(N,8)":                       "run",
		"RMSNormalization : f[N,2] f[2]":                 "gradient",
		"Gemm beta=2.0 : f[N,4] f[4,4] f[N,4]":           "run",
		"Gemm alpha=0.0 beta=2.0 : f[N,4] f[4,4] f[N,4]": "run",
		"SplitToSequence : f[N,3]":                       "run",
		"SplitToSequence : f[N,3] ; SequenceErase : %0 i64=5 ; SequenceLength : %1":                                               "run",
		"SplitToSequence : s[N] ; ConcatFromSequence axis=0 : %0":                                                                 "run",
		"SplitToSequence : f[N,3] ; ConcatFromSequence axis=0 : %0":                                                               "run gradient",
		"Multinomial sample_size=100 : f[N,4]":                                                                                    "run",
		"TopK : f[N] i64(100) -> 2":                                                                                               "run gradient",
		"Resize mode=nearest : f[1,1,1,N] - f(1,1,1,2)":                                                                           "run gradient",
		"Resize mode=linear : f[1,1,1,N] - f(1,1,1,0.5)":                                                                          "run gradient",
		"NonMaxSuppression : p[1,N,4] p[1,1,N] i64=1000000 f=0.5":                                                                 "run",
		"ai.onnx.ml.LinearClassifier coefficients=[1.0,2.0,3.0,4.0] intercepts=[0.1,0.1] classlabels_strings=[a,b] : f[N,2] -> 2": "run",
		"ai.onnx.ml.LinearClassifier coefficients=[1.0,2.0,3.0,4.0] intercepts=[0.1,0.1] classlabels_ints=[0,1] : f[N,2] -> 2":    "run",
		"ai.onnx.ml.SVMClassifier kernel_type=RBF kernel_params=[0.1,0.0,3.0] vectors_per_class=[1,1] coefficients=[1.0,-1.0] support_vectors=[1.0,2.0,3.0,4.0] rho=[0.5] classlabels_ints=[0,1] : f[N,2] -> 2": "run",
	} {
		for _, name := range strings.Fields(what) {
			few, many := looks(t, line, name, small), looks(t, line, name, large)
			if few == 0 || many < 3*few {
				t.Errorf("%d and %d looks: %s of %s", few, many, name, line)
			}
		}
	}
}

// looks returns how often the run, or the gradients, of a line with a size for N look at the context.
func looks(t *testing.T, line, what, size string) int64 {
	for _, end := range []string{"[N]", "[N,", ",N]", ",N,", "(N,", ",N)"} {
		line = strings.ReplaceAll(line, end, strings.Replace(end, "N", size, 1))
	}
	var n atomic.Int64
	kernel.Checked = func() { n.Add(1) }
	defer func() { kernel.Checked = func() {} }()
	g, in, err := load(line)
	if err != nil {
		t.Fatal(line, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if what == "run" {
		_, err = g.Eval(ctx, in.feed)
	} else {
		loss := addLoss(g)
		n.Store(0)
		_, err = g.Grad(ctx, in.feed, loss, in.wrt...)
	}
	if err != nil {
		t.Fatal(line, err)
	}
	return n.Load()
}
