package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// extraction holds the flags of the extract command.
type extraction struct {
	source
	from, to []string
	writtenModel
}

func newExtract() *cobra.Command {
	var x extraction
	cmd := &cobra.Command{
		Use:   "extract MODEL",
		Short: "Write a part of a model as a model",
		Long: `extract writes the part of a model that computes the values of --to from those of --from, which become
its outputs and inputs. The default of --from is the model's inputs, of --to its outputs.
graft inspect --json lists the names of all values.`,
		Example: `  graft extract resnet.onnx --to features -o backbone.onnx
  graft extract model.onnx --from encoder_out --to decoder_out -o decoder.onnx`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			return x.run(cmd.OutOrStdout(), args[0])
		},
	}
	x.source.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&x.from, "from", nil, "value that becomes an input; repeatable; default: the model's inputs")
	f.StringArrayVar(&x.to, "to", nil, "value that becomes an output; repeatable; default: the model's outputs")
	x.writtenModel.flags(cmd, "file to write the extracted model to")
	return cmd
}

func (x extraction) run(w io.Writer, model string) error {
	if err := checkOutput(x.output); err != nil {
		return err
	}
	g, err := x.load(model)
	if err != nil {
		return err
	}
	if len(x.to) == 0 {
		for _, v := range g.Outputs() {
			x.to = append(x.to, v.Name())
		}
	}
	part, err := g.Extract(x.from, x.to)
	for _, name := range slices.Concat(x.from, x.to) {
		if err != nil && strings.Contains(name, ",") {
			return fmt.Errorf("%w; for several values the flag is given several times: --to a --to b", err)
		}
	}
	if err != nil {
		return err
	}
	return x.write(w, part)
}
