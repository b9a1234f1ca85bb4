package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
)

const divisionFile = "division.json"

// division is how a run's samples were split. A run that is resumed with another split would be validated on samples
// that it was trained on.
type division struct {
	Seed uint64 `json:"seed"`
	Fit  int    `json:"fit"`
	Val  int    `json:"val"`
}

// keepDivision stores the split in the folder of the checkpoints; with --resume it must equal the stored one.
func (t training) keepDivision(now division) error {
	if !t.process.first() {
		return nil
	}
	path := filepath.Join(t.config.Dir, divisionFile)
	if t.config.Resume && train.HasCheckpoint(t.config.Dir) {
		b, err := disk.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		then := now
		if err == nil {
			if err := budget.Unmarshal(b, &then); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		if then != now {
			return fmt.Errorf("--resume: the run has %d samples to train on, %d to validate and seed %d; with these flags they are %d, %d and %d: it would be validated on samples that it was trained on",
				then.Fit, then.Val, then.Seed, now.Fit, now.Val, now.Seed)
		}
	}
	if err := disk.MkdirAll(t.config.Dir); err != nil {
		return fmt.Errorf("cannot create the folder for checkpoints: %w", err)
	}
	return onnxio.WriteFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(now) })
}
