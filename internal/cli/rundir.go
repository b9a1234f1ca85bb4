package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
)

// settlePlaces determines where the run writes to; of several processes, only the first one writes.
func (t *training) settlePlaces() error {
	if !t.process.first() {
		t.config.Dir = "." // not written to
		return nil
	}
	if err := checkOutput(t.output); err != nil {
		return err
	}
	if err := t.settleDir(); err != nil {
		return err
	}
	t.process.mu.Lock()
	defer t.process.mu.Unlock()
	t.process.dir = t.config.Dir
	return nil
}

// save writes the trained model.
func (t *training) save(g *nn.Graph) error {
	if !t.process.first() {
		return nil
	}
	return t.storage.save(t.output, g)
}

// written returns the path of the model and the content of the run's folder; without epochs there are no checkpoints.
func (t training) written() string {
	what := "checkpoints, history and curves"
	if !train.HasCheckpoint(t.config.Dir) {
		what = "recipe"
	}
	return fmt.Sprintf("model %s; %s in %s", t.output, what, t.config.Dir)
}

// interruption adds the way to resume to the error of an interrupted run.
func (t training) interruption(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	text := err.Error() // from another rank
	if ctx.Err() != nil {
		text = context.Cause(ctx).Error()
	}
	if t.process.first() && train.HasCheckpoint(t.config.Dir) {
		text += "; " + goesOn(t.config.Dir)
	}
	return plain{text, err}
}

// settleDir chooses the folder of a run. If a folder holds another run, the next number is used, out-2.run after out.run, unless
// --resume continues that run or --force overwrites it; --resume without --dir continues the latest.
func (t *training) settleDir() error {
	c := &t.config
	stem, ext := strings.TrimSuffix(t.output, ".onnx"), ".run"
	if c.Dir != "" {
		stem = strings.TrimRight(c.Dir, string(filepath.Separator))
		if filepath.Ext(stem) != ext {
			ext = ""
		}
		stem = strings.TrimSuffix(stem, ext)
	}
	numbered := func(n int) string {
		if n == 1 {
			return stem + ext
		}
		return fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	given := c.Dir != ""
	c.Dir = numbered(1)
	if c.Resume && t.force {
		return errors.New("--resume and --force exclude each other")
	}
	taken := 0
	for train.HasCheckpoint(numbered(taken + 1)) {
		taken++
	}
	switch {
	case c.Resume && !given:
		c.Dir = numbered(max(taken, 1))
	case c.Resume || taken == 0:
	case t.force && t.dryRun:
	case t.force:
		return train.ClearRun(c.Dir)
	default:
		c.Dir = numbered(taken + 1)
		t.notes = append(t.notes, fmt.Sprintf("%s holds another run, so this one is written to %s (--resume continues a run, --force overwrites it)", numbered(taken), c.Dir))
	}
	return nil
}

// dropSettings removes the folder of a failed run if it only has the settings of the run, and nothing to continue from.
func dropSettings(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		events, _ := filepath.Match("events.out.tfevents.*", e.Name())
		if e.Name() != settingsFile && e.Name() != divisionFile && !events {
			return
		}
	}
	_ = disk.RemoveAll(dir)
}
