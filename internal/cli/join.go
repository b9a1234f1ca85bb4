package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/spf13/cobra"
)

// joining holds the flags of the join command.
type joining struct {
	connect []string
	writtenModel
}

func newJoin() *cobra.Command {
	var j joining
	cmd := &cobra.Command{
		Use:   "join FIRST SECOND",
		Short: "Join two models: outputs of the first feed inputs of the second",
		Long: `join writes two models as one: outputs of the first feed inputs of the second, as --connect says. Without --connect, outputs
and inputs of the same name are connected or, if there is one of each, those two. Unconnected ones remain inputs and outputs. Names
that occur in both get a number appended in the second. Types must match; a model in an older operator set is
converted to the newer one of the two.`,
		Example: `  graft join backbone.onnx head.onnx -o model.onnx
  graft join encoder.onnx decoder.onnx --connect encoded=memory -o model.onnx`,
		Args: twoModels,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.OutOrStdout(), args[0], args[1])
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&j.connect, "connect", nil, "OUTPUT=INPUT, connects an output of the first model with an input of the second; repeatable")
	j.writtenModel.flags(cmd, "file to write the model to")
	return cmd
}

func twoModels(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want two models, FIRST and SECOND, got %d arguments %q; %s --help says more", len(args), args, cmd.CommandPath())
	}
	return nil
}

func (j joining) run(w io.Writer, first, second string) error {
	if err := checkOutput(j.output); err != nil {
		return err
	}
	a, err := source{}.load(first)
	if err != nil {
		return err
	}
	b, err := source{}.load(second)
	if err != nil {
		return err
	}
	connect, err := j.pairs(a, b)
	if err != nil {
		return err
	}
	if err := sameOpset(a, b); err != nil {
		return err
	}
	g, err := nn.Join(a, b, connect)
	if err != nil {
		return err
	}
	return j.write(w, g)
}

// pairs returns the connections, keyed by the name of the output.
func (j joining) pairs(a, b *nn.Graph) (map[string]string, error) {
	connect := map[string]string{}
	for _, c := range j.connect {
		from, to, ok := strings.Cut(c, "=")
		if !ok || from == "" || to == "" {
			return nil, fmt.Errorf("--connect %s: want OUTPUT=INPUT", c)
		}
		connect[from] = to
	}
	if len(connect) > 0 {
		return connect, nil
	}
	inputs := map[string]bool{}
	for _, v := range b.Inputs() {
		inputs[v.Name()] = true
	}
	for _, v := range a.Outputs() {
		if inputs[v.Name()] {
			connect[v.Name()] = v.Name()
		}
	}
	switch outs, ins := a.Outputs(), b.Inputs(); {
	case len(connect) > 0:
	case len(outs) == 1 && len(ins) == 1:
		connect[outs[0].Name()] = ins[0].Name()
	default:
		return nil, fmt.Errorf("no output of the first has the name of an input of the second: say which feeds which, with --connect OUTPUT=INPUT: outputs %v, inputs %v", ports(outs), ports(ins))
	}
	return connect, nil
}

// sameOpset converts the model with the older opset to the newer one.
func sameOpset(a, b *nn.Graph) error {
	older, newest := a, b.Opsets()[""]
	if v := a.Opsets()[""]; v > newest {
		older, newest = b, v
	}
	if older.Opsets()[""] == newest {
		return nil
	}
	return older.Edit(func(e *nn.Edit) { e.SetOpset(newest) })
}
