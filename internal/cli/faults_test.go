package cli

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/disk/disktest"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// TestFaults: what commands write is the old or the new when the disk fails or the process is killed at any call.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("runs commands hundreds of times")
	}
	// line is a command that runs in the folder: some write the names of their arguments.
	line := func(s string) func(dir string) error {
		return func(dir string) error {
			here, err := os.Getwd()
			if err != nil {
				return err
			}
			if err := os.Chdir(dir); err != nil {
				return err
			}
			_, err = command(strings.Fields(s)...)
			return errors.Join(err, os.Chdir(here))
		}
	}
	// write is a case of two commands that write to the same place.
	write := func(name, before, after string) disktest.Case {
		return disktest.Case{Name: name, Check: readsBack, Same: withoutTimes,
			Prepare: func(dir string) error {
				if err := faultyInputs(dir); err != nil {
					return err
				}
				if before == "" {
					return nil
				}
				return line(before)(dir)
			},
			Do: line(after),
		}
	}
	apart := func(c disktest.Case) disktest.Case { c.Apart = true; return c }
	disktest.Sweep(t,
		write("run", "run m.onnx --input 1.npy -o out", "run m.onnx --input 2.npy -o out"),
		write("run npy", "", "run m.onnx --input 2.npy --npy -o out"),
		write("export-step", "export-step m.onnx --loss mse --optimizer sgd -o step.onnx", "export-step m.onnx --loss mse --optimizer adam -o step.onnx"),
		write("training info", "", "export-step m.onnx --loss mse --optimizer sgd --momentum 0.9 --training-info -o step.onnx"),
		write("generate", "generate m.onnx -o gen --package one", "generate m.onnx -o gen --package two"),
		write("annotate", "", "annotate m.onnx --glob * --set stage=4 -o m.onnx"),
		write("strip", "", "strip m.onnx --over 4"),
		write("unstrip", "strip m.onnx --over 4", "unstrip m.onnx --seed 1"),
		write("testcase", "testcase m.onnx --random 3 --seed 1 -o case", "testcase m.onnx --random 1 --seed 2 --gradients -o case"),
		write("edit", "", "edit m.onnx --batch-dim M -o m.onnx"),
		write("edit, plan", "edit m.onnx --inference --plan p.json -o o.onnx", "edit m.onnx --batch-dim M --plan p.json -o o.onnx"),
		write("prune, plan", "prune digits.onnx --target channels=0.8 --plan p.json -o small.onnx", "prune digits.onnx --target channels=0.5 --plan p.json -o small.onnx"),
		write("new", "new mlp --input 4 --classes 2 -o new.onnx", "new mlp --input 4 --classes 3 --seed 5 -o new.onnx"),
		write("lr-find", "", "lr-find digits.onnx --data digits --val digits --steps 8 -o lr.png"),
		apart(write("predict", "", "predict digits.onnx digits/0/0.png digits/1/1.png --explain gradients -o maps")),
	)
}

// faultyInputs are what the commands read.
func faultyInputs(dir string) error {
	g := nn.New("m")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Linear{Out: 3, Name: "fc", Init: initial.Ones{}, BiasInit: initial.Zeros{}}, e.Input("x", "float32[N,4]")))
	}); err != nil {
		return err
	}
	if err := onnxio.Save(filepath.Join(dir, "m.onnx"), g); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "digits.onnx"), demo.Model(), 0o644); err != nil {
		return err
	}
	for i := range 2 {
		x := dtype.New(dtype.Float32, 1, 4)
		dtype.Slice[float32](x)[i] = 1
		if err := onnxio.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.npy", i+1)), func(w io.Writer) error { return npy.Write(w, x) }); err != nil {
			return err
		}
		class := filepath.Join(dir, "digits", string(rune('0'+i)))
		if err := os.MkdirAll(class, 0o755); err != nil {
			return err
		}
		for k := range 2 {
			pic := image.NewGray(image.Rect(0, 0, 28, 28))
			pic.SetGray(10+4*i, 12+k, color.Gray{255})
			if err := onnxio.WriteFile(filepath.Join(class, fmt.Sprint(k, ".png")), func(w io.Writer) error { return png.Encode(w, pic) }); err != nil {
				return err
			}
		}
	}
	return nil
}

var written = regexp.MustCompile(`"generated_at": *"[^"]*"`)

// withoutTimes returns a file without the time at which it was written.
func withoutTimes(name string, b []byte) []byte {
	if filepath.Base(name) == "meta.json" {
		return written.ReplaceAll(b, nil)
	}
	return b
}

// readsBack reports what is wrong with a file that a command wrote.
func readsBack(path string) error {
	switch filepath.Ext(path) {
	case ".onnx":
		_, err := onnxio.Load(path)
		return err
	case ".go":
		_, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		return err
	case ".png":
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = png.Decode(f)
		return err
	}
	return nil
}
