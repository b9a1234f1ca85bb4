package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
)

//go:embed steps.js
var script string

// difference is how far two runs are apart, and two that differ by rounding.
type difference struct{ got, rounding float64 }

// result is a row of the table.
type result struct {
	parameters, nodes int
	loss, weights     difference
	graft, runtime    float64 // milliseconds
}

// within is the factor of float32's error up to which two runs agree; two perturbed runs differ by as much.
const within = 10

func (r result) follows() bool {
	ok := func(d difference) bool { return d.got <= within*max(d.rounding, 1e-5) }
	return ok(r.loss) && ok(r.weights)
}

// run is a trajectory.
type run struct {
	losses  []float64
	weights [][]float64 // by parameter
}

// prepare exports the step of a model that cross-entropy, or else the mean squared error, trains.
func prepare(file string, o options) (*nn.Graph, step.Exporter, *step.Model, error) {
	var x step.Exporter
	g, err := onnxio.Load(file)
	if err != nil {
		return nil, x, nil, err
	}
	_ = g.Edit(func(e *nn.Edit) { e.FreeBatch("N") }) // a batch that cannot be freed stays
	x.Config = train.Config{Rule: optim.SGD{LR: o.rate, Momentum: 0.9}, ClipNorm: 1, Seed: 5, Log: train.Quiet, Whole: true}
	s, err := x.Export(g)
	if err != nil || g.Outputs()[0].Type().Shape[1].Size == 1 {
		x.Config.Loss = train.MSE{}
		var other error
		if s, other = x.Export(g); other != nil {
			return nil, x, nil, fmt.Errorf("%w; %w", err, other)
		}
	}
	return g, x, s, nil
}

// measure exports the step of a model and trains by it.
func measure(ctx context.Context, file string, o options) (result, error) {
	var r result
	g, x, s, err := prepare(file, o)
	if err != nil {
		return r, err
	}
	r.nodes = s.Nodes()
	for p := range g.Params() {
		r.parameters += p.Size()
	}
	random := rand.New(rand.NewPCG(1, 2))
	var batches []data.Sample
	for i := range o.steps + 1 {
		size := 3 + i%2*2
		if i == o.steps {
			size = 4
		}
		b, err := batchOf(random, g, size, x.Config.Loss != nil)
		if err != nil {
			return r, err
		}
		batches = append(batches, b)
	}
	last := batches[o.steps]
	batches = batches[:o.steps]
	ours, names, ms, err := trained(ctx, g, x.Config, batches, last, o.repeats, false)
	if err != nil {
		return r, err
	}
	r.graft = ms
	near, _, _, err := trained(ctx, g, x.Config, batches, last, 0, true)
	if err != nil {
		return r, err
	}
	theirs, ms, err := exported(s, x.Config.Seed, names, ours, batches, last, o)
	if err != nil {
		return r, err
	}
	r.runtime = ms
	for i := range ours.losses {
		r.loss.got = max(r.loss.got, apart(theirs.losses[i:i+1], ours.losses[i:i+1]))
		r.loss.rounding = max(r.loss.rounding, apart(near.losses[i:i+1], ours.losses[i:i+1]))
	}
	for i := range ours.weights {
		r.weights.got = max(r.weights.got, apart(theirs.weights[i], ours.weights[i]))
		r.weights.rounding = max(r.weights.rounding, apart(near.weights[i], ours.weights[i]))
	}
	return r, nil
}

// apart returns the largest difference, relative to values above 1.
func apart(a, b []float64) float64 {
	worst := 0.0
	for i := range a {
		d := math.Abs(a[i]-b[i]) / (1 + math.Abs(b[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst
}

// trained returns the run of the trainer; near begins a rounding away.
func trained(ctx context.Context, g *nn.Graph, c train.Config, batches []data.Sample, last data.Sample, repeats int, near bool) (run, []string, float64, error) {
	var r run
	g, err := g.Clone()
	if err != nil {
		return r, nil, 0, err
	}
	if near {
		random := rand.New(rand.NewPCG(3, 4))
		for p := range g.Params() {
			if !p.Trainable() || dtype.Of(direct.Data(p).Dtype()) != dtype.Float32 {
				continue
			}
			for i, v := range dtype.Slice[float32](direct.Data(p)) {
				dtype.Slice[float32](direct.Data(p))[i] = math.Nextafter32(v, float32(1-2*random.IntN(2))*math.MaxFloat32)
			}
			p.Changed()
		}
	}
	t, err := train.New(g, c)
	if err != nil {
		return r, nil, 0, err
	}
	for _, b := range batches {
		info, err := t.Step(ctx, b)
		if err != nil {
			return r, nil, 0, err
		}
		r.losses = append(r.losses, info.Loss)
	}
	var names []string
	for p := range g.Params() {
		if !p.Trainable() {
			continue
		}
		v, err := dtype.Float64s(direct.Data(p))
		if err != nil {
			return r, nil, 0, err
		}
		names, r.weights = append(names, p.Name()), append(r.weights, v)
	}
	best := math.Inf(1)
	for range repeats {
		start := time.Now()
		if _, err := t.Step(ctx, last); err != nil {
			return r, nil, 0, err
		}
		best = min(best, time.Since(start).Seconds()*1000)
	}
	return r, names, best, nil
}

// fed is a tensor of a job.
type fed struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  []byte `json:"data"`
}

// feeds returns the inputs of a step for a batch.
func feeds(s *step.Model, b data.Sample) []fed {
	var list []fed
	for i, d := range append(append(b.X[:0:0], b.X...), b.Y...) {
		list = append(list, fed{s.Batch[i], dtype.Of(d.Dtype()).String(), append([]int{}, d.Shape()...), dtype.Bytes(d)})
	}
	return list
}

// exported returns the run of the step in ONNX Runtime.
func exported(s *step.Model, seed uint64, names []string, like run, batches []data.Sample, last data.Sample, o options) (run, float64, error) {
	var r run
	dir, err := os.MkdirTemp("", "steps")
	if err != nil {
		return r, 0, err
	}
	defer os.RemoveAll(dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := onnxio.Save(at("step.onnx"), s.Graph); err != nil {
		return r, 0, err
	}
	if err := onnxio.Save(at("start.onnx"), s.Start); err != nil {
		return r, 0, err
	}
	variable := map[string]bool{}
	for _, v := range s.Variables {
		variable[v.Name] = true
	}
	var known []string // a parameter that the loss does not depend on is not a variable
	for _, n := range names {
		if variable[n] {
			known = append(known, n)
		}
	}
	var all [][]fed
	for _, b := range batches {
		all = append(all, feeds(s, b))
	}
	job, err := json.Marshal(map[string]any{
		"start": at("start.onnx"), "step": at("step.onnx"), "variables": at("variables"), "answer": at("answer.json"), "threads": o.threads,
		"level": o.level, "seeded": s.Seeded, "seed": seed, "batches": all, "timed": feeds(s, last), "repeats": o.repeats, "names": known,
	})
	if err == nil {
		err = os.WriteFile(at("job.json"), job, 0o600)
	}
	if err != nil {
		return r, 0, err
	}
	if out, err := exec.Command("node", "-e", script, "--", o.ort, at("job.json")).CombinedOutput(); err != nil {
		return r, 0, fmt.Errorf("ONNX Runtime: %s", strings.TrimSpace(string(out)))
	}
	var answer struct {
		Losses []float64
		MS     float64
	}
	b, err := os.ReadFile(at("answer.json"))
	if err == nil {
		err = json.Unmarshal(b, &answer)
	}
	if err != nil {
		return r, 0, err
	}
	r.losses = answer.Losses
	if b, err = os.ReadFile(at("variables")); err != nil {
		return r, 0, err
	}
	for i, n := range names {
		if !variable[n] {
			r.weights = append(r.weights, like.weights[i])
			continue
		}
		d := dtype.New(dtype.Float32, len(like.weights[i]))
		b = b[copy(dtype.Bytes(d), b):]
		v, err := dtype.Float64s(d)
		if err != nil {
			return r, 0, err
		}
		r.weights = append(r.weights, v)
	}
	return r, answer.MS, nil
}
