package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/spf13/cobra"
)

// creation holds the flags of the new command.
type creation struct {
	input, hidden string
	classes       int
	outputs       int
	width, depth  int
	vocabulary    int
	masked        bool
	perToken      bool
	dropout       float64
	seed          uint64
	data          string // table
	tabular
	writtenModel
}

func newNew() *cobra.Command {
	var c creation
	cmd := &cobra.Command{
		Use:   "new KIND",
		Short: "Create an untrained network: " + c.kinds(),
		Long: `new writes an untrained network with random weights. --input is the shape of one sample, without the batch:

  mlp          fully connected layers; --input 20 for 20 numbers
  cnn          convolutions in three stages with BatchNormalization; --input 3,32,32 (channels, height, width)
  resnet       residual blocks of convolutions in four stages; --input 3,224,224 or smaller
  lstm         a bidirectional LSTM; --input 50,8 (steps, numbers per step) or, with --vocabulary, 50 (steps)
  transformer  an encoder with learned positions; --input as for lstm
  tabular      a network for the columns of a table, --data houses.csv, that encodes and scales them; --scale, --target, --column
               and other flags for tables as in train

With --classes the network outputs that many scores, otherwise --outputs numbers. graft train --new tabular creates the same network
for a table and trains it, with more tuning than train with a given network.`,
		Example: `  graft new cnn --input 1,28,28 --classes 10 -o digits.onnx
  graft new mlp --input 13 --hidden 64,32 -o houses.onnx
  graft new tabular --data houses.csv --target price -o houses.onnx
  graft new transformer --input 128 --vocabulary 30000 --mask --classes 2 -o reviews.onnx`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one KIND of %s, got %q", c.kinds(), args)
			}
			if strings.EqualFold(args[0], "tabular") {
				return c.forTable(cmd)
			}
			if c.data != "" {
				return fmt.Errorf("--data %s: is for tabular; a new %s is described by --input and --classes", c.data, args[0])
			}
			for _, name := range append([]string{"target", "scale", "task"}, forTables...) {
				if cmd.Flags().Changed(name) {
					return fmt.Errorf("--%s is for tabular; a new %s is described by --input and --classes", name, args[0])
				}
			}
			return c.run(cmd.OutOrStdout(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.input, "input", "", "shape of one sample: 20, or 3,32,32")
	f.IntVar(&c.classes, "classes", 0, "number of classes; 0: regression with --outputs numbers")
	f.IntVar(&c.outputs, "outputs", 1, "number of outputs without --classes")
	f.StringVar(&c.hidden, "hidden", "128,64", "mlp and tabular: units of each hidden layer")
	f.IntVar(&c.width, "width", 32, "channels of the first stage; lstm: units; transformer: model dimension, a multiple of 4")
	f.IntVar(&c.depth, "depth", 2, "blocks per stage; lstm and transformer: layers")
	f.IntVar(&c.vocabulary, "vocabulary", 0, "lstm and transformer: vocabulary size; 0: the input is numbers")
	f.BoolVar(&c.masked, "mask", false, "transformer with --vocabulary: texts of any length up to --input, with inputs input_ids and attention_mask")
	f.BoolVar(&c.perToken, "per-token", false, "transformer with --mask: scores for each token, for token classification")
	f.Float64Var(&c.dropout, "dropout", 0.1, "dropout probability before the last layer")
	f.Uint64Var(&c.seed, "seed", 0, "seed of the weights")
	f.StringVar(&c.data, "data", "", "tabular: the table, a .csv or .tsv file")
	c.targetFlags(cmd)
	c.readFlags(cmd)
	c.writtenModel.flags(cmd, "file to write the network to")
	return cmd
}

// kinds lists the values of KIND.
func (creation) kinds() string {
	return strings.Join(slices.Sorted(maps.Keys(networks)), ", ") + ", tabular"
}

// networks are the kinds of networks that a shape describes, with the number of sizes that describe a sample.
var networks = map[string]struct {
	rank  int
	layer func(c creation, hidden []int, out int) nn.Layer
}{
	"mlp": {1, func(c creation, hidden []int, out int) nn.Layer {
		var s nn.Sequential
		for i, n := range hidden {
			s = append(s, layers.Linear{Out: n, Name: fmt.Sprintf("hidden%d", i+1)}, layers.ReLU{})
		}
		return append(s, c.head(out)...)
	}},
	"cnn": {3, func(c creation, _ []int, out int) nn.Layer {
		var s nn.Sequential
		for i := range 3 {
			for range c.depth {
				s = append(s, layers.Conv{Out: c.width << i, Kernel: []int{3}, Same: true, NoBias: true, Init: initial.KaimingNormal{}}, layers.BatchNorm{}, layers.ReLU{})
			}
			s = append(s, layers.MaxPool{Kernel: []int{2}, Ceil: true})
		}
		return append(append(s, layers.GlobalAvgPool{}, layers.Flatten{}), c.head(out)...)
	}},
	"resnet": {3, func(c creation, _ []int, out int) nn.Layer {
		conv := func(n, stride, kernel int) nn.Layer {
			return layers.Conv{Out: n, Kernel: []int{kernel}, Stride: []int{stride}, Pad: []int{kernel / 2}, NoBias: true, Init: initial.KaimingNormal{}}
		}
		s := nn.Sequential{conv(c.width, 1, 3), layers.BatchNorm{}, layers.ReLU{}}
		for i := range 4 {
			n := c.width << i
			for b := range c.depth {
				r := layers.Residual{}
				stride := 1
				if b == 0 && i > 0 {
					stride = 2
					r.Shortcut = nn.Sequential{conv(n, 2, 1), layers.BatchNorm{}}
				}
				r.Body = nn.Sequential{conv(n, stride, 3), layers.BatchNorm{}, layers.ReLU{}, conv(n, 1, 3), layers.BatchNorm{}}
				s = append(s, r, layers.ReLU{})
			}
		}
		return append(append(s, layers.GlobalAvgPool{}, layers.Flatten{}), c.head(out)...)
	}},
	"lstm": {2, func(c creation, _ []int, out int) nn.Layer {
		s := c.embedding()
		s = append(s, layers.LSTM{Hidden: c.width, Layers: c.depth, Bidirectional: true, BatchFirst: true}, overTime)
		return append(s, c.head(out)...)
	}},
	"transformer": {2, func(c creation, _ []int, out int) nn.Layer {
		s := c.embedding()
		if c.vocabulary == 0 {
			s = append(s, layers.Linear{Out: c.width, Name: "embedding"})
		}
		s = append(s, nn.LayerFunc(positions))
		for range c.depth {
			s = append(s, layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Attention{Heads: 4}}},
				layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Linear{Out: 4 * c.width}, layers.GELU{}, layers.Linear{Out: c.width}}})
		}
		return append(append(s, layers.LayerNorm{}, overTime), c.head(out)...)
	}},
}

// head returns the last layers, the same for every network.
func (c creation) head(out int) nn.Sequential {
	var s nn.Sequential
	if c.dropout > 0 {
		s = nn.Sequential{layers.Dropout{P: c.dropout}}
	}
	return append(s, layers.Linear{Out: out, Name: "head"})
}

// embedding returns the embedding of tokens; no layer if the input is numeric.
func (c creation) embedding() nn.Sequential {
	if c.vocabulary == 0 {
		return nil
	}
	return nn.Sequential{layers.Embedding{Num: c.vocabulary, Dim: c.width, Init: initial.Normal{Std: 0.02}, Name: "embedding"}}
}

// overTime computes the mean of [batch, steps, size] over the steps.
var overTime = nn.Sequential{layers.Transpose{Perm: []int{0, 2, 1}}, layers.GlobalAvgPool{}, layers.Flatten{}}

// positions adds a learned position embedding, a vector for each step.
func positions(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	t := in[0].Type()
	p := e.Param(e.New("positions"), initial.Normal{Std: 0.02}, t.Shape[1].Size, t.Shape[2].Size)
	if e.Err() != nil {
		return nil
	}
	return []*nn.Value{e.Node(op.Plain("Add"), in[0], p).Out(0)}
}

func (c creation) run(w io.Writer, kind string) error {
	n, err := choose("KIND", kind, networks)
	if err != nil {
		return fmt.Errorf("%s: want one of %s", kind, c.kinds())
	}
	if err := checkOutput(c.output); err != nil {
		return err
	}
	rank, of := n.rank, "float32"
	if c.vocabulary > 0 {
		if rank != 2 {
			return fmt.Errorf("--vocabulary is for lstm and transformer, not %s", kind)
		}
		rank, of = 1, "int64"
	}
	dims, err := numbers("input", c.input)
	if err != nil || len(dims) != rank {
		want := []string{"a whole number above 0 for %s, such as 20", "2 whole numbers above 0 for %s, such as 50,8", "3 whole numbers above 0 for %s, such as 3,32,32"}[rank-1]
		return fmt.Errorf("--input %q: want "+want, c.input, kind)
	}
	hidden, err := numbers("hidden", c.hidden)
	if err != nil {
		return err
	}
	for _, x := range []struct {
		flag     string
		n, least int
	}{{"classes", c.classes, 0}, {"outputs", c.outputs, 1}, {"width", c.width, 1}, {"depth", c.depth, 1}, {"vocabulary", c.vocabulary, 0}} {
		if x.n < x.least {
			return fmt.Errorf("--%s %d: want %d or more", x.flag, x.n, x.least)
		}
	}
	if c.masked && (kind != "transformer" || c.vocabulary == 0) {
		return fmt.Errorf("--mask is for transformer with --vocabulary")
	}
	if c.perToken && !c.masked {
		return fmt.Errorf("--per-token is for transformer with --mask")
	}
	if kind == "transformer" && c.width%4 != 0 {
		return fmt.Errorf("--width %d: a transformer has 4 heads: want a multiple of 4", c.width)
	}
	if !(c.dropout >= 0 && c.dropout < 1) {
		return fmt.Errorf("--dropout %v: want a fraction from 0 to below 1", c.dropout)
	}
	out, name := c.outputs, "values"
	if c.classes > 0 {
		out, name = c.classes, "scores"
	}
	g := nn.New(strings.ToLower(kind))
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(c.seed)
		if c.classes == 0 && out > 1 {
			e.SetMeta(metaTask, "values")
		}
		if c.masked {
			e.Output(name, c.textEncoder(e, dims[0], out))
			return
		}
		x := e.Input("x", fmt.Sprintf("%s[N,%s]", of, strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", ","), "[]")))
		e.Output(name, e.Apply(n.layer(c, hidden, out), x))
	}); err != nil {
		return err
	}
	return c.write(w, g)
}

// numbers parses positive integers, separated by commas.
func numbers(flag, s string) (list []int, err error) {
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--%s %q: want whole numbers above 0, such as 64,32", flag, s)
		}
		list = append(list, n)
	}
	return list, nil
}
