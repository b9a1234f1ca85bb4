package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// Files in Config.Dir besides the trainer's, read by a resumed run.
const (
	planFile  = "plan.json"
	headModel = "head.onnx" // the model before all layers were trained
)

// resumed reads the plan of a run that was interrupted while training all layers.
func (t *tuning) resumed() (bool, error) {
	if !t.Config.Resume {
		return false, nil
	}
	there, err := t.ranks.share([]byte(strconv.FormatBool(t.ranks.first() && HasCheckpoint(t.Config.Dir))))
	if err != nil || string(there) == "false" {
		return false, err
	}
	path := filepath.Join(t.Config.Dir, planFile)
	var b []byte
	if t.ranks.first() {
		b, err = t.readPlan(path)
	}
	if err := t.ranks.agree(err); err != nil {
		return false, err
	}
	if b, err = t.ranks.share(b); err != nil {
		return false, err
	}
	if err := budget.Unmarshal(b, &t.plan); err != nil {
		return false, fmt.Errorf("train: %s: %w", path, err)
	}
	if sum := t.plan.Sum; sum != "" {
		if _, err := t.plan.encode(); err != nil {
			return false, err
		} else if t.plan.Sum != sum {
			return false, fmt.Errorf("train: %s: its content has the checksum %s, not %s, which was stored with it: the file is damaged", path, t.plan.Sum, sum)
		}
	}
	t.out.Head, t.views = t.plan.Head, t.plan.Views
	return true, nil
}

func (t *tuning) readPlan(path string) ([]byte, error) {
	b, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("train: %s holds the checkpoint of a run with manual settings, not of fine-tuning: resume it in the same way", t.Config.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return b, nil
}

// keepPlan saves the plan, and the model that it starts from.
func (t *tuning) keepPlan() error {
	if t.Config.Dir == "" {
		return nil
	}
	var err error
	if t.ranks.first() {
		err = t.writePlan(t.Config.Dir)
	}
	return t.ranks.agree(err)
}

func (t *tuning) writePlan(dir string) error {
	if err := disk.MkdirAll(dir); err != nil {
		return fmt.Errorf("train: cannot create the folder for checkpoints: %w", err)
	}
	if err := onnxio.Save(filepath.Join(dir, headModel), t.g); err != nil {
		return err
	}
	t.plan.HeadSum, t.plan.Views = weightSum(t.g, nil), t.views
	b, err := t.plan.encode()
	if err != nil {
		return err
	}
	return onnxio.WriteFile(filepath.Join(dir, planFile), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// encode sets the checksum of the plan and returns it as JSON.
func (p *recipe) encode() ([]byte, error) {
	p.Sum = ""
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, err
	}
	p.Sum = fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli))
	b, err = json.MarshalIndent(p, "", "  ")
	return append(b, '\n'), err
}

// floor returns the model that an interrupted run started from, nil if none was interrupted.
func (t *tuning) floor() (snapshot.Weights, error) {
	if !t.Config.Resume || t.Config.Dir == "" {
		return nil, nil
	}
	if t.ranks == nil {
		return t.readFloor()
	}
	var s snapshot.Weights
	var err error
	if t.ranks.first() {
		s, err = t.readFloor()
	}
	if err := t.ranks.agree(err); err != nil {
		return nil, err
	}
	there, err := t.ranks.share([]byte(strconv.FormatBool(s != nil)))
	if err != nil || string(there) == "false" {
		return nil, err
	}
	all, err := snapshot.Of(context.Background(), t.g)
	if err != nil {
		return nil, err
	}
	for p, d := range s {
		if to := all[p]; to != nil && slices.Equal(to.Shape(), d.Shape()) {
			assign(to, d)
		}
	}
	var blocks [][]byte
	for p := range t.g.Params() {
		if d := all[p]; d != nil {
			blocks = append(blocks, dtype.Bytes(d))
		}
	}
	return all, t.ranks.spread(blocks...)
}

func (t *tuning) readFloor() (snapshot.Weights, error) {
	path := filepath.Join(t.Config.Dir, headModel)
	g, err := onnxio.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train: the model before all layers were trained, %s: %w", path, err)
	}
	if err := checkWeights(path, t.g, g, t.plan.HeadSum); err != nil {
		return nil, err
	}
	s := snapshot.Weights{}
	for p := range g.Params() {
		v, err := t.g.Value(p.Name())
		if err != nil || v.Param() == nil || direct.Data(p) == nil || p.Role() == nn.Constant {
			continue
		}
		if s[v.Param()], err = snapshot.Copy(context.Background(), p); err != nil {
			return nil, err
		}
	}
	return s, nil
}
