package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// Files in Config.Dir beside the trainer's, which a resumed run reads.
const (
	planFile  = "plan.json"
	headModel = "head.onnx" // the model before all layers were trained
)

// resumed reads the plan of a run that was interrupted while it trained all layers.
func (t *tuning) resumed() (bool, error) {
	if !t.Config.Resume || !HasCheckpoint(t.Config.Dir) {
		return false, nil
	}
	path := filepath.Join(t.Config.Dir, planFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("train: %s holds the checkpoint of a run that was set by hand: resume it with the same settings", t.Config.Dir)
	}
	if err != nil {
		return false, fmt.Errorf("train: %w", err)
	}
	if err := json.Unmarshal(b, &t.plan); err != nil {
		return false, fmt.Errorf("train: %s: %w", path, err)
	}
	t.out.Head = t.plan.Head
	return true, nil
}

// keepPlan writes down the plan, and the model that it begins with.
func (t *tuning) keepPlan() error {
	dir := t.Config.Dir
	if dir == "" {
		return nil
	}
	if err := disk.MkdirAll(dir); err != nil {
		return fmt.Errorf("train: there is no place for checkpoints: %w", err)
	}
	if err := onnxio.Save(filepath.Join(dir, headModel), t.g); err != nil {
		return err
	}
	return onnxio.WriteFile(filepath.Join(dir, planFile), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(t.plan)
	})
}

// floor is the model that an interrupted run began with, nil where none was interrupted.
func (t *tuning) floor() (snapshot, error) {
	if !t.Config.Resume || t.Config.Dir == "" {
		return nil, nil
	}
	g, err := onnxio.Load(filepath.Join(t.Config.Dir, headModel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := snapshot{}
	for p := range g.Params() {
		v, err := t.g.Value(p.Name())
		if err != nil || v.Param() == nil || p.Data() == nil || p.Role() == nn.Constant {
			continue
		}
		s[v.Param()] = dtype.Clone(p.Data())
	}
	return s, nil
}
