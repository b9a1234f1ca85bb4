package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// endings are the ways in which a run is interrupted again and again: each arranges that for the next run.
var endings = map[string]func(c *train.Config, val *data.Dataset[data.Sample], cancel func(), done map[int]bool){
	"OnStep, after each step": func(c *train.Config, _ *data.Dataset[data.Sample], _ func(), _ map[int]bool) {
		c.OnStep = func(train.StepInfo) error { return errEnough }
	},
	"the context, in each batch": func(c *train.Config, _ *data.Dataset[data.Sample], cancel func(), done map[int]bool) {
		c.Log = func(e train.Event) {
			if at := 100*e.Epoch + e.Batch; e.Kind == train.Stepped && !done[at] {
				done[at] = true
				cancel()
			}
		}
	},
	"the context, at each epoch's end": func(c *train.Config, _ *data.Dataset[data.Sample], cancel func(), _ map[int]bool) {
		c.Log = func(e train.Event) {
			if e.Kind == train.Finished {
				cancel()
			}
		}
	},
	"OnGradient, in each step": func(c *train.Config, _ *data.Dataset[data.Sample], _ func(), done map[int]bool) {
		step := 1
		c.Log = func(e train.Event) {
			if e.Kind == train.Stepped {
				step = e.Info.Step + 1
			}
		}
		c.OnGradient = func(p *nn.Param, _ *tensor.Dense) error {
			if step > 1 && !done[step] && p.Name() == "w2" {
				done[step] = true
				return errEnough
			}
			return nil
		}
	},
	"a sample of each validation": func(c *train.Config, val *data.Dataset[data.Sample], _ func(), done map[int]bool) {
		whole, epoch := *val, 0
		c.Log = func(e train.Event) {
			if e.Kind == train.Stepped {
				epoch = e.Epoch
			}
		}
		*val = data.Map(data.Of(upTo(whole.Len())...), func(i int, r *rand.Rand) (data.Sample, error) {
			if !done[epoch] && epoch > 0 {
				done[epoch] = true
				return data.Sample{}, errEnough
			}
			return whole.At(i, r)
		})
	},
}

var errEnough = errors.New("enough")

// A run that is interrupted at every place, one after the other, and resumed each time ends with the files, the history and the weights of one that
// nothing interrupted, for all orders of samples and all settings that a checkpoint continues; a resume by itself changes no file.
func TestResumeAnywhere(t *testing.T) {
	set := blobs(14, 1)
	backwards := func(n, epoch int) []int {
		order := data.Order(n, 9, epoch)
		order[0] = order[n-1] // one sample twice, one not at all
		slices.Reverse(order)
		return order
	}
	for name, c := range map[string]train.Config{
		"shuffled": {}, "in order": {NoShuffle: true}, "a sampler": {Sampler: backwards}, "accumulated": {Accumulate: 3}, "in parts": {MicroBatch: 2, ClipNorm: 1},
		"averages":  {EMA: 0.5, Whole: true, Keep: 2, Monitor: "accuracy", RestoreBest: true},
		"plateau":   {Plateau: &optim.Plateau{Patience: -1}, Schedule: optim.CosineLR{}},
		"the first": {EMA: 0.9, MinDelta: 10, RestoreBest: true, Keep: 1, Mode: "max"},
		"stopped":   {Patience: 1, MinDelta: 10, RestoreBest: true, Rule: optim.SGD{LR: 0.1, Momentum: 0.9}},
	} {
		c.Epochs, c.Batch, c.Seed, c.Workers, c.Resume = 2, 4, 3, 1, true
		if c.Rule == nil {
			c.Rule = optim.Adam{LR: 0.02}
		}
		c.Dir = t.TempDir()
		g := small(t)
		whole, err := train.Fit(context.Background(), g, quiet(c), set, blobs(8, 2))
		if err != nil {
			t.Fatal(name, err)
		}
		files := runFiles(t, c.Dir)
		for ending, end := range endings {
			if ending != "OnStep, after each step" && c.Keep != 2 { // all ways with all of the files
				continue
			}
			c := quiet(c)
			c.Dir = t.TempDir()
			done, resumes := map[int]bool{}, 0
			for {
				ctx, cancel := context.WithCancel(context.Background())
				run, val := c, data.Dataset[data.Sample](blobs(8, 2))
				end(&run, &val, cancel, done)
				before := runFiles(t, c.Dir)
				again := small(t)
				tr, err := train.New(again, run)
				if err != nil {
					t.Fatalf("%s, %s, resumed %d times: %v", name, ending, resumes, err)
				}
				differ(t, fmt.Sprintf("%s, %s: resumed %d times, before a step", name, ending, resumes), before, runFiles(t, c.Dir))
				if resumes == 2 { // what a loop of one's own restores
					other := run
					other.Dir, other.Resume, other.Keep = "", false, 0
					restored, err := train.New(small(t), other)
					if err == nil {
						err = restored.Restore(filepath.Join(c.Dir, "last.state"))
					}
					if err != nil {
						t.Fatal(err)
					}
					same(t, fmt.Sprintf("%s, %s: restored", name, ending), weights(restored.Graph()), weights(again))
				}
				h, err := tr.Fit(ctx, set, val)
				cancel()
				if err != nil {
					if !errors.Is(err, errEnough) && !errors.Is(err, context.Canceled) {
						t.Fatalf("%s, %s, resumed %d times: %v", name, ending, resumes, err)
					}
					if resumes++; resumes > 20 {
						t.Fatalf("%s, %s: the run does not go on", name, ending)
					}
					continue
				}
				what := fmt.Sprintf("%s, %s: resumed %d times", name, ending, resumes)
				if resumes < len(whole)-1 || len(h) != len(whole) {
					t.Errorf("%s: %d epochs, want %d", what, len(h), len(whole))
				}
				for i := range min(len(h), len(whole)) {
					x, y := h[i], whole[i]
					x.Seconds, y.Seconds = 0, 0
					if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
						t.Errorf("%s:\n%+v, want\n%+v", what, x, y)
					}
				}
				same(t, what, weights(g), weights(again))
				differ(t, what, files, runFiles(t, c.Dir))
				break
			}
		}
	}
}

// runFiles returns the files of a run, without times.
func runFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = withoutTimes(e.Name(), b)
	}
	return files
}

func differ(t *testing.T, what string, want, got map[string][]byte) {
	t.Helper()
	var names []string
	for name := range want {
		if x, ok := got[name]; !ok || !bytes.Equal(x, want[name]) {
			names = append(names, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			names = append(names, name+", which is new")
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		t.Errorf("%s: other files: %s", what, strings.Join(names, ", "))
	}
}
