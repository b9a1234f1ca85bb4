package train_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/disk/disktest"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// TestFaults: a run on a disk that fails, or that is killed at any call: what is there loads, and the run resumed ends with the files of
// one that nothing interrupted.
func TestFaults(t *testing.T) {
	fit, val := blobs(60, 1), blobs(20, 2)
	config := train.Config{Batch: 16, Seed: 3, EMA: 0.9, Rule: optim.Adam{LR: 0.02}, Keep: 2, Monitor: "accuracy", RestoreBest: true, Resume: true, Workers: 1}
	stopped := errors.New("stop")
	run := func(dir string, epochs int) error {
		c := quiet(config)
		c.Epochs, c.Dir = 3, dir
		tr, err := train.New(small(t), c)
		if err != nil {
			return err
		}
		for e, err := range tr.Epochs(context.Background(), fit, val) {
			if err != nil {
				return err
			}
			if e.Epoch == epochs && epochs < 3 {
				return stopped
			}
		}
		return nil
	}
	disktest.Sweep(t, disktest.Case{
		Name: "resume", Apart: true, Check: runFile, Same: withoutTimes,
		Prepare: func(dir string) error {
			if err := run(dir, 1); err != stopped {
				return fmt.Errorf("the first epoch: %w", err)
			}
			return nil
		},
		Do: func(dir string) error { return run(dir, 3) },
	}, disktest.Case{
		Name: "fine-tune", Apart: true, Check: runFile, Same: withoutTimes,
		Prepare: func(string) error { return nil },
		Do: func(dir string) error {
			c := quiet(config)
			c.Dir, c.Epochs, c.Keep = dir, 1, 0
			_, err := train.FineTuner{Policy: train.Full, Config: c}.FineTune(context.Background(), small(t), fit, val)
			return err
		},
	})
}

// runFile reports what is wrong with a file of a run.
func runFile(path string) error {
	switch filepath.Ext(path) {
	case ".onnx":
		_, err := onnxio.Load(path)
		return err
	case ".state":
		b, err := os.ReadFile(path)
		if err == nil && len(b) < 8 || uint64(len(b)) < 8+binary.LittleEndian.Uint64(b) {
			err = errors.New("is cut off")
		}
		return err
	case ".json":
		b, err := os.ReadFile(path)
		if err == nil && !json.Valid(b) {
			err = errors.New("is no JSON")
		}
		return err
	}
	return nil
}

// seconds matches what differs between two runs in the header of a state file: times, and the checksum.
var seconds = regexp.MustCompile(`\\"seconds\\":[-+.e0-9]+|"graft.crc32c":"[0-9a-f]{8}"`)

// withoutTimes returns what two runs have in common: all but the time they took.
func withoutTimes(name string, b []byte) []byte {
	switch {
	case strings.HasSuffix(name, ".png"):
		return nil
	case strings.HasSuffix(name, ".csv"):
		var out [][]byte
		for line := range bytes.Lines(b) {
			out = append(out, bytes.Join(bytes.Split(line, []byte(","))[:2], []byte(",")))
		}
		return bytes.Join(out, []byte("\n"))
	case strings.HasSuffix(name, ".state"):
		n := 8 + binary.LittleEndian.Uint64(b) // the header's length is that of its text
		return append(bytes.TrimRight(seconds.ReplaceAll(b[8:n], nil), " "), b[n:]...)
	}
	return b
}
