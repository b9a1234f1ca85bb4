package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/terminal"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// saveModel writes a model, and reports on standard error what the file cannot hold.
func saveModel(path string, g *nn.Graph) error { return saver.Save(path, g) }

// storage is the flag that selects the type in which weights are stored.
type storage struct{ weights string }

func (s *storage) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.weights, "store", "", "type to store weights in: float16 or bfloat16 halves the file, the model still computes in float32; default: unchanged")
}

var storedTypes = map[string]dtype.DType{"": 0, "float32": dtype.Float32, "float64": dtype.Float64, "float16": dtype.Float16, "bfloat16": dtype.BFloat16}

func (s storage) check() error {
	if _, ok := storedTypes[strings.ToLower(s.weights)]; !ok {
		return fmt.Errorf("--store %s: want float16, bfloat16, float32 or float64", s.weights)
	}
	return nil
}

// save writes a model with its weights in the wanted type.
func (s storage) save(path string, g *nn.Graph) error {
	to := saver
	to.DType = storedTypes[strings.ToLower(s.weights)]
	return to.Save(path, g)
}

var saver = onnxio.Saver{Warn: func(err error) { fmt.Fprintln(os.Stderr, "warning:", terminal.Escape(err.Error())) }}

// foreignFiles are the endings of other programs' models, and of data.
var foreignFiles = []string{".h5", ".keras", ".pt", ".pth", ".tflite", ".safetensors", ".pkl", ".joblib", ".csv", ".npz"}

// checkOutput is checkFile for the model of -o, which must be given.
func checkOutput(path string) error {
	if path == "" {
		return errors.New("missing -o FILE, the file to write the model to")
	}
	if ext := filepath.Ext(path); slices.Contains(foreignFiles, strings.ToLower(ext)) {
		return fmt.Errorf("-o %s: models are written as ONNX: want a name such as %s.onnx", path, strings.TrimSuffix(path, ext))
	}
	return checkFile("-o", path)
}

// checkFile checks that the file of a flag can be written, before any work is done for it. No path is no file.
func checkFile(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s %s: is a folder, want a file", flag, path)
	}
	if err := disk.CheckFile(path); err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err // the path is of no interest
		}
		if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s %s: cannot be written: no such file or folder: %s", flag, path, dir)
		}
		return fmt.Errorf("%s %s: cannot be written: %w", flag, path, err)
	}
	return nil
}

// checkEnding refuses a file of a flag whose extension is that of another format.
func checkEnding(flag, path string, endings ...string) error {
	if ext := strings.ToLower(filepath.Ext(path)); path == "" || ext == "" || slices.Contains(endings, ext) {
		return nil
	}
	return fmt.Errorf("%s %s: want a name that ends in %s", flag, path, strings.Join(endings, " or "))
}

// saveTogether writes files of a folder, by their names, all of them or none.
func saveTogether(ctx context.Context, dir string, files map[string]func(path string) error) error {
	change, err := disk.Begin(ctx, dir)
	if err != nil {
		return err
	}
	defer change.Discard()
	for name, save := range files {
		if err := change.Make(name, save); err != nil {
			return err
		}
	}
	return change.Commit()
}

// planFile is the file of --plan; "": there is none.
type planFile string

// check is checkFile for the plan of a model that is written to output.
func (f planFile) check(output string) error {
	if f != "" && filepath.Clean(string(f)) == filepath.Clean(output) {
		return fmt.Errorf("--plan %s is also the file of -o: choose another name", f)
	}
	return checkFile("--plan", string(f))
}

// alone writes a plan without its model.
func (f planFile) alone(plan []byte) error {
	if f == "" {
		return nil
	}
	return f.write(string(f), plan)
}

// write writes a plan to a path.
func (f planFile) write(path string, plan []byte) error {
	return onnxio.WriteFile(path, func(w io.Writer) error { _, err := w.Write(plan); return err })
}

// save writes a plan, and a model to output by save: in one folder both or neither, otherwise the plan first.
func (f planFile) save(ctx context.Context, plan []byte, output string, save func(path string) error) error {
	file, dir := string(f), filepath.Dir(output)
	if f == "" {
		return save(output)
	}
	if filepath.Dir(file) != dir || special(file) || special(output) {
		if err := f.write(file, plan); err != nil {
			return err
		}
		return save(output)
	}
	return saveTogether(ctx, dir, map[string]func(path string) error{
		filepath.Base(output): save,
		filepath.Base(file):   func(path string) error { return f.write(path, plan) },
	})
}

// special reports whether a path is that of something that is not replaced, such as a pipe or /dev/null.
func special(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// apartFromOutput returns an error if a flag of a command names the file that -o replaces, other than a model: data, a tokenizer, a recipe.
func apartFromOutput(cmd *cobra.Command) (err error) {
	out := cmd.Flags().Lookup("output")
	if out == nil || !out.Changed {
		return nil
	}
	to, e := os.Stat(out.Value.String())
	if e != nil || !to.Mode().IsRegular() || strings.EqualFold(filepath.Ext(out.Value.String()), ".onnx") {
		return nil
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			for _, path := range []string{v, v[strings.IndexByte(v, '=')+1:]} { // NAME=FILE
				if from, e := os.Stat(path); f.Name != out.Name && e == nil && os.SameFile(from, to) {
					err = fmt.Errorf("-o %s is also the file of --%s, which would be lost: choose another name", out.Value, f.Name)
				}
			}
		}
	})
	return err
}
