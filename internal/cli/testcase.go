package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// testcase holds the flags of the testcase command.
type testcase struct {
	conformance.CaseWriter
	runner            // reads --input
	random            int
	dims              map[string]int
	seed              uint64
	outGrad           []string
	dir               string
	strip             int
	meta              map[string]string
	asJSON, gradients bool
}

func newTestcase() *cobra.Command {
	var c testcase
	cmd := &cobra.Command{
		Use:   "testcase MODEL",
		Short: "Write an ONNX test case: the model, inputs, outputs and gradients",
		Long: `testcase runs a model and writes DIR/model.onnx, DIR/meta.json and, for each set of inputs,
DIR/test_data_set_K with input_N.pb and output_N.pb: the layout of ONNX's backend tests, which
graft verify and other runtimes read. Inputs that the model does not use are omitted.

The inputs are files, as for graft run, or --random K data sets of random numbers; --dims sets
symbolic dimensions, which are 1 otherwise. --gradients adds gradient_input_N.pb, the gradients
of the outputs to start from (ones, or --out-grad), and gradient_N.pb, those of the parameters.
With --train the model is in training mode, with batch statistics and dropout.

An existing DIR is replaced; --keep-model keeps its model.onnx and adds data sets.`,
		Example: `  graft testcase model.onnx --input x=x.npy -o case/
  graft testcase model.onnx --random 3 --dims N=4,T=7 --seed 1 --gradients -o case/
  graft testcase large.onnx --random 1 --strip -o report/`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("strip") {
				if c.strip < 0 {
					return fmt.Errorf("--strip: want a number of elements, got %d", c.strip)
				}
				c.Strip = &onnxio.Stripper{Over: c.strip}
				if c.strip == 0 {
					c.Strip.Over = -1 // all tensors
				}
			}
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	c.source.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&c.inputs, "input", nil, "NAME=FILE, the value of an input; repeatable")
	f.IntVar(&c.random, "random", 0, "number of data sets with random inputs, instead of --input")
	f.StringToIntVar(&c.dims, "dims", nil, "sizes of symbolic dimensions for --random, N=4,T=7 (default: 1 each)")
	f.Uint64Var(&c.seed, "seed", 0, "seed of random inputs")
	f.StringVarP(&c.dir, "output", "o", "", "folder to write the test case to")
	f.BoolVar(&c.gradients, "gradients", false, "also write the gradients of the parameters")
	f.StringArrayVar(&c.outGrad, "out-grad", nil, "NAME=FILE, the gradient of an output to start from (.npy or .pb); repeatable; implies --gradients")
	f.BoolVar(&c.Train, "train", false, "training mode, with batch statistics and dropout, also in the model that is written")
	f.BoolVar(&c.KeepModel, "keep-model", false, "keep an existing model.onnx and add data sets")
	f.IntVar(&c.strip, "strip", stripOver, "strip tensors with more elements than this")
	f.Lookup("strip").NoOptDefVal = fmt.Sprint(stripOver)
	f.BoolVar(&c.SequenceFiles, "sequence-files", false, "write each item of a sequence to its own file, input_0_00.pb")
	f.StringToStringVar(&c.meta, "meta", nil, "KEY=VALUE, entry of user_meta in meta.json; repeatable")
	f.BoolVar(&c.NoMeta, "no-meta", false, "write no meta.json")
	f.IntVar(&c.Saver.Opset, "opset", 0, "operator-set version of the written model (default: unchanged)")
	f.BoolVar(&c.asJSON, "json", false, "print what was written as JSON")
	return cmd
}

func (c testcase) run(ctx context.Context, w, notes io.Writer, model string) error {
	if c.dir == "" {
		return errors.New("missing -o DIR, the folder to write the test case to")
	}
	switch {
	case c.random < 0:
		return fmt.Errorf("--random %d: want a number of data sets", c.random)
	case c.random > 0 && len(c.inputs) > 0:
		return errors.New("--random and --input exclude each other")
	case c.random == 0 && len(c.inputs) == 0:
		return errors.New("missing inputs: give --input NAME=FILE, or --random K for random ones")
	}
	g, err := c.load(model)
	if err != nil {
		return err
	}
	feeds, err := c.feeds(ctx, g, notes)
	if err != nil {
		return err
	}
	if c.CaseWriter.Gradients = c.gradients; len(c.outGrad) > 0 {
		if c.OutGrad, err = c.given(ctx, g); err != nil {
			return err
		}
	}
	if len(c.meta) > 0 {
		c.UserMeta = map[string]any{}
		for k, v := range c.meta {
			c.UserMeta[k] = v
		}
	}
	if _, err := c.Export(ctx, g, c.dir, feeds...); err != nil {
		return err
	}
	if c.asJSON {
		return json.NewEncoder(w).Encode(map[string]any{"output": c.dir, "data_sets": len(feeds)})
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", c.dir, plural(len(feeds), "data set"))
	return err
}

// feeds returns the inputs of each data set.
func (c testcase) feeds(ctx context.Context, g *nn.Graph, notes io.Writer) ([]nn.Feed, error) {
	if c.random == 0 {
		feed, err := c.feed(ctx, g)
		return []nn.Feed{feed}, err
	}
	known := conformance.Symbols(g)
	for _, name := range slices.Sorted(maps.Keys(c.dims)) {
		if c.dims[name] < 0 {
			return nil, fmt.Errorf("--dims %s=%d: want a size", name, c.dims[name])
		}
		if !known[name] {
			fmt.Fprintf(notes, "note: no input has a dimension %s: --dims %s=%d is ignored\n", name, name, c.dims[name])
		}
	}
	var feeds []nn.Feed
	for k := range c.random {
		feed, err := conformance.RandomInputs(g, c.dims, c.seed+uint64(k))
		if err != nil {
			return nil, err
		}
		feeds = append(feeds, feed)
	}
	return feeds, nil
}

// given reads the gradients of --out-grad.
func (c testcase) given(ctx context.Context, g *nn.Graph) (nn.Feed, error) {
	feed := nn.Feed{}
	for _, s := range c.outGrad {
		name, file, ok := strings.Cut(s, "=")
		if !ok && len(g.Outputs()) == 1 {
			name, file, ok = g.Outputs()[0].Name(), s, true
		}
		if !ok {
			return nil, fmt.Errorf("--out-grad %s: want NAME=FILE, the model has the outputs %v", s, ports(g.Outputs()))
		}
		v, err := g.Value(name)
		if err != nil {
			return nil, fmt.Errorf("--out-grad %s: %w", s, err)
		}
		if feed[name], err = c.read(ctx, g, v, file); err != nil {
			return nil, fmt.Errorf("--out-grad %s: %w", s, err)
		}
	}
	return feed, nil
}
