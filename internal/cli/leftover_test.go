package cli

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/disk/disktest"
)

// endsAt is a context that is canceled when it has been looked at a number of times.
type endsAt struct {
	context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	left   int
}

func (c *endsAt) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		c.cancel()
	}
}

func (c *endsAt) Err() error {
	c.look()
	return c.Context.Err()
}

func (c *endsAt) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

// Testcase and export-step leave no files of their own if a call of the system fails or a signal comes, and no error names one.
func TestNothingTemporary(t *testing.T) {
	run := func(ctx context.Context, line string) error {
		root := newRoot()
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		root.SetArgs(strings.Fields(line))
		return root.ExecuteContext(ctx)
	}
	list := func() []string {
		var names []string
		if err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
			names = append(names, path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return names
	}
	for _, c := range []struct{ before, line string }{
		{"", "testcase m.onnx --random 2 --gradients -o case"}, {"testcase m.onnx --random 1 -o case", "testcase m.onnx --random 2 --strip=0 -o case"},
		{"", "export-step m.onnx --loss mse --optimizer adam -o step.onnx"}, {"export-step m.onnx --loss mse --optimizer sgd -o step.onnx", "export-step m.onnx --loss mse --optimizer adam -o step.onnx"},
	} {
		prepared := t.TempDir()
		t.Chdir(prepared)
		if err := faultyInputs(prepared); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll("digits"); err != nil {
			t.Fatal(err)
		}
		if c.before != "" {
			if err := run(t.Context(), c.before); err != nil {
				t.Fatal(err)
			}
		}
		known := list()
		begin := func() {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(prepared)); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
		}
		begin()
		calls, restore := disktest.Install(0, disktest.Fails)
		err := run(t.Context(), c.line)
		restore()
		if err != nil {
			t.Fatal(c.line, err)
		}
		known = append(known, list()...)
		check := func(what string, n int, err error) {
			for _, name := range list() {
				if !slices.Contains(known, name) {
					t.Errorf("%s, %s %d, %v: %s remains", c.line, what, n, err, name)
				}
			}
			if err != nil && (strings.Contains(err.Error(), ".graft") || strings.Contains(err.Error(), ".tmp")) {
				t.Errorf("%s, %s %d: the error names a temporary file: %v", c.line, what, n, err)
			}
		}
		failed := 0
		for n := 1; n <= calls(); n += 2 {
			begin()
			_, restore := disktest.Install(n, disktest.Fails)
			remove, removed := disk.System.Remove, true
			disk.System.Remove = func(name string) error {
				err := remove(name)
				removed = removed && err == nil
				return err
			}
			err := run(t.Context(), c.line)
			restore()
			if err != nil {
				failed++
			}
			if removed { // otherwise the disk keeps what is to be removed
				check("call", n, err)
			}
		}
		interrupted := 0
		for n := 0; ; n += 1 + n/4 {
			begin()
			ctx, cancel := context.WithCancel(t.Context())
			err := run(&endsAt{Context: ctx, cancel: cancel, left: n}, c.line)
			cancel()
			check("look", n, err)
			if err == nil {
				break
			}
			interrupted++
		}
		if failed == 0 || interrupted == 0 && strings.HasPrefix(c.line, "testcase") { // export-step takes no context
			t.Errorf("%s: %d failures, %d interruptions", c.line, failed, interrupted)
		}
	}
}

// What a recipe quotes is shortened.
func TestRecipeErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, text := range []string{
		`{"steps":[{"do":"` + long + `"}]}`, `{"steps":[{"do":"freeze","` + long + `":1}]}`, `{"steps":[{"do":"prune","prefer":"` + long + `"}]}`, `{"steps":` + strings.Repeat("1", 3000) + `}`,
		`{"steps":[{"do":"widen","at":["a"],"factor":` + strings.Repeat("9", 3000) + `}]}`,
	} {
		if _, err := decodeRecipe("r.json", bytes.NewReader([]byte(text))); err == nil || len(err.Error()) > 700 {
			t.Errorf("%.60s: %.1000v", text, err)
		}
	}
}
