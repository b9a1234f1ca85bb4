package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// Files in Config.Dir. Each is replaced atomically, the state first: it has everything for a resumed run, including the weights of the
// other files, which a resumed run writes again. So an interruption at any time leaves a checkpoint and consistent files.
const (
	lastState   = "last.state" // weights, optimizer, averages, position; the layout is safetensors'
	lastModel   = "last.onnx"
	bestModel   = "best.onnx"
	historyFile = "history.csv"
	curvesFile  = "curves.png"
	keptModels  = "epoch-*.onnx"
)

// HasCheckpoint reports whether the folder has a checkpoint, from which Config.Resume continues.
func HasCheckpoint(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, lastState))
	return err == nil
}

// notebook is the content of a checkpoint besides tensors. Go formats floats so that reading them
// returns the same values.
type notebook struct {
	Progress progress
	Tally    tally
	History  []Epoch
	Best     float64
	HasBest  bool
	BestSum  string // checksum of the best epoch's model; "": not known
	Bad      int
	Plateau  optim.PlateauState
	Updates  map[string]int    // number of updates, by parameter
	Rules    map[string]string // type of the rule, by parameter
	Seed     uint64
	Batch    int
	Keep     []kept
	Settings map[string]string // checksum of each setting, by the name of Config's field; nil: not known
	Order    []string          // parameters in the order in which their gradients arrive; nil: not known
}

func keptFile(epoch int) string { return fmt.Sprintf("epoch-%04d.onnx", epoch) }

// kept is a model file that is kept because of Config.Keep.
type kept struct {
	Epoch  int
	Figure float64
	File   string
}

// save writes the last checkpoint and, at the end of an epoch, the other files of the run. Meanwhile the graph holds the
// averages, if there are any. Other processes that save to the folder are waited for until ten seconds after the end of the context: a run that was
// interrupted is saved, too.
func (t *Trainer) save(ctx context.Context) error {
	if err := t.Sync(); err != nil {
		return err
	}
	t.hold(true)
	whole, err := t.wholeState()
	if err != nil {
		return err
	}
	wait, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(interruptedSave, cancel) })()
	return t.write(func() error { return t.saveAll(wait, whole) })
}

// interruptedSave is how long a run that was interrupted waits for other processes that save to its folder.
var interruptedSave = 10 * time.Second

// write calls f on rank 0 to write files, and returns its error on all ranks.
func (t *Trainer) write(f func() error) error {
	var err error
	if t.ranks.first() {
		err = f()
	}
	return t.ranks.agree(err)
}

func (t *Trainer) saveAll(wait context.Context, whole map[*state][]optim.Slot) error {
	if t.Batch == 0 && len(t.history) > 0 {
		if err := t.keep(); err != nil {
			return err
		}
	}
	if t.Batch == 0 && t.history.Last().Best {
		t.bestSum = weightSum(t.g, nil)
	}
	if err := t.saveState(filepath.Join(t.c.Dir, lastState), whole); err != nil {
		return err
	}
	return t.publish(wait)
}

// publish writes the files that are derived from the state, from the graph, which holds the averages if there are any.
func (t *Trainer) publish(wait context.Context) error {
	dir, saver := t.c.Dir, onnxio.Saver{Wait: wait}
	if err := saver.Save(filepath.Join(dir, lastModel), t.g); err != nil {
		return err
	}
	if t.Batch > 0 || len(t.history) == 0 {
		return nil // in the middle of an epoch
	}
	ep := t.history.Last()
	if ep.Best {
		if err := saver.Save(filepath.Join(dir, bestModel), t.g); err != nil {
			return err
		}
	}
	if err := t.publishKept(wait, ep); err != nil {
		return err
	}
	if err := onnxio.WriteFile(filepath.Join(dir, historyFile), t.history.WriteCSV); err != nil {
		return err
	}
	return onnxio.WriteFile(filepath.Join(dir, curvesFile), t.history.WriteCurves)
}

// saveState writes a checkpoint. whole has the optimizer state of all parameters if it is sharded over processes, otherwise nil.
func (t *Trainer) saveState(path string, whole map[*state][]optim.Slot) error {
	b := notebook{
		Progress: t.progress, Tally: t.tally, History: finiteHistory(t.history), Best: t.tracker.best, HasBest: t.tracker.hasBest, BestSum: t.bestSum, Bad: t.tracker.bad,
		Plateau: t.tracker.plateau, Updates: map[string]int{}, Rules: map[string]string{}, Seed: t.c.Seed, Batch: t.c.batch(), Keep: t.kept,
		Order: t.order, Settings: checksums(t.c),
	}
	if order := t.reduced.order(); order != nil {
		b.Order = order
	}
	if t.group.count > 0 {
		return errors.New("train: a checkpoint cannot be written while the batches of one update are being accumulated")
	}
	tensors := map[string]*tensor.Dense{}
	for p, s := range t.params {
		b.Updates[p.Name()], b.Rules[p.Name()] = s.n, fmt.Sprintf("%T", s.plan.rule)
		slots := s.slots
		if whole != nil {
			slots = whole[s]
		}
		for _, slot := range slots {
			tensors["optimizer/"+slot.Name+"/"+p.Name()] = slot.Data
		}
	}
	for p := range t.g.Params() {
		if direct.Data(p) == nil || p.Role() == nn.Constant {
			continue
		}
		tensors["param/"+p.Name()] = direct.Data(p)
	}
	t.averaged(func(p *nn.Param, s *state) {
		weight, average := direct.Data(p), s.ema
		if t.held {
			weight, average = average, weight
		}
		tensors["param/"+p.Name()], tensors["average/"+p.Name()] = weight, average
	})
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return onnxio.WriteFile(path, func(w io.Writer) error {
		return writeState(w, tensors, map[string]string{"graft.train": string(text)})
	})
}

// finiteHistory returns the history without numbers that JSON cannot represent.
func finiteHistory(h History) []Epoch {
	list := slices.Clone([]Epoch(h))
	for i := range list {
		val := map[string]float64{}
		for k, v := range list[i].Val {
			if finite(v) {
				val[k] = v
			}
		}
		if list[i].Val != nil {
			list[i].Val = val
		}
	}
	return list
}

// keep records the epoch's model if it is one of the best.
func (t *Trainer) keep() error {
	ep := t.history.Last()
	if t.c.Keep == 0 || slices.ContainsFunc(t.kept, func(k kept) bool { return k.Epoch == ep.Epoch }) { // the next epoch was interrupted before its first update
		return nil
	}
	v, err := t.tracker.figure(ep)
	if err != nil || !finite(v) {
		return err
	}
	list := append(slices.Clone(t.kept), kept{ep.Epoch, v, keptFile(ep.Epoch)})
	slices.SortStableFunc(list, func(a, b kept) int {
		if t.tracker.higher {
			a, b = b, a
		}
		switch {
		case a.Figure < b.Figure:
			return -1
		case a.Figure > b.Figure:
			return 1
		}
		return 0
	})
	t.kept = list[:min(len(list), t.c.Keep)]
	return nil
}

// publishKept saves the epoch's model if it is one of the best, and removes the files of models that no longer are.
func (t *Trainer) publishKept(wait context.Context, ep Epoch) error {
	if t.c.Keep == 0 {
		return nil
	}
	current := map[string]bool{}
	for _, k := range t.kept {
		if current[k.File] = true; k.Epoch != ep.Epoch {
			continue
		}
		if err := (onnxio.Saver{Wait: wait}).Save(filepath.Join(t.c.Dir, k.File), t.g); err != nil {
			return err
		}
	}
	for _, e := range t.history {
		if name := keptFile(e.Epoch); !current[name] {
			if err := disk.Remove(filepath.Join(t.c.Dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// resume reads the last checkpoint, if there is one. Everything is checked before anything is changed.
func (t *Trainer) resume() error {
	path := filepath.Join(t.c.Dir, lastState)
	_, err := os.Stat(path)
	there, e := t.ranks.share([]byte(strconv.FormatBool(!errors.Is(err, fs.ErrNotExist))))
	if e != nil || string(there) == "false" {
		return e
	}
	if err := t.Restore(path); err != nil {
		return err
	}
	t.hold(true)
	if err := t.write(func() error { return t.publish(context.Background()) }); err != nil { // the interrupted run may not have written them
		return err
	}
	t.hold(false)
	if t.c.RestoreBest && t.tracker.hasBest {
		return t.recall()
	}
	return t.write(t.checkBest)
}

// checkBest checks the model of the best epoch, which the run leaves if no later epoch is better, if it is still there.
func (t *Trainer) checkBest() error {
	path := filepath.Join(t.c.Dir, bestModel)
	if _, err := os.Stat(path); t.bestSum == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	g, err := onnxio.Load(path)
	if err != nil {
		return fmt.Errorf("train: the model of the best epoch, %s: %w", path, err)
	}
	return checkWeights(path, t.g, g, t.bestSum)
}

// Save writes a checkpoint to a file, in a training loop of your own: weights, optimizer state, averages, position and
// history. It is an error if Step has accumulated gradients: call Flush before.
func (t *Trainer) Save(path string) error {
	leave, err := t.user.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := errors.Join(t.Sync(), t.follow(context.Background())); err != nil {
		return err
	}
	whole, err := t.wholeState()
	if err != nil {
		return err
	}
	return t.write(func() error { return t.saveState(path, whole) })
}

// Restore continues from a checkpoint that Save wrote, or from that of a run with Config.Dir (its last.state): the next
// step is the one that would have followed there. The graph must be that of the checkpoint, and so must the kinds of rules, what is
// averaged, and in the middle of an epoch the order of its samples; otherwise Restore returns an error and changes nothing. Other
// settings that differ apply from now on; a Note names them. Gradients that Step has accumulated are dropped.
func (t *Trainer) Restore(path string) error {
	leave, err := t.user.enter()
	if err != nil {
		return err
	}
	defer leave()
	var b []byte
	if t.ranks.first() {
		b, err = disk.ReadFile(path)
	}
	if err := t.ranks.agree(err); err != nil {
		return err
	}
	if b, err = t.ranks.share(b); err != nil {
		return err
	}
	return t.ranks.agree(t.restore(path, b))
}

// restore is Restore for the content of the file.
func (t *Trainer) restore(path string, content []byte) error {
	tensors, text, err := decodeState(path, content)
	if err != nil {
		return err
	}
	t.abandon()
	if err := errors.Join(t.Close(), t.follow(context.Background())); err != nil {
		return err
	}
	var b notebook
	noted, err := budget.Bytes(len(text[notes]))
	if err == nil {
		copy(noted, text[notes])
		err = budget.Unmarshal(noted, &b)
	}
	if err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	if b.Progress.Batch > 0 && (b.Seed != t.c.Seed || b.Batch != t.c.batch()) {
		return fmt.Errorf("train: %s was written in the middle of an epoch with batches of %d and seed %d: the configuration has %d and %d", path, b.Batch, b.Seed, t.c.batch(), t.c.Seed)
	}
	for p, s := range t.params {
		if was, now := b.Rules[p.Name()], fmt.Sprintf("%T", s.plan.rule); was != "" && was != now {
			return fmt.Errorf("train: %s is of another optimizer, %s: the configuration has %s", path, was, now)
		}
	}
	if b.Progress.Batch > 0 {
		for _, name := range []string{"NoShuffle", "Sampler"} {
			if was, now := b.Settings[name], checksums(t.c)[name]; was != "" && was != now {
				return fmt.Errorf("train: %s was written in the middle of an epoch with another Config.%s: its samples would be in another order", path, name)
			}
		}
	}
	copies := map[*tensor.Dense]storedTensor{}
	take := func(name string, to *tensor.Dense) error {
		from, ok := tensors[name]
		if !ok {
			return &op.Error{Stage: "train", Err: fmt.Errorf("%s is not in %s: the checkpoint is of another model or configuration", name, path)}
		}
		if from.dtype != dtype.Of(to.Dtype()) || !slices.Equal(from.shape, to.Shape()) {
			return &op.Error{Stage: "train", Want: op.TypeOf(to), Got: op.Shaped(from.dtype, from.shape...), Err: fmt.Errorf("%s in %s", name, path)}
		}
		copies[to] = from
		return nil
	}
	t.hold(false)
	if err := t.eachTensor(take); err != nil {
		return err
	}
	here := map[string]bool{}
	for p := range t.g.Params() {
		here["param/"+p.Name()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if strings.HasPrefix(name, "param/") && !here[name] {
			return &op.Error{Stage: "train", Err: fmt.Errorf("%s has %s, which the graph has not: the checkpoint is of another model", path, name)}
		}
	}
	for to, from := range copies {
		from.copyTo(to)
	}
	for p := range t.g.Params() {
		p.Changed()
	}
	for p, s := range t.params {
		s.n = b.Updates[p.Name()]
	}
	t.setHistory(b.History)
	t.progress, t.tally, t.kept = b.Progress, b.Tally, b.Keep
	t.tracker.best, t.tracker.hasBest, t.tracker.bad, t.tracker.plateau = b.Best, b.HasBest, b.Bad, b.Plateau
	t.best, t.bestSum, t.order, t.reduced = nil, b.BestSum, b.Order, nil
	if other := otherSettings(b.Settings, t.c); len(other) > 0 {
		t.say(Event{Kind: Note, Text: fmt.Sprintf("%s was written with other settings: Config.%s; the run goes on with those of now", path, strings.Join(other, ", Config."))})
	}
	return nil
}

// withoutEffect are the settings that do not change what is trained, besides who is told of events: where it is written and how it is computed.
var withoutEffect = []string{"Metrics", "Workers", "Whole", "Keep", "Dir", "Resume", "Context", "OnGradient", "OnStep", "Communicator", "Runtime", "ShardState", "BucketBytes"}

// checksums returns a checksum of each setting that changes what is trained.
func checksums(c Config) map[string]string {
	sums := map[string]string{}
	for name, v := range settings(c) {
		if v.Type() != reflect.TypeFor[func(Event)]() && !slices.Contains(withoutEffect, name) {
			f := factOf(name, func(w io.Writer) { describe(w, v, 0) })
			sums[name] = fmt.Sprintf("%x", f.sum[:4])
		}
	}
	return sums
}

// otherSettings returns the names of the settings that differ from those of a checkpoint.
func otherSettings(was map[string]string, c Config) (names []string) {
	now := checksums(c)
	for name := range settings(c) {
		if sum, ok := was[name]; ok && sum != now[name] {
			names = append(names, name)
		}
	}
	return names
}

// recall reads the parameters of the best epoch before a resume.
func (t *Trainer) recall() error {
	if err := t.remember(); err != nil {
		return err
	}
	if err := t.write(t.readBest); err != nil {
		return err
	}
	var blocks [][]byte
	for p := range t.g.Params() {
		if d := t.best[p]; d != nil {
			blocks = append(blocks, dtype.Bytes(d))
		}
	}
	return t.ranks.spread(blocks...)
}

func (t *Trainer) readBest() error {
	path := filepath.Join(t.c.Dir, bestModel)
	g, err := onnxio.Load(path)
	if err != nil {
		return fmt.Errorf("train: restore the model of the best epoch, %s: %w", path, err)
	}
	stored := map[string]*tensor.Dense{}
	for p := range g.Params() {
		stored[p.Name()] = direct.Data(p)
	}
	for p, d := range t.best {
		from := stored[p.Name()]
		if from == nil || from.Dtype() != d.Dtype() || !slices.Equal(from.Shape(), d.Shape()) {
			return &op.Error{Stage: "train", Param: p.Name(), Want: op.TypeOf(d), Err: fmt.Errorf("is not in %s: it is of another model", path)}
		}
		assign(d, from)
	}
	return checkWeights(path, t.g, g, t.bestSum)
}

// eachTensor calls f with the name of every tensor that a checkpoint restores.
func (t *Trainer) eachTensor(f func(name string, d *tensor.Dense) error) error {
	for p := range t.g.Params() {
		if direct.Data(p) == nil || p.Role() == nn.Constant {
			continue
		}
		if err := f("param/"+p.Name(), direct.Data(p)); err != nil {
			return err
		}
		s := t.params[p]
		if s == nil {
			s = t.stats[p]
		}
		if s == nil {
			continue
		}
		if s.ema != nil {
			if err := f("average/"+p.Name(), s.ema); err != nil {
				return err
			}
		}
		for _, slot := range s.slots {
			if err := f("optimizer/"+slot.Name+"/"+p.Name(), slot.Data); err != nil {
				return err
			}
		}
	}
	return nil
}
