package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graft-ml/graft/train"
)

// TestTakeBack: a resumed run that fails has the settings of before, unless it has written a checkpoint, wherever the clock stands.
func TestTakeBack(t *testing.T) {
	for _, clock := range []time.Duration{-time.Hour, 0, time.Hour} {
		for _, progressed := range []bool{false, true} {
			dir := t.TempDir()
			state, settings := filepath.Join(dir, "last.state"), filepath.Join(dir, settingsFile)
			checkpoint := func(at time.Time) {
				for name, text := range map[string]string{state + ".new": "state", settings: "new"} {
					if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := errors.Join(os.Rename(state+".new", state), os.Chtimes(state, at, at)); err != nil {
					t.Fatal(err)
				}
			}
			checkpoint(time.Now().Add(clock))
			info, err := os.Stat(state)
			if err != nil {
				t.Fatal(err)
			}
			r := &training{config: train.Config{Dir: dir}, earlier: []byte("old"), resumed: info}
			if progressed {
				checkpoint(time.Now().Add(clock - time.Minute))
			}
			if err := r.takeBack(errors.New("failed")); err != nil {
				t.Fatal(err)
			}
			want := map[bool]string{false: "old", true: "new"}[progressed]
			if b, err := os.ReadFile(settings); err != nil || string(b) != want {
				t.Errorf("clock %v, progressed %v: %q, %v", clock, progressed, b, err)
			}
		}
	}
}
