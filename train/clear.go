package train

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ClearRun removes from dir what runs leave there: checkpoints, models, history, curves and events. Other files stay.
func ClearRun(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	for _, e := range entries {
		for _, pattern := range []string{lastState, lastModel, bestModel, historyFile, curvesFile, planFile, headModel, "epoch-*.onnx", "events.out.tfevents.*"} {
			if ok, err := filepath.Match(pattern, e.Name()); err != nil || !ok {
				continue
			}
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("train: %w", err)
			}
		}
	}
	return nil
}
