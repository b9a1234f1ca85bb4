package train

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/internal/disk"
)

// ClearRun removes the files of a run from dir: checkpoints, models, history, curves and events. Other files are kept. It is an error if another
// process is training there.
func ClearRun(dir string) error {
	release, err := disk.Occupy(dir)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	defer release()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	// The state first: without it the remaining files are not taken for a run.
	if err := disk.Remove(filepath.Join(dir, lastState)); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		for _, pattern := range []string{lastModel, bestModel, historyFile, curvesFile, planFile, headModel, keptModels, "events.out.tfevents.*"} {
			if ok, err := filepath.Match(pattern, e.Name()); err != nil || !ok {
				continue
			}
			if err := disk.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("train: %w", err)
			}
		}
	}
	return nil
}

// occupy reserves the folder of a run for this process; "" is none. Of several ranks the first one does, and all return its error.
func (r *ranks) occupy(dir string) (release func(), err error) {
	release = func() {}
	if dir != "" && r.first() {
		if err = disk.MkdirAll(dir); err != nil {
			err = fmt.Errorf("train: cannot create the folder for checkpoints: %w", err)
		} else if release, err = disk.Occupy(dir); err != nil {
			err = fmt.Errorf("train: the folder for checkpoints: %w", err)
		}
	}
	if e := r.agree(err); e != nil {
		if err == nil {
			release()
		}
		return nil, e
	}
	return release, nil
}
