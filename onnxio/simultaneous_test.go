package onnxio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
)

// TestSimultaneousSaves: goroutines and processes that save models with external data to one path, alone and as a change of the folder, and to a
// model that shares the data of another, leave complete ones and no other files. While they do, a reader finds a complete model.
func TestSimultaneousSaves(t *testing.T) {
	const variable, rounds = "GRAFT_TEST_SAVES", 3
	external := Saver{ExternalOver: 1000}
	save := func(dir string, v float32) error {
		if err := external.Save(filepath.Join(dir, "m.onnx"), constants(t, v)); err != nil {
			return err
		}
		change, err := disk.Begin(context.Background(), dir)
		if err != nil {
			return err
		}
		defer change.Discard()
		if err := change.Make("m.onnx", func(path string) error { return external.Save(path, constants(t, v)) }); err != nil {
			return err
		}
		if err := change.Commit(); err != nil && !errors.Is(err, disk.ErrOccupied) {
			return err
		}
		return external.Save(filepath.Join(dir, "copy.onnx"), constants(t, v))
	}
	if dir := os.Getenv(variable); dir != "" { // the other process
		for i := range rounds {
			if err := save(dir, float32(100+i)); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	dir := t.TempDir()
	path, shared := filepath.Join(dir, "m.onnx"), filepath.Join(dir, "copy.onnx")
	if err := external.Save(path, constants(t, 1)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 { // three that refer to the data of the first: they are not saved again
		if err := os.WriteFile(map[bool]string{true: shared, false: filepath.Join(dir, "kept"+strconv.Itoa(i)+".onnx")}[i == 0], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var writers, reader sync.WaitGroup
	other := exec.Command(os.Args[0], "-test.run=^TestSimultaneousSaves$")
	other.Env = append(os.Environ(), variable+"="+dir)
	writers.Go(func() {
		if out, err := other.CombinedOutput(); err != nil {
			t.Errorf("the other process: %v\n%s", err, out)
		}
	})
	for w := range 3 {
		writers.Go(func() {
			for i := range rounds {
				if err := save(dir, float32(2+10*w+i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, path := range []string{path, shared} {
				if g, err := Load(path); err != nil {
					t.Errorf("while it is saved: %v", err)
				} else if constantOf(g) < 0 {
					t.Errorf("while it is saved, %s is a mix", path)
				}
			}
		}
	})
	writers.Wait()
	close(done)
	reader.Wait()
	files, err := os.ReadDir(dir)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if err != nil || len(files) != 8 { // five models and the data of three
		t.Errorf("there are %v", names)
	}
	for _, f := range names {
		if filepath.Ext(f) == ".onnx" && holds(filepath.Join(dir, f)) < 0 {
			t.Errorf("%s is lost", f)
		}
	}
	for i := range 3 {
		if got := holds(filepath.Join(dir, fmt.Sprintf("kept%d.onnx", i+1))); got != 1 {
			t.Errorf("a model that shares the data is %v", got)
		}
	}
}
