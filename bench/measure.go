package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/graft-ml/graft/bench/pin"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// result is one line: the measurements of one process, or the median of several.
type result struct {
	Framework string  `json:"framework"`
	Case      string  `json:"case"`
	Threads   int     `json:"threads"`
	Train     float64 `json:"train_ms,omitempty"`
	Infer     float64 `json:"infer_ms,omitempty"`
	Peak      float64 `json:"peak_rss_mb"`
	InferPeak float64 `json:"infer_peak_rss_mb,omitempty"`
	Base      float64 `json:"base_rss_mb"`            // idle, see wake
	Bare      float64 `json:"bare_rss_mb,omitempty"`  // before wake
	Load      float64 `json:"load_ms,omitempty"`      // reading the file
	First     float64 `json:"first_ms,omitempty"`     // first run, lowering and compiling included
	TrainCPU  float64 `json:"train_cpu_ms,omitempty"` // processor time of all threads in a step, waiting included
	InferCPU  float64 `json:"infer_cpu_ms,omitempty"`
	Allocated float64 `json:"train_alloc_kb,omitempty"`
	Others    float64 `json:"others_cpu"`
	OutputErr float64 `json:"output_err,omitempty"` // relative distance from PyTorch's output
	LossErr   float64 `json:"loss_err,omitempty"`   // largest relative distance from its float64 losses
	Layout    string  `json:"layout,omitempty"`     // PyTorch's memory layout
	Step      float64 `json:"ms,omitempty"`         // GoMLX's program calls its training step so
}

// measure times one case in this process.
func measure(name string, threads int, o options) (*result, error) {
	runtime.GOMAXPROCS(threads)
	r := &result{Framework: "graft", Case: name, Threads: threads, Bare: memory()}
	wake()
	pin.Threads(kernel.Default())
	r.Base = memory()
	ctx := context.Background()
	all, own := processorSeconds()
	begin := time.Now()
	s, err := load(o.dir, name)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	g, err := onnxio.Load(filepath.Join(o.dir, name+".onnx"))
	if err != nil {
		return nil, err
	}
	r.Load = ms(time.Since(start))
	if o.data {
		for p := range g.Params() {
			p.Data()
		}
	}
	start = time.Now()
	out, err := g.Run(ctx, s.x[0])
	if err != nil {
		return nil, err
	}
	r.First = ms(time.Since(start))
	if r.OutputErr, err = checkOutput(s, out[0]); err != nil {
		return nil, err
	}
	if o.check { // training a copy would count as memory, so timing is for other processes
		if r.LossErr, err = checkLosses(ctx, g, s); err != nil {
			return nil, err
		}
		return r, nil
	}
	if o.only != "train" {
		if r.Infer, err = profiled(o, func() (float64, error) {
			x, cpu, err := timed(o, func(int) error { _, err := g.Run(ctx, s.x[0]); return err })
			r.InferCPU = cpu
			return x, err
		}); err != nil {
			return nil, err
		}
		r.InferPeak = memory()
	}
	if o.only != "infer" {
		if r.Train, err = profiled(o, func() (float64, error) { return timeTraining(ctx, g, s, o, r) }); err != nil {
			return nil, err
		}
	}
	all2, own2 := processorSeconds()
	r.Peak = memory()
	r.Others = max(0, all2-all-(own2-own)) / time.Since(begin).Seconds()
	return r, nil
}

// wake has the pool work as torch_anchor.py wakes PyTorch's before it reads how large the idle process is: by a
// product of two matrices and the ReLU of 2²⁰ numbers. Either process keeps their memory and uses it again.
func wake() {
	const n = 256
	p := kernel.Default()
	a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = 1, 1
	}
	matmul.Gemm(p, false, false, n, n, n, 1, a, n, b, n, 0, c, n)
	x := make([]float32, 1<<20)
	for i := range x {
		x[i] = rand.Float32() - 0.5
	}
	elementwise.Relu(p, make([]float32, len(x)), x)
	runtime.GC() // Python frees unreferenced memory immediately
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// timeTraining times steps that rotate over the batches.
func timeTraining(ctx context.Context, g *nn.Graph, s *sample, o options, r *result) (float64, error) {
	t, err := trainer(g, s)
	if err != nil {
		return 0, err
	}
	var before, after runtime.MemStats
	n := 0
	step := func(i int) error {
		if i == 0 {
			runtime.ReadMemStats(&before)
			n = 0
		}
		n++
		_, err := t.Step(ctx, data.Sample{X: []*tensor.Dense{s.x[i%batches]}, Y: []*tensor.Dense{s.y[i%batches]}})
		return err
	}
	x, cpu, err := timed(o, step)
	r.TrainCPU = cpu
	runtime.ReadMemStats(&after)
	r.Allocated = float64(after.TotalAlloc-before.TotalAlloc) / 1024 / float64(max(n, 1))
	return x, err
}

func trainer(g *nn.Graph, s *sample) (*train.Trainer, error) {
	return train.New(g, train.Config{Loss: train.CrossEntropy{}, Rule: optim.SGD{LR: s.lr, Momentum: s.mom}, Log: train.Quiet})
}

// timed returns the median of f's time and the mean of its processor time in milliseconds, after a warm-up.
func timed(o options, f func(i int) error) (wall, cpu float64, err error) {
	several := kernel.Default().Threads() > 1
	start := time.Now()
	for n := 0; n < 3 || time.Since(start) < 500*time.Millisecond && n < 50; n++ {
		if err := f(n); err != nil {
			return 0, 0, err
		}
	}
	var list []float64
	_, before := processorSeconds() // outside of the loop: reading /proc evicts the network's data from the caches
	for start = time.Now(); len(list) < 5 || len(list) < o.reps && time.Since(start) < o.budget; {
		if several {
			pin.Threads(kernel.Default())
		}
		at := time.Now()
		if err := f(len(list)); err != nil {
			return 0, 0, err
		}
		list = append(list, ms(time.Since(at)))
	}
	_, after := processorSeconds()
	return median(list), (after - before) * 1e3 / float64(len(list)), nil
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// profiled runs f under the processor profile, if one is wanted.
func profiled(o options, f func() (float64, error)) (float64, error) {
	if o.profile == "" {
		return f()
	}
	w, err := os.Create(o.profile)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	if err := pprof.StartCPUProfile(w); err != nil {
		return 0, err
	}
	defer pprof.StopCPUProfile()
	return f()
}

// checkOutput compares with PyTorch's output: the distance of both from the truth is of the same
// size, so a few times its own is allowed.
func checkOutput(s *sample, out *tensor.Dense) (float64, error) {
	got := dtype.Slice[float32](out)
	if len(got) != len(s.output) {
		return 0, fmt.Errorf("output has %d elements, PyTorch's %d", len(got), len(s.output))
	}
	var diff, norm float64
	for i, v := range got {
		d, w := float64(v-s.output[i]), float64(s.output[i])
		diff, norm = diff+d*d, norm+w*w
	}
	err := math.Sqrt(diff / norm)
	if !(err <= max(1e-5, 10*s.outErr)) {
		return err, fmt.Errorf("output is %.2g away from PyTorch's", err)
	}
	return err, nil
}

// checkLosses trains a copy of g on the first batch and compares the losses.
func checkLosses(ctx context.Context, g *nn.Graph, s *sample) (float64, error) {
	g, err := g.Clone()
	if err != nil {
		return 0, err
	}
	t, err := trainer(g, s)
	if err != nil {
		return 0, err
	}
	worst, allowed := 0.0, 1e-6 // relative, doubled at each step: 2e-3 at the last
	for i, want := range s.exact {
		info, err := t.Step(ctx, data.Sample{X: []*tensor.Dense{s.x[0]}, Y: []*tensor.Dense{s.y[0]}})
		if err != nil {
			return 0, err
		}
		d := math.Abs(info.Loss-want) / math.Abs(want)
		// Rounding grows from step to step, in ours as in PyTorch's, sometimes a step earlier.
		for k := i; k <= i+1 && k < len(s.exact); k++ {
			allowed = max(allowed, 10*math.Abs(s.losses[k]-s.exact[k])/math.Abs(s.exact[k]))
		}
		if allowed *= 2; !(d <= allowed) {
			return d, fmt.Errorf("loss before step %d is %v, PyTorch's %v (%.1g away, %.1g allowed)", i, info.Loss, want, d, allowed)
		}
		worst = max(worst, d)
	}
	return worst, nil
}
