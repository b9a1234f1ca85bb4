package train_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// after is an OnStep that ends a run.
func after(step int) func(train.StepInfo) error {
	return func(s train.StepInfo) error {
		if s.Step == step {
			return errEnough
		}
		return nil
	}
}

// In the middle of an epoch the order of its samples may not change; at its end it may.
func TestResumedOrder(t *testing.T) {
	forth := func(n, _ int) []int { return data.Order(n, 1, 0) }
	for stop, refused := range map[int]bool{2: true, 5: false} {
		for name, orders := range map[string][2]train.Config{
			"NoShuffle": {{}, {NoShuffle: true}}, "NoShuffle ": {{NoShuffle: true}, {}}, "Sampler": {{}, {Sampler: forth}}, "Sampler ": {{Sampler: forth}, {}}, "": {{Sampler: forth}, {Sampler: forth}},
		} {
			c, next := orders[0], orders[1]
			c.Batch, c.Seed, c.Dir, c.Epochs, c.OnStep = 8, 3, t.TempDir(), stop/5+1, after(stop)
			if !refused {
				c.Epochs, c.OnStep = 1, nil
			}
			if _, err := train.Fit(context.Background(), plainNet(t), quiet(c), blobs(40, 1), nil); refused != errors.Is(err, errEnough) {
				t.Fatal(err)
			}
			c.NoShuffle, c.Sampler, c.Resume, c.OnStep = next.NoShuffle, next.Sampler, true, nil
			_, err := train.New(plainNet(t), quiet(c))
			want := "another Config." + strings.TrimSpace(name) + ": its samples would be in another order"
			if refused := refused && name != ""; (err != nil) != refused || refused && !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%q after step %d: %v", name, stop, err)
			}
		}
	}
}

// What a checkpoint lacks, or has of another type, is named.
func TestCheckpointLacks(t *testing.T) {
	c := train.Config{Dir: t.TempDir(), Batch: 8, Epochs: 1, Rule: optim.SGD{}}
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(16, 1), nil); err != nil {
		t.Fatal(err)
	}
	c.Resume = true
	double := nn.New("small")
	if err := double.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float64[N,4]")
		e.Output("y", e.Node(std.GemmConfig{TransB: true}, x, e.ParamOf("w1", dtype.Float64, initial.FanIn{}, 8, 4)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	averaged := c
	averaged.EMA = 0.9
	for _, x := range []struct {
		g    *nn.Graph
		c    train.Config
		want string
	}{{double, c, "want float64[8,4], got float32[8,4]: param/w1 in "}, {small(t), averaged, "average/w1 is not in "}} {
		before := weights(x.g)
		if _, err := train.New(x.g, quiet(x.c)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
		same(t, x.want, before, weights(x.g))
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "last.state"), []byte("\x25\x00\x00\x00\x00\x00\x00\x00"+`{"__metadata__":{"graft.train":"[]"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := train.New(small(t), quiet(c)); err == nil || !strings.Contains(err.Error(), "last.state: json: cannot unmarshal array") {
		t.Errorf("notes of another kind: %v", err)
	}
}

// A file in the place of the best model, of a run that has none yet, keeps nobody from a resume; kept models, and files that are called like
// them, stay in a run that keeps none.
func TestFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a file of another program"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("best.onnx")
	c := train.Config{Dir: dir, Batch: 8, Epochs: 2, Rule: optim.SGD{LR: 0.1}, OnStep: after(1)}
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(16, 1), nil); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	c.OnStep, c.Resume, c.Keep = nil, true, 1
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(16, 1), nil); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "epoch-*.onnx"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	write("epoch-0003.onnx")
	c.Keep, c.Epochs = 0, 4
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(16, 1), nil); err != nil {
		t.Fatal(err)
	}
	if all, err := filepath.Glob(filepath.Join(dir, "epoch-*.onnx")); err != nil || len(all) != 2 {
		t.Errorf("%v are there, want %v and epoch-0003.onnx: %v", all, kept, err)
	}
}

// At every instant, the models that the checkpoint names are there and are those that it names, but for those of its last epoch, which a resume writes.
func TestNamedModelsAreThere(t *testing.T) {
	dir := t.TempDir()
	c := train.Config{Dir: dir, Batch: 4, Epochs: 6, Keep: 2, EMA: 0.5, RestoreBest: true, Rule: optim.SGD{LR: 0.3}, Monitor: "accuracy"}
	path := filepath.Join(dir, "last.state")
	sums := map[string]string{} // of kept models, when they were written
	looks := 0
	look := func(after string) {
		b, err := os.ReadFile(path)
		if err != nil {
			return // none yet
		}
		header := struct {
			Metadata map[string]string `json:"__metadata__"`
		}{}
		if err := json.NewDecoder(strings.NewReader(string(b[8:]))).Decode(&header); err != nil {
			t.Fatal(after, err)
		}
		var notes struct {
			Keep    []struct{ File string }
			History []struct {
				Epoch int
				Best  bool
			}
		}
		if err := json.Unmarshal([]byte(header.Metadata["graft.train"]), &notes); err != nil {
			t.Fatal(after, err)
		}
		last, best := notes.History[len(notes.History)-1], 0
		for _, e := range notes.History {
			if e.Best {
				best = e.Epoch
			}
		}
		names := []string{}
		for _, k := range notes.Keep {
			if k.File != fmt.Sprintf("epoch-%04d.onnx", last.Epoch) {
				names = append(names, k.File)
			}
		}
		if best > 0 && best != last.Epoch {
			names = append(names, "best.onnx")
		}
		for _, name := range names {
			looks++
			content, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatalf("%s: %v", after, err)
			}
			if was := sums[name]; was != string(content) {
				t.Fatalf("%s: %s is not the model that was written in its epoch", after, name)
			}
		}
	}
	whole := disk.System
	defer func() { disk.System = whole }()
	disk.System.Rename = func(from, to string) error {
		err := whole.Rename(from, to)
		if name := filepath.Base(to); strings.HasSuffix(name, ".onnx") && name != "last.onnx" {
			b, err := os.ReadFile(to)
			if err != nil {
				t.Error(err)
			}
			sums[name] = string(b)
		}
		look("after the rename of " + filepath.Base(to))
		return err
	}
	disk.System.Remove = func(name string) error {
		err := whole.Remove(name)
		look("after the removal of " + filepath.Base(name))
		return err
	}
	if _, err := train.Fit(context.Background(), small(t), quiet(c), blobs(24, 1), blobs(30, 2)); err != nil {
		t.Fatal(err)
	}
	if all, err := filepath.Glob(filepath.Join(dir, "epoch-*.onnx")); err != nil || len(all) != 2 || looks < 20 {
		t.Errorf("%v, %d looks: %v", all, looks, err)
	}
}

// A graph that a trainer cannot follow is an error of all of its methods, and nothing is written.
func TestUnfollowedGraph(t *testing.T) {
	g := small(t)
	tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{}}))
	if err != nil {
		t.Fatal(err)
	}
	dir, set := t.TempDir(), blobs(8, 1)
	before, path := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	if err := tr.Save(before); err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(func(e *nn.Edit) {
		half := e.Node(std.CastConfig{To: dtype.Float32}, e.ParamOf("h", dtype.Float16, initial.Ones{}, 3)).Out(0)
		e.Output("z", e.Node(op.Plain("Mul"), e.Outputs()[0], half).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"Step":     func() error { _, err := tr.Step(context.Background(), batch(t, set)); return err },
		"Evaluate": func() error { _, err := tr.Evaluate(context.Background(), set); return err },
		"Fit":      func() error { _, err := tr.Fit(context.Background(), set, nil); return err },
		"Save":     func() error { return tr.Save(path) },
		"Restore":  func() error { return tr.Restore(before) },
	} {
		all := weights(g)
		if err := call(); err == nil || !strings.Contains(err.Error(), "want float32 or float64, got float16") {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, all, weights(g))
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a checkpoint was written")
	}
}

// A checkpoint is restored, too, while the graph holds the averages; other goroutines may use the trainer afterwards.
func TestRestoreOverAverages(t *testing.T) {
	one, path := batch(t, blobs(8, 1)), filepath.Join(t.TempDir(), "state")
	var all [2]map[string][]byte
	for i := range all {
		tr, err := train.New(small(t), quiet(train.Config{EMA: 0.5, Rule: optim.SGD{LR: 0.1}}))
		if err != nil {
			t.Fatal(err)
		}
		step := func() {
			t.Helper()
			if _, err := tr.Step(context.Background(), one); err != nil {
				t.Fatal(err)
			}
		}
		step()
		if err := tr.Save(path); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			step()
			tr.Average()
			if err := tr.Restore(path); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan bool)
		go func() { defer close(done); step() }()
		<-done
		all[i] = everything(t, tr)
	}
	same(t, "the step after it", all[0], all[1])
}

// A run that ends at its first batch leaves no files, alone and on two ranks, whatever the error is.
func TestFirstBatchLeavesNothing(t *testing.T) {
	first := data.Map(data.Of(upTo(8)...), func(int, *rand.Rand) (data.Sample, error) { return data.Sample{}, errTorn })
	for name, c := range map[string]struct {
		fit  data.Dataset[data.Sample]
		loss train.Loss
	}{"a sample": {first, nil}, "not finite": {blobs(8, 1), leaning("Div")}} {
		dir := t.TempDir()
		if _, err := train.Fit(context.Background(), plainNet(t), quiet(train.Config{Dir: dir, Batch: 4, Loss: c.loss}), c.fit, nil); err == nil {
			t.Fatal("no error")
		}
		shared := t.TempDir()
		for _, err := range together(2, func(_ int, comm train.Communicator) error {
			_, err := train.Fit(context.Background(), plainNet(t), quiet(train.Config{Dir: shared, Batch: 4, Loss: c.loss, Communicator: comm}), c.fit, nil)
			return err
		}) {
			if err == nil {
				t.Fatal("no error")
			}
		}
		for _, dir := range []string{dir, shared} {
			if train.HasCheckpoint(dir) {
				t.Errorf("%s: there is a checkpoint", name)
			}
		}
	}
}

// The last group of an epoch has fewer batches. What goes wrong in it ends the run, as in others; its samples count, on ranks too.
func TestLastGroupOfAnEpoch(t *testing.T) {
	fit := blobs(20, 1) // five batches: groups of two, two and one
	torn := withBad(t, fit, 18, func(s *data.Sample) {
		s.X = []*tensor.Dense{dtype.New(dtype.Float32, 4)}
		dtype.Slice[float32](s.X[0])[0] = float32(math.Inf(1))
	})
	c := quiet(train.Config{Batch: 4, Accumulate: 2, NoShuffle: true, Epochs: 1, Rule: optim.SGD{LR: 0.1}})
	if _, err := train.Fit(context.Background(), plainNet(t), c, torn, nil); err == nil || !strings.Contains(err.Error(), "step 3: ") {
		t.Errorf("what is not finite: %v", err)
	}
	steps := 0
	late := c
	late.OnGradient = func(_ *nn.Param, x *tensor.Dense) error {
		if steps == 2 {
			dtype.Slice[float32](x)[0] = float32(math.NaN())
		}
		return nil
	}
	late.OnStep = func(s train.StepInfo) error { steps = s.Step; return nil }
	if _, err := train.Fit(context.Background(), plainNet(t), late, fit, nil); err == nil || !strings.Contains(err.Error(), "step 3: the gradient of w1 is not finite") {
		t.Errorf("a gradient in its update: %v", err)
	}
	c.OnStep = after(3)
	if _, err := train.Fit(context.Background(), plainNet(t), c, fit, nil); !errors.Is(err, errEnough) {
		t.Errorf("OnStep: %v", err)
	}
	c.OnStep = nil
	alone, err := train.Fit(context.Background(), plainNet(t), c, fit, nil)
	if err != nil {
		t.Fatal(err)
	}
	together(2, func(rank int, comm train.Communicator) error {
		c := c
		c.Communicator = comm
		h, err := train.Fit(context.Background(), plainNet(t), c, fit, nil)
		if err != nil || h[0].Samples != 20 || math.Abs(h[0].Loss-alone[0].Loss) > 1e-6 || h[0].Steps != 3 {
			t.Errorf("rank %d: %v, %v, want %v", rank, h, err, alone)
		}
		return err
	})
}

// Of rules of several groups, one that is not graft's own and fails takes the others back, too.
func TestRuleOfOneGroupFails(t *testing.T) {
	calls, at := new(atomic.Int64), new(atomic.Int64)
	g := small(t)
	var groups []train.ParamGroup
	for p := range g.Params() {
		if p.Trainable() {
			group := train.ParamGroup{Params: []*nn.Param{p}, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}}
			if len(groups) == 1 {
				group.Rule = shaky{optim.AdamW{}, calls, at}
			}
			groups = append(groups, group)
		}
	}
	tr, err := train.New(g, quiet(train.Config{Rule: optim.SGD{LR: 0.1}, Groups: groups}))
	if err != nil {
		t.Fatal(err)
	}
	one := batch(t, blobs(8, 1))
	for range 4 {
		at.Store(calls.Load() + 1)
		before := everything(t, tr)
		if _, err := tr.Step(context.Background(), one); err == nil || !strings.Contains(err.Error(), "no more") {
			t.Errorf("%v", err)
		}
		same(t, "a rule that failed", before, everything(t, tr))
		at.Store(0)
		if _, err := tr.Step(context.Background(), one); err != nil {
			t.Fatal(err)
		}
	}
}

// The body of a loop over epochs sees the averages, without validation too, and the last word on a run that stopped early is said. A body that
// gives the trainer to another goroutine ends the run.
func TestBodyOfEpochs(t *testing.T) {
	fit := blobs(16, 1)
	c := train.Config{EMA: 0.5, Batch: 8, Epochs: 1, NoShuffle: true, Rule: optim.SGD{LR: 0.1}}
	own, err := train.New(small(t), quiet(c))
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range (data.BatchLoader{Batch: 8, Workers: 1}).Batches(context.Background(), fit, 0) {
		if err == nil {
			_, err = own.Step(context.Background(), b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	own.Average()
	tr, err := train.New(small(t), quiet(c))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range tr.Epochs(context.Background(), fit, nil) {
		if err != nil {
			t.Fatal(err)
		}
		same(t, "in the body", weights(own.Graph()), weights(tr.Graph()))
	}
	var notes []string
	c.Epochs, c.Patience, c.MinDelta, c.Log = 9, 2, 10, noted(&notes)
	if h, err := train.Fit(context.Background(), small(t), c, fit, nil); err != nil || len(h) != 3 || !slices.Equal(notes, []string{"no improvement in 2 epochs: stopped"}) {
		t.Errorf("%v, notes %q, %v", h, notes, err)
	}
	if tr, err = train.New(small(t), quiet(train.Config{Batch: 8, Epochs: 3})); err != nil {
		t.Fatal(err)
	}
	inside, leave := make(chan bool), make(chan bool)
	var other sync.WaitGroup
	blocking := data.Map(data.Of(upTo(8)...), func(i int, r *rand.Rand) (data.Sample, error) {
		if i == 0 {
			close(inside)
			<-leave
		}
		return fit.At(i, r)
	})
	epochs := 0
	for _, err = range tr.Epochs(context.Background(), fit, nil) {
		if err != nil {
			break
		}
		epochs++
		other.Go(func() {
			if _, err := tr.Evaluate(context.Background(), blocking); err != nil {
				t.Error(err)
			}
		})
		<-inside
	}
	close(leave)
	if other.Wait(); epochs != 1 || err == nil || !strings.Contains(err.Error(), "another goroutine uses the Trainer") {
		t.Errorf("%d epochs, %v", epochs, err)
	}
}

// A device that fails at an epoch's end ends the run with its error, in a loop that is left too, and no file is written from values that were not read.
func TestDeviceFailsAtAnEpochsEnd(t *testing.T) {
	lost := errors.New("the device is lost")
	for _, leaves := range []bool{false, true} {
		d, dir := &recording{}, t.TempDir()
		tr, err := train.New(plainNet(t), quiet(train.Config{Runtime: d, Batch: 8, Epochs: 2, Dir: dir, Rule: optim.SGD{LR: 0.1}, OnStep: func(s train.StepInfo) error {
			if s.Step == 2 && !leaves {
				d.failing = lost
			}
			return nil
		}}))
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range tr.Epochs(context.Background(), blobs(16, 1), nil) {
			if last = err; leaves {
				d.failing = lost // Close fails
				break
			}
		}
		if !leaves && !errors.Is(last, lost) || leaves && last != nil {
			t.Errorf("leaves %v: %v", leaves, last)
		}
		if train.HasCheckpoint(dir) != leaves {
			t.Errorf("leaves %v: there is a checkpoint: %v", leaves, !leaves)
		}
	}
	d, dir := &recording{}, t.TempDir()
	if _, err := train.Fit(context.Background(), plainNet(t), quiet(train.Config{Runtime: d, Batch: 8, Epochs: 1, Dir: dir, Rule: optim.SGD{LR: 0.1}, OnStep: func(s train.StepInfo) error {
		d.failing = lost
		return errEnough
	}}), blobs(16, 1), nil); !errors.Is(err, lost) || !errors.Is(err, errEnough) || train.HasCheckpoint(dir) {
		t.Errorf("interrupted: %v, there is a checkpoint: %v", err, train.HasCheckpoint(dir))
	}
	d = &recording{}
	tr, err := train.New(plainNet(t), quiet(train.Config{Runtime: d, Batch: 8, Epochs: 1, Rule: optim.SGD{LR: 0.1}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range tr.Epochs(context.Background(), blobs(16, 1), nil) {
		d.failing = lost
	}
	if !errors.Is(err, lost) {
		t.Errorf("Close: %v", err)
	}
}

// A panic in a callback of one rank's run ends the others'.
func TestCallbackOfOneRankPanics(t *testing.T) {
	errs := together(2, func(rank int, comm train.Communicator) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		_, err = train.Fit(context.Background(), plainNet(t), quiet(train.Config{Batch: 8, Communicator: comm, OnStep: func(train.StepInfo) error {
			if rank == 1 {
				panic("out of range")
			}
			return nil
		}}), blobs(32, 1), nil)
		return err
	})
	if errs[0] == nil || !strings.Contains(errs[0].Error(), "rank 1: panic: out of range") || errs[1] == nil || errs[1].Error() != "panic: out of range" {
		t.Errorf("%v", errs)
	}
}
