package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// normalized has a weight, a normalization with statistics, a factor that is frozen and a constant.
func normalized(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.New("normalized")
	if err := g.Edit(func(e *nn.Edit) {
		ones := func(name string) *nn.Value { return e.Param(name, initial.Ones{}, 2) }
		h := e.Node(op.Plain("Mul"), e.Input("x", "float32[N,2]"), ones("w")).Out(0)
		h = e.Node(std.BatchNormalizationConfig{}, h, ones("scale"), ones("bias"), ones("mean"), ones("var")).Out(0)
		two := e.Const("two", numbered(t, 2, 2))
		e.SetFrozen(two.Param(), true)
		h = e.Node(op.Plain("Mul"), h, two).Out(0)
		e.Output("y", e.Node(op.Plain("Reshape"), h, e.Ints("shape", -1, 2)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// pairs are n samples of two numbers and their targets.
func pairs(t *testing.T, n int) data.Dataset[data.Sample] {
	t.Helper()
	var list []data.Sample
	for i := range n {
		v := float32(i%5) - 1.5
		list = append(list, data.Sample{X: []*tensor.Dense{numbered(t, v, v*v)}, Y: []*tensor.Dense{numbered(t, 1-v, v/2)}})
	}
	return data.Of(list...)
}

// A state file holds parameters, statistics, averages and optimizer states, each under its name, and no constant; its text says where training stands.
func TestStateFields(t *testing.T) {
	ctx := context.Background()
	moving, trained := []string{"bias", "mean", "scale", "var", "w"}, []string{"bias", "scale", "w"}
	for name, c := range map[string]struct {
		c     Config
		slots []string
	}{
		"plain": {Config{Rule: optim.SGD{LR: 0.01}}, nil}, "momentum": {Config{Rule: optim.SGD{LR: 0.01, Momentum: 0.5}}, []string{"momentum_buffer"}}, "adam": {Config{Rule: optim.Adam{LR: 0.01}}, []string{"exp_avg", "exp_avg_sq"}},
		"average": {Config{Rule: optim.SGD{LR: 0.01}, EMA: 0.9}, nil}, "sums": {Config{Rule: optim.SGD{LR: 0.01}, Accumulate: 2}, nil},
	} {
		c.c.Dir, c.c.Epochs, c.c.Batch, c.c.Seed, c.c.Log, c.c.Metrics, c.c.Plateau = t.TempDir(), 2, 4, 7, Quiet, []Metric{}, &optim.Plateau{Patience: 5}
		g := normalized(t)
		h, err := Fit(ctx, g, c.c, pairs(t, 10), pairs(t, 4))
		if err != nil {
			t.Fatal(name, err)
		}
		tensors, text, err := readState(filepath.Join(c.c.Dir, lastState))
		if err != nil {
			t.Fatal(name, err)
		}
		want := []string{"param/two"}
		for _, p := range moving {
			if want = append(want, "param/"+p); c.c.EMA > 0 {
				want = append(want, "average/"+p)
			}
		}
		for _, s := range c.slots {
			for _, p := range trained {
				want = append(want, "optimizer/"+s+"/"+p)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(tensors)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for p := range g.Params() {
			raw, average := tensors["param/"+p.Name()], tensors["average/"+p.Name()]
			switch {
			case p.Name() == "shape":
			case average == nil && !bytes.Equal(dtype.Bytes(p.Data()), dtype.Bytes(raw)):
				t.Errorf("%s: %s is %v, in the file %v", name, p.Name(), p.Data(), raw)
			case average != nil && (!bytes.Equal(dtype.Bytes(p.Data()), dtype.Bytes(average)) || bytes.Equal(dtype.Bytes(raw), dtype.Bytes(average))):
				t.Errorf("%s: %s is %v, in the file %v, its average %v", name, p.Name(), p.Data(), raw, average)
			}
		}
		if keys := slices.Sorted(maps.Keys(text)); !slices.Equal(keys, []string{"graft.train"}) {
			t.Errorf("%s: texts %v", name, keys)
		}
		var got notebook
		if err := json.Unmarshal([]byte(text["graft.train"]), &got); err != nil {
			t.Fatal(err)
		}
		steps, last := map[bool]int{false: 6, true: 4}[c.c.Accumulate == 2], h.Best().Epoch
		book := notebook{
			Progress: progress{Step: steps, Micro: 6, Epoch: 2, Length: 10}, History: h, Best: h[last-1].Val["loss"], HasBest: true, Bad: 2 - last, Seed: 7, Batch: 4, Plateau: got.Plateau,
			Updates: map[string]int{"bias": steps, "scale": steps, "w": steps}, Rules: map[string]string{}, BestSum: got.BestSum, Settings: got.Settings,
		}
		if len(got.BestSum) != 8 { // what it is of is checked by TestBestDamaged
			t.Errorf("%s: the best model has the checksum %q", name, got.BestSum)
		}
		for _, p := range trained {
			book.Rules[p] = fmt.Sprintf("%T", c.c.Rule)
		}
		if !reflect.DeepEqual(got, book) {
			t.Errorf("%s: %+v\nwant %+v", name, got, book)
		}
	}
}

// TestKeptAtTheEnd checks that models are kept at the end of epochs, also of earlier ones.
func TestKeptAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		batch, epochs int
		want          []int
	}{{0, 0, []int{9}}, {0, 2, []int{9, 2}}, {1, 0, []int{9}}, {1, 2, []int{9}}} {
		tr, err := New(normalized(t), Config{Dir: t.TempDir(), Keep: 3, Log: Quiet})
		if err != nil {
			t.Fatal(err)
		}
		tr.Batch, tr.kept = c.batch, []kept{{Epoch: 9, Figure: -1, File: keptFile(9)}}
		for i := range c.epochs {
			tr.history = append(tr.history, Epoch{Epoch: i + 1})
		}
		if err := tr.saveAll(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, k := range tr.kept {
			got = append(got, k.Epoch)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("batch %d after %d epochs: epochs %v are kept, want %v", c.batch, c.epochs, got, c.want)
		}
		for name, want := range map[string]bool{lastState: true, lastModel: true, historyFile: c.batch == 0 && c.epochs > 0, curvesFile: c.batch == 0 && c.epochs > 0, keptFile(2): slices.Contains(got, 2), bestModel: false} {
			if _, err := os.Stat(filepath.Join(tr.c.Dir, name)); (err == nil) != want {
				t.Errorf("batch %d after %d epochs: %s is there: %v", c.batch, c.epochs, name, err == nil)
			}
		}
	}
}

// A checkpoint of several ranks knows in which order gradients arrive, and what was restored knows it too.
func TestOrderInCheckpoint(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for rank, comm := range Local(2) {
		group.Go(func() {
			c := Config{Communicator: comm, Epochs: 1, Batch: 4, Dir: dir, Rule: optim.SGD{LR: 0.01}, Log: Quiet}
			for _, resume := range []bool{false, true} {
				c.Resume = resume
				tr, err := New(normalized(t), c)
				if err != nil {
					t.Error(err)
					return
				}
				if resume {
					if got := slices.Sorted(slices.Values(tr.order)); !slices.Equal(got, []string{"bias", "scale", "w"}) {
						t.Errorf("rank %d: order %v", rank, tr.order)
					}
					if x := tr.shared(); !x.settled || !slices.Equal(x.order(), tr.order) {
						t.Errorf("rank %d: order %v, settled %v, want %v", rank, x.order(), x.settled, tr.order)
					}
					continue
				}
				if tr.order != nil {
					t.Errorf("rank %d: order %v before anything arrived", rank, tr.order)
				}
				if _, err := tr.Fit(context.Background(), pairs(t, 8), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// TestSaveBetweenSteps checks that state saved between two steps of a custom loop is restored,
// including the position in the epoch, and that saving in the middle of an update is refused.
func TestSaveBetweenSteps(t *testing.T) {
	ctx := context.Background()
	c := Config{Rule: optim.Adam{LR: 0.1}, EMA: 0.5, Log: Quiet, Accumulate: 2}
	a, err := New(normalized(t), c)
	if err != nil {
		t.Fatal(err)
	}
	step := func(tr *Trainer) StepInfo {
		info, err := tr.Step(ctx, couple(t, 1, 2, 3, -2))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	path := filepath.Join(t.TempDir(), "here.state")
	for range 2 {
		step(a)
	}
	if err := a.Save(path); err != nil {
		t.Fatal(err)
	}
	step(a)
	if err := a.Save(path); err == nil || err.Error() != "train: a checkpoint cannot be written while the batches of one update are being accumulated" {
		t.Error(err)
	}
	b, err := New(normalized(t), c)
	if err != nil {
		t.Fatal(err)
	}
	step(b) // is dropped
	if err := b.Restore(path); err != nil {
		t.Fatal(err)
	}
	if b.progress.Step != 1 || b.group.count != 0 {
		t.Errorf("restored at step %d with %d batches", b.progress.Step, b.group.count)
	}
	step(b)
	for range 2 {
		step(a)
		if x, y := step(b), a; x.Step != y.progress.Step {
			t.Errorf("step %d, want %d", x.Step, y.progress.Step)
		}
	}
	a.Average()
	b.Average()
	for p := range a.g.Params() {
		for q := range b.g.Params() {
			if p.Name() == q.Name() && !bytes.Equal(dtype.Bytes(p.Data()), dtype.Bytes(q.Data())) {
				t.Errorf("%s is %v, restored %v", p.Name(), p.Data(), q.Data())
			}
		}
	}
}

// The best epoch's model is wanted back whole: each parameter by its name, type and shape.
func TestReadBest(t *testing.T) {
	scaled := func(name string, typ op.DType, dims ...int) *nn.Graph {
		g := nn.New("scaled")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", fmt.Sprintf("%v[1]", typ)), e.ParamOf(name, typ, initial.Ones{}, dims...)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	for name, c := range map[string]struct {
		saved *nn.Graph
		ok    bool
	}{
		"the same": {scaled("w", dtype.Float32, 2), true}, "another name": {scaled("v", dtype.Float32, 2), false}, "another type": {scaled("w", dtype.Float64, 2), false}, "another shape": {scaled("w", dtype.Float32, 1), false},
		"a column": {scaled("w", dtype.Float32, 2, 1), false},
	} {
		g := scaled("w", dtype.Float32, 2)
		tr, err := New(g, Config{Dir: t.TempDir(), Log: Quiet})
		if err != nil {
			t.Fatal(err)
		}
		clear(tr.trainable()[0].Data().Float32s())
		if err := onnxio.Save(filepath.Join(tr.c.Dir, bestModel), c.saved); err != nil {
			t.Fatal(err)
		}
		err = tr.recall()
		if !c.ok {
			if err == nil || !strings.HasPrefix(err.Error(), "train: parameter w: want float32[2]: is not in ") || !strings.HasSuffix(err.Error(), "it is of another model") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || len(tr.best) != 1 {
			t.Fatal(name, tr.best, err)
		}
		for p, d := range tr.best {
			if !slices.Equal(d.Float32s(), []float32{1, 1}) || !slices.Equal(p.Data().Float32s(), []float32{0, 0}) {
				t.Errorf("%s: %v, remembered %v", name, p.Data(), d)
			}
		}
	}
}

// The files of a checkpoint are named when they cannot be written.
func TestPublishNamesFiles(t *testing.T) {
	for _, name := range []string{lastModel, bestModel, keptFile(1), historyFile, curvesFile, lastState} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, name, "full"), 0o777); err != nil {
			t.Fatal(err)
		}
		_, err := Fit(context.Background(), normalized(t), Config{Dir: dir, Keep: 1, Log: Quiet}, pairs(t, 4), nil)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir() // a run that goes on writes them again
	c := Config{Dir: dir, Log: Quiet}
	if _, err := Fit(context.Background(), normalized(t), c, pairs(t, 4), nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, lastModel)), os.MkdirAll(filepath.Join(dir, lastModel, "full"), 0o777)); err != nil {
		t.Fatal(err)
	}
	c.Resume = true
	if _, err := New(normalized(t), c); err == nil || !strings.Contains(err.Error(), lastModel) {
		t.Error(err)
	}
	dir = t.TempDir() // a model that is no longer among the best
	if err := os.MkdirAll(filepath.Join(dir, keptFile(2), "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Fit(context.Background(), normalized(t), Config{Dir: dir, Keep: 1, Epochs: 2, Mode: "max", Rule: optim.SGD{LR: 0.01}, Log: Quiet}, pairs(t, 4), nil)
	if err == nil || !strings.Contains(err.Error(), keptFile(2)) {
		t.Error(err)
	}
}

// TestResumedSettings: each setting that changes what is trained, whatever fields Config has, is refused, or a Note names it, when a run is
// resumed with another value of it.
func TestResumedSettings(t *testing.T) {
	var notes []string
	base := Config{Rule: optim.SGD{LR: 0.01}, EMA: 0.5, Batch: 4, Seed: 7}
	path := filepath.Join(t.TempDir(), "state")
	restore := func(c Config) error {
		notes = nil
		c.Log = func(e Event) { notes = append(notes, e.Text) }
		tr, err := New(normalized(t), c)
		if err != nil {
			return err
		}
		return tr.Restore(path)
	}
	c := base
	c.Log = Quiet
	tr, err := New(normalized(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Step(context.Background(), couple(t, 1, 2, 3, -2)); err != nil {
		t.Fatal(err)
	}
	if err := tr.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := restore(base); err != nil || notes != nil {
		t.Fatalf("the same settings: %v, %q", err, notes)
	}
	others := map[string]any{ // of fields whose kind does not say what another value is
		"Loss": MSE{}, "Rule": optim.SGD{LR: 0.02}, "Schedule": optim.CosineLR{}, "Plateau": &optim.Plateau{Patience: 3}, "Sampler": func(n, _ int) []int { return make([]int, n) },
		"Groups": []ParamGroup{{Match: []string{"w"}, Rate: 2}}, "ReduceIn": dtype.BFloat16, "Mode": "max", "Monitor": "loss",
	}
	for name, v := range settings(base) {
		if v.Type() == reflect.TypeFor[func(Event)]() || slices.Contains(withoutEffect, name) {
			continue
		}
		c := base
		to := reflect.ValueOf(&c).Elem().FieldByName(name)
		switch x, ok := others[name]; {
		case ok:
			to.Set(reflect.ValueOf(x))
		case v.Kind() == reflect.Bool:
			to.SetBool(!v.Bool())
		case v.CanInt():
			to.SetInt(v.Int() + 2)
		case v.CanUint():
			to.SetUint(v.Uint() + 2)
		case v.CanFloat():
			to.SetFloat(v.Float() + 0.25)
		default:
			t.Fatalf("Config.%s: this test has no other value for it: add one, or add the field to withoutEffect if it does not change what is trained", name)
		}
		if err := restore(c); err == nil && !slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "Config."+name+";") }) {
			t.Errorf("Config.%s is another one when the run is resumed, and nobody is told: %q", name, notes)
		}
	}
	for name, x := range map[string]any{"AdamW": optim.AdamW{}, "momentum": optim.SGD{LR: 0.01, Momentum: 0.9}} { // a state that is not there
		c := base
		c.Rule = x.(optim.Rule)
		if err := restore(c); err == nil {
			t.Errorf("%s goes on with the state of SGD", name)
		}
	}
}
