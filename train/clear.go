package train

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/internal/disk"
)

// ClearRun removes the files of a run from dir: checkpoints, models, history, curves and events. Other files are kept.
func ClearRun(dir string) error {
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
