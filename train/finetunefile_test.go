package train

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// tunings runs f as a process that tunes g alone, and as each of two that do so together, the second of which finds no files.
func tunings(t *testing.T, f FineTuner, g func() *nn.Graph, do func(what string, tu *tuning)) {
	t.Helper()
	do("alone", &tuning{FineTuner: f, g: g()})
	onRanks(2, func(r *ranks) {
		f := f
		if r.rank > 0 && f.Config.Dir != "" {
			f.Config.Dir = filepath.Join(f.Config.Dir, "nowhere")
		}
		tu := &tuning{FineTuner: f, g: g(), ranks: r}
		do(fmt.Sprint("rank ", r.rank), tu)
		runtime.KeepAlive(tu)
	})
}

// A run goes on by the plan that lies beside its checkpoint; without a checkpoint it begins, and without a plan, or with one that cannot be read, it
// is refused.
func TestPlanIsResumed(t *testing.T) {
	plan := recipe{Rate: 0.003, Batch: 8, Epochs: 5, Spread: 0.5, EMA: 0.9, Decay: 0.05, Head: map[string]float64{"accuracy": 0.5}, Unmirrored: true}
	for name, c := range map[string]struct {
		resume, checkpoint bool
		plan               string // "": it was kept
		ok                 bool
		want               string
	}{
		"begins": {false, true, "", false, ""}, "nothing to go on from": {true, false, "", false, ""}, "goes on": {true, true, "", true, ""},
		"set by hand": {true, true, "none", false, "holds the checkpoint of a run with manual settings, not of fine-tuning: resume it in the same way"},
		"a folder":    {true, true, "folder", false, "train: read "}, "damaged": {true, true, "damaged", false, "plan.json: unexpected end of JSON input"},
	} {
		dir := t.TempDir()
		begun := &tuning{g: normalized(t), plan: plan}
		if err := begun.writePlan(dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, planFile)
		var err error
		switch c.plan {
		case "none":
			err = os.Remove(path)
		case "folder":
			if err = os.Remove(path); err == nil {
				err = os.Mkdir(path, 0o777)
			}
		case "damaged":
			err = os.WriteFile(path, []byte("{"), 0o666)
		}
		if c.checkpoint && err == nil {
			err = os.WriteFile(filepath.Join(dir, lastState), nil, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		tunings(t, FineTuner{Config: Config{Dir: dir, Resume: c.resume}}, func() *nn.Graph { return nil }, func(what string, tu *tuning) {
			ok, err := tu.resumed()
			if ok != c.ok || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, %v, want %v, %s", name, what, ok, err, c.ok, c.want)
			}
			if want := begun.plan; c.ok && (!reflect.DeepEqual(tu.plan, want) || tu.out.Head["accuracy"] != 0.5) {
				t.Errorf("%s, %s: %+v, want %+v", name, what, tu.plan, want)
			}
		})
	}
}

// A plan and the model that it begins with are written by the first process, where there is a folder.
func TestPlanIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for it")
	tunings(t, FineTuner{Config: Config{Dir: dir}}, func() *nn.Graph { return normalized(t) }, func(what string, tu *tuning) {
		if err := tu.keepPlan(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range []string{planFile, headModel} {
			_, err := os.Stat(filepath.Join(tu.Config.Dir, name))
			if there := what != "rank 1"; (err == nil) != there {
				t.Errorf("%s: %s: %v", what, name, err)
			}
		}
	})
	tunings(t, FineTuner{}, func() *nn.Graph { return normalized(t) }, func(what string, tu *tuning) {
		if err := tu.keepPlan(); err != nil {
			t.Errorf("%s, without a folder: %v", what, err)
		}
	})
	for name, taken := range map[string]string{"the folder": "", headModel: headModel, planFile: planFile} {
		dir := filepath.Join(t.TempDir(), "run")
		var err error
		if taken == "" {
			err = os.WriteFile(dir, nil, 0o666)
		} else {
			err = os.MkdirAll(filepath.Join(dir, taken, "full"), 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
		tunings(t, FineTuner{Config: Config{Dir: dir}}, func() *nn.Graph { return normalized(t) }, func(what string, tu *tuning) {
			if err := tu.keepPlan(); err == nil || taken == "" && !strings.Contains(err.Error(), "train: cannot create the folder for checkpoints: ") || !strings.Contains(err.Error(), taken) {
				t.Errorf("%s is taken, %s: %v", name, what, err)
			}
		})
	}
}

// The model that an interrupted run began with is read by names: what the graph has of it, in the shapes of the graph.
func TestFloor(t *testing.T) {
	other := func(t *testing.T) *nn.Graph { // without a scale, with a name of its own
		g := normalized(t)
		if err := g.Edit(func(e *nn.Edit) {
			e.SetData(e.Value("w"), numbered(t, 5, 6))
			e.SetData(e.Value("mean"), numbered(t, 7, 8))
			e.SetData(e.Value("two"), numbered(t, 9, 10))
			e.RenameValue(e.Value("scale"), "factor")
		}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	want := map[string][]float32{"w": {5, 6}, "mean": {7, 8}, "two": {9, 10}, "bias": {1, 1}, "var": {1, 1}, "scale": {1, 1}}
	for name, c := range map[string]struct {
		resume, dir bool
		file        string
		there       bool
		want        string
	}{
		"begins": {false, true, "model", false, ""}, "without a folder": {true, false, "model", false, ""}, "none was interrupted": {true, true, "", false, ""}, "interrupted": {true, true, "model", true, ""},
		"damaged": {true, true, "damaged", false, headModel},
	} {
		f := FineTuner{Config: Config{Resume: c.resume}}
		dir := t.TempDir()
		if c.dir {
			f.Config.Dir = dir
		} else {
			t.Chdir(dir)
		}
		var err error
		switch c.file {
		case "model":
			err = onnxio.Save(filepath.Join(dir, headModel), other(t))
		case "damaged":
			err = os.WriteFile(filepath.Join(dir, headModel), []byte("no model"), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		tunings(t, f, func() *nn.Graph { return normalized(t) }, func(what string, tu *tuning) {
			before := nntest.Weights(t, tu.g)
			s, err := tu.floor()
			if (s != nil) != c.there || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, %v", name, what, s, err)
			}
			for p, d := range before {
				if !bytes.Equal(dtype.Bytes(p.Data()), dtype.Bytes(d)) {
					t.Errorf("%s, %s: %s is another", name, what, p.Name())
				}
			}
			if !c.there {
				return
			}
			var names []string
			for p, d := range s {
				if names = append(names, p.Name()); !slices.Equal(d.Float32s(), want[p.Name()]) {
					t.Errorf("%s, %s: %s is %v, want %v", name, what, p.Name(), d, want[p.Name()])
				}
			}
			slices.Sort(names)
			all := "bias mean scale two var w"
			if what == "alone" { // what the file lacks stays as it is
				all = "bias mean two var w"
			}
			if got := strings.Join(names, " "); got != all {
				t.Errorf("%s, %s: %s, want %s", name, what, got, all)
			}
		})
	}
}

// A name that is a parameter's in the file alone is none of the model's.
func TestFloorOfNames(t *testing.T) {
	saved := nn.New("saved")
	if err := saved.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Mul"), e.Input("u", "float32[N,2]"), e.Const("x", numbered(t, 1, 2))).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := onnxio.Save(filepath.Join(dir, headModel), saved); err != nil {
		t.Fatal(err)
	}
	tu := &tuning{FineTuner: FineTuner{Config: Config{Dir: dir, Resume: true}}, g: normalized(t)} // x is its input
	if s, err := tu.floor(); err != nil || s == nil || len(s) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}
