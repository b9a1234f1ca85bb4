package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/internal/terminal"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"
)

// runner holds the flags of the run command.
type runner struct {
	source
	preparing
	inputs, want []string
	output       string
	testcase     string
	npy, asJSON  bool
	runtime      runtimeFlags
	notes        io.Writer
}

func newRun(p *process) *cobra.Command {
	r := runner{runtime: runtimeFlags{process: p}}
	cmd := &cobra.Command{
		Use:   "run MODEL",
		Short: "Run a model on input files and print or store its outputs",
		Long: `Each --input is NAME=FILE: an array (.npy), an archive with an array named after the input (.npz), a serialized tensor (.pb), or
an image (.png, .jpg, .gif, …) if the input has the shape of one, [N, channels, height, width] or [N, height, width, channels].
With a single input the name may be omitted.

` + preparingHelp + `

The names, types and first elements of the outputs are printed; --output DIR writes them as tensors in the layout of ONNX's test
cases (output_0.pb …) or, with --npy, as arrays.`,
		Example: `  graft run squeezenet1.1.onnx --input data_0=cat.jpg
  graft run model.onnx --input ids=ids.npy --input mask=mask.npy --output results/
  graft run model.onnx --input x.pb --testcase report/
  graft run model.onnx --input x.pb --want encoder/Relu_3 --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return fmt.Errorf("want one MODEL, got 2 arguments %q: a value of an input goes with --input %s", args, args[1])
			}
			return oneModel(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.notes = cmd.ErrOrStderr()
			rt, err := r.runtime.open(cmd)
			if err != nil {
				return err
			}
			if rt != nil && r.testcase != "" {
				return errors.New("--testcase records the outputs of graft's own engine: leave out --runtime")
			}
			return r.run(cmd.Context(), cmd.OutOrStdout(), args[0], rt)
		},
	}
	r.source.flags(cmd)
	r.preparing.flags(cmd)
	r.runtime.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&r.inputs, "input", nil, "NAME=FILE, the value of an input; repeatable")
	f.StringArrayVar(&r.want, "want", nil, "value to compute, by name, intermediate ones included; repeatable; default: the outputs")
	f.StringVarP(&r.output, "output", "o", "", "folder to write the outputs to")
	f.StringVar(&r.testcase, "testcase", "", "folder to record model, inputs and outputs in, as a test case for graft verify")
	f.BoolVar(&r.npy, "npy", false, "write outputs as NAME.npy")
	f.BoolVar(&r.asJSON, "json", false, "print one JSON object per output: name, type, shape, data")
	return cmd
}

func (r runner) run(ctx context.Context, w io.Writer, model string, rt Runtime) error {
	g, err := r.loadToRun(model)
	if err != nil {
		return err
	}
	feed, err := r.feed(ctx, g)
	if err != nil {
		return err
	}
	if len(r.inputs) == 0 && slices.ContainsFunc(g.Inputs(), func(v *nn.Value) bool { return v.Param() == nil && v.Type().Kind == op.Tensor }) {
		return fmt.Errorf("missing --input NAME=FILE for the inputs %v", ports(g.Inputs()))
	}
	if r.testcase != "" {
		return r.capture(ctx, w, g, feed)
	}
	names := r.want
	if len(names) == 0 {
		for _, v := range g.Outputs() {
			names = append(names, v.Name())
		}
	}
	eval := g.Eval
	if rt != nil {
		eval = func(ctx context.Context, feed nn.Feed, names ...string) (nn.Feed, error) {
			return evalIn(ctx, rt, g, feed, names)
		}
	}
	out, err := eval(ctx, feed, names...)
	if err != nil {
		return err
	}
	if err := r.store(ctx, names, out); err != nil {
		return err
	}
	for _, name := range names {
		if err := r.show(w, onnxio.NamedValue{Name: name, Value: out[name]}); err != nil {
			return err
		}
	}
	return r.classes(w, g, out)
}

// feed reads the values of --input.
func (r runner) feed(ctx context.Context, g *nn.Graph) (nn.Feed, error) {
	feed := nn.Feed{}
	for _, s := range r.inputs {
		name, file, ok := cutInput(g, s)
		switch {
		case !ok && len(g.Inputs()) == 1:
			name, file = g.Inputs()[0].Name(), s
		case !ok:
			return nil, fmt.Errorf("--input %s: want NAME=FILE, the model has the inputs %v", s, ports(g.Inputs()))
		}
		v, err := g.Value(name)
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w; the model has the inputs %v", s, err, ports(g.Inputs()))
		}
		if feed[name] != nil {
			return nil, fmt.Errorf("--input %s: %s has a value already", s, name)
		}
		if feed[name], err = r.read(ctx, g, v, file); err != nil {
			return nil, fmt.Errorf("input %s: %w", name, err)
		}
	}
	return feed, nil
}

// capture writes the inputs and outputs of the model as a test case; a second run into the same folder adds a data set.
func (r runner) capture(ctx context.Context, w io.Writer, g *nn.Graph, feed nn.Feed) error {
	if len(r.want) > 0 {
		return errors.New("--testcase records the outputs: leave --want out")
	}
	out, err := conformance.CaseWriter{KeepModel: true}.Export(ctx, g, r.testcase, feed)
	if err != nil {
		return err
	}
	for _, v := range g.Outputs() {
		if err := r.show(w, onnxio.NamedValue{Name: v.Name(), Value: out[0][v.Name()]}); err != nil {
			return err
		}
	}
	return nil
}

// cutInput splits NAME=FILE. If there are several "=", the name is the longest prefix that names an input.
func cutInput(g *nn.Graph, s string) (name, file string, ok bool) {
	for i := strings.LastIndex(s, "="); i >= 0; i = strings.LastIndex(s[:i], "=") {
		if slices.ContainsFunc(g.Inputs(), func(v *nn.Value) bool { return v.Name() == s[:i] }) {
			return s[:i], s[i+1:], true
		}
	}
	return strings.Cut(s, "=")
}

// read reads a value for input v from a file, in the format of its extension.
func (r runner) read(ctx context.Context, g *nn.Graph, v *nn.Value, file string) (value, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".npy":
		f, err := disk.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		x, err := npy.Read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return r.numbersOf(file, x)
	case ".npz":
		x, note, err := fromArchive(file, v.Name(), len(g.Inputs()) == 1)
		if note != "" {
			fmt.Fprintln(r.notes, note)
		}
		if err != nil {
			return nil, err
		}
		return r.numbersOf(file, x)
	case ".pb":
		f, err := disk.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		x, err := onnxio.ReadValue(f, v.Type())
		return x.Value, err
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a file; graft predict answers for all images of a folder", file)
	}
	if filepath.Ext(file) != "" && !imagefile.Named(file) {
		if _, err := os.Stat(file); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: want an array (.npy, .npz), a tensor (.pb) or an image", file)
	}
	p, err := r.settle(ctx, g, v.Type(), func(base data.Preprocess) ([]*tensor.Dense, error) {
		plain := data.Preprocess{Size: base.Size, Width: base.Width, Crop: base.Crop, Gray: base.Gray}
		x, err := plain.Eval(data.ImageFile{Path: file, Class: -1}, nil)
		return x.X, err
	})
	if err != nil {
		return nil, err
	}
	tellFound(r.notes, p)
	return p.Open(file)
}

// fromArchive returns the array of an .npz file with the name of an input. With alone, the model has no other input, and a single
// array of another name is accepted, with a note.
func fromArchive(file, name string, alone bool) (x value, note string, err error) {
	all, err := data.Arrays(file)
	if err != nil {
		return nil, "", err
	}
	if x := all[name]; x != nil {
		return x, "", nil
	}
	names := slices.Sorted(maps.Keys(all))
	if x := all["x"]; x != nil && alone {
		return x, "", nil
	}
	if len(names) != 1 || !alone {
		return nil, "", fmt.Errorf("%s: no array for input %s; it has %s", file, name, arrayNames(all))
	}
	return all[names[0]], fmt.Sprintf("%s: array %s is taken for input %s", file, names[0], name), nil
}

// store writes all outputs into the output folder, or none of them.
func (r runner) store(ctx context.Context, names []string, out nn.Feed) error {
	if r.output == "" {
		return nil
	}
	change, err := disk.Begin(ctx, r.output)
	if err != nil {
		return err
	}
	defer change.Discard()
	files := fileNames{}
	for i, name := range names {
		if r.npy {
			err = change.Write(files.of(name)+".npy", func(w io.Writer) error { return npy.Write(w, out[name]) })
		} else {
			err = change.Write(fmt.Sprintf("output_%d.pb", i), func(w io.Writer) error {
				return onnxio.WriteValue(w, onnxio.NamedValue{Name: name, Value: out[name]})
			})
		}
		if err != nil {
			return err
		}
	}
	return change.Commit()
}

// classes prints the most likely classes if the model has class names.
func (r runner) classes(w io.Writer, g *nn.Graph, out nn.Feed) error {
	labels, err := labelsOf(g)
	if err != nil || labels == nil || r.asJSON || len(g.Outputs()) != 1 {
		return err
	}
	d, ok := out[g.Outputs()[0].Name()].(*tensor.Dense)
	if !ok {
		return nil
	}
	top, scores, err := data.Top(d, 5)
	if err != nil {
		return nil // not the classification of a single image
	}
	for i, c := range top {
		if c < len(labels) {
			fmt.Fprintf(w, "%6.2f %%  %s\n", 100*scores[i], labels[c])
		}
	}
	return nil
}

// show prints an output.
func (r runner) show(w io.Writer, v onnxio.NamedValue) error {
	if !r.asJSON {
		_, err := fmt.Fprintf(w, "%s %s %s\n", v.Name, op.TypeOf(v.Value), preview(v.Value, 8))
		return err
	}
	return json.NewEncoder(w).Encode(asObject(v))
}

// arrayNames lists the names of arrays for an error, not all if they are many.
func arrayNames[T any](all map[string]T) string {
	names := slices.Sorted(maps.Keys(all))
	const most = 20
	rest := ""
	if n := len(names) - most; n > 0 {
		names, rest = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return terminal.Brief(strings.Join(names, ", ")) + rest
}
