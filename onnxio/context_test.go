package onnxio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
)

// manyParts returns a model with many nodes, an initializer of 12 MiB and a subgraph.
func manyParts(t *testing.T, nodes int) *nn.Graph {
	g := nn.New("m")
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[1]")
		for range nodes {
			x = e.Node(op.Plain("Relu"), x).Out(0)
		}
		w := e.Const("w", dtype.New(dtype.Float32, 3<<20))
		e.Output("y", e.Node(op.Plain("Add"), x, w).Out(0))
	})
	return g
}

// Loading and saving end at any look at their context, of which there are some for each node and for each few megabytes of a file.
func TestLoadAndSaveCheck(t *testing.T) {
	dir := t.TempDir()
	const nodes = 300
	g := manyParts(t, nodes)
	inside, beside := filepath.Join(dir, "inside.onnx"), filepath.Join(dir, "beside.onnx")
	if err := onnxio.Save(inside, g); err != nil {
		t.Fatal(err)
	}
	if err := (onnxio.Saver{ExternalOver: 1 << 10}).Save(beside, g); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(inside)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(ctx context.Context) error{
		"load":          func(ctx context.Context) error { _, err := onnxio.Loader{Context: ctx}.Load(inside); return err },
		"external data": func(ctx context.Context) error { _, err := onnxio.Loader{Context: ctx}.Load(beside); return err },
		"file system": func(ctx context.Context) error {
			_, err := onnxio.Loader{Context: ctx, FS: os.DirFS(dir)}.Load("beside.onnx")
			return err
		},
		"read": func(ctx context.Context) error {
			_, err := onnxio.Loader{Context: ctx}.Read(bytes.NewReader(whole))
			return err
		},
		"save": func(ctx context.Context) error {
			return onnxio.Saver{Context: ctx}.Save(filepath.Join(dir, "out.onnx"), g)
		},
		"save external data": func(ctx context.Context) error {
			return onnxio.Saver{Context: ctx, ExternalOver: 1 << 10}.Save(filepath.Join(dir, "out.onnx"), g)
		},
		"write": func(ctx context.Context) error { return onnxio.Saver{Context: ctx}.Write(new(bytes.Buffer), g) },
	} {
		t.Run(name, func(t *testing.T) {
			ended, cancel := context.WithCancel(t.Context()) // one that can end is looked at
			defer cancel()
			ctx := &kerneltest.EndsAfter{Context: ended, Left: 1 << 30}
			if err := f(ctx); err != nil {
				t.Fatal(err)
			}
			looks, charged := 1<<30-ctx.Left, budgettest.Used()
			if looks < nodes+3 {
				t.Errorf("looked %d times", looks)
			}
			for n := 0; n < looks; n += 1 + looks/13 {
				if err := f(&kerneltest.EndsAfter{Context: ended, Left: n}); !errors.Is(err, context.Canceled) {
					t.Errorf("ended after %d of %d looks: %v", n, looks, err)
				}
			}
			if now := budgettest.Used(); now > charged {
				t.Errorf("%d bytes are charged for what ended", now-charged)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Error(fmt.Sprint("left ", left))
			}
		})
	}
}

// Saver.Wait ends nothing but the wait for others, of whom there are none.
func TestWaitDoesNotEndSaving(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	path, g := filepath.Join(t.TempDir(), "m.onnx"), manyParts(t, 3)
	if err := (onnxio.Saver{Wait: ended}).Save(path, g); err != nil {
		t.Error(err)
	}
	if err := (onnxio.Saver{Context: ended}).Save(path, g); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Each stage of saving that handles every node or parameter looks at the context: a stage without looks takes a tenth of a second from some 50,000 on.
func TestStagesOfSavingLook(t *testing.T) {
	g := nn.New("m")
	const n = 5000
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[1]")
		for i := range n {
			x = e.Node(op.Plain("Add"), x, e.Param(fmt.Sprint("w", i), initial.Ones{}, 1)).Out(0)
		}
		e.Output("y", x)
	})
	ended, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := &kerneltest.Looks{Context: ended}
	if err := (onnxio.Saver{Context: seen}).Save(filepath.Join(t.TempDir(), "m.onnx"), g); err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"ForkUntil", "weightsInNodes", "settle", "trace", "initializers", "(*writer).graph", "sizeOf", "(*serializer).message"} {
		if got := seen.In(stage); got < n/(1<<10) {
			t.Errorf("%s looks %d times for %d nodes", stage, got, n)
		}
	}
}
