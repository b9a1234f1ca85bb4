package onnxio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/disk/disktest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// constants returns a model that adds a constant, v, to its input.
func constants(t testing.TB, v float32) *nn.Graph {
	t.Helper()
	w := dtype.New(dtype.Float32, 2000)
	for i := range dtype.Slice[float32](w) {
		dtype.Slice[float32](w)[i] = v
	}
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Node(op.Plain("Add"), e.Input("x", "float32[2000]"), e.Const("w", w)).Outputs()[0])
	}); err != nil {
		t.Fatal(err)
	}
	return g
}

// holds returns the constant of the model at path; -1: it cannot be loaded, or its constants differ.
func holds(path string) float32 {
	g, err := Load(path)
	if err != nil {
		return -1
	}
	return constantOf(g)
}

// constantOf returns the constant of a model; -1: it has none, or they differ.
func constantOf(g *nn.Graph) float32 {
	for p := range g.Params() {
		d := dtype.Slice[float32](p.Data())
		if slices.Min(d) == slices.Max(d) {
			return d[0]
		}
	}
	return -1
}

// TestSaveIsOneCommit: whichever call fails, once or as the last of a machine that goes down, the folder
// holds the old model or the new one, and the error says which.
func TestSaveIsOneCommit(t *testing.T) {
	saver := Saver{ExternalOver: 1000}
	inline := Saver{}
	for _, kind := range []struct{ old, new Saver }{{saver, saver}, {inline, saver}, {saver, inline}} {
		for _, down := range []bool{false, true} {
			for n := 1; ; n++ {
				path := filepath.Join(t.TempDir(), "m.onnx")
				if err := kind.old.Save(path, constants(t, 1)); err != nil {
					t.Fatal(err)
				}
				fault := disktest.Fails
				if down {
					fault = disktest.Down
				}
				calls, restore := disktest.Install(n, fault)
				err := kind.new.Save(path, constants(t, 2))
				restore()
				switch got := holds(path); {
				case got != 1 && got != 2:
					t.Fatalf("call %d, down %v: the model is lost: %v", n, down, err)
				case err == nil && got != 2 || err != nil && got != 1:
					t.Fatalf("call %d, down %v: the model is %v, the error %v", n, down, got, err)
				}
				files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
				if hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); !down {
					if files = append(files, hidden...); err != nil && len(files) > 2 {
						t.Errorf("call %d leaves %v", n, files)
					}
				}
				// The next save works and cleans up.
				if err := kind.new.Save(path, constants(t, 3)); err != nil || holds(path) != 3 {
					t.Fatalf("call %d, then: %v", n, err)
				}
				if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(files) > 2 {
					t.Errorf("call %d, then: %v", n, files)
				}
				if calls() < n {
					break
				}
			}
		}
	}
}

// TestSaveBesideEdit: what is written is the graph before an edit or after it.
func TestSaveBesideEdit(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[4]")
		for range 20 {
			x = e.Node(op.Plain("Relu"), x).Outputs()[0]
		}
		e.Output("y", x)
	}); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		for range 50 {
			if err := g.Edit(func(e *nn.Edit) {
				e.Insert(e.Inputs()[0], layers.Sigmoid{})
			}); err != nil {
				t.Error(err)
			}
			runtime.Gosched()
			if err := g.Edit(func(e *nn.Edit) { e.Remove(e.Find(nn.Ops("Sigmoid"))) }); err != nil {
				t.Error(err)
			}
		}
		close(done)
	})
	for worker := range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				var b bytes.Buffer
				if err := Write(&b, g); err != nil {
					t.Error(err)
					return
				}
				read, err := Read(&b)
				if err != nil {
					t.Error(err)
					return
				}
				n := len(slices.Collect(read.Nodes()))
				if n != 20 && n != 21 {
					t.Errorf("%d nodes are written", n)
				}
				if worker == 1 {
					continue
				}
				if _, err := g.Run(context.Background(), dtype.New(dtype.Float32, 4)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// TestWriteModelStreams: a streamed model has the bytes of a marshalled one.
func TestWriteModelStreams(t *testing.T) {
	g := constants(t, 1)
	m, err := Saver{}.encode(g)
	if err != nil {
		t.Fatal(err)
	}
	var streamed, whole bytes.Buffer
	if err := errors.Join(m.write(t.Context(), &streamed), writeMessage(&whole, m.ModelProto)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(streamed.Bytes(), whole.Bytes()) {
		t.Errorf("%d bytes differ from the %d", streamed.Len(), whole.Len())
	}
	w := dtype.New(dtype.Float32, 16<<20)
	if err := g.Edit(func(e *nn.Edit) { e.Output("big", e.Const("large", w)) }); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := Write(io.Discard, g); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Error(fmt.Sprint(n, " bytes are allocated to write 64 MiB"))
	}
}
