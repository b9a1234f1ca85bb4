package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/spf13/cobra"
)

// writtenModel is the file to which a command writes a model, and how it describes it.
type writtenModel struct {
	output string
	asJSON bool
}

func (m *writtenModel) flags(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP(&m.output, "output", "o", "", usage)
	cmd.Flags().BoolVar(&m.asJSON, "json", false, "print one JSON object")
}

// write saves g and prints its size, inputs and outputs.
func (m writtenModel) write(w io.Writer, g *nn.Graph) error {
	if err := saveModel(m.output, g); err != nil {
		return err
	}
	t := g.Summary().Total
	if m.asJSON {
		typed := func(values []*nn.Value) []map[string]string {
			list := []map[string]string{}
			for _, v := range values {
				list = append(list, map[string]string{"name": v.Name(), "type": v.Type().String()})
			}
			return list
		}
		return json.NewEncoder(w).Encode(map[string]any{"model": m.output, "nodes": t.Nodes, "params": t.Params, "inputs": typed(g.Inputs()), "outputs": typed(g.Outputs())})
	}
	_, err := fmt.Fprintf(w, "%s: %d nodes, %d parameters; inputs %v, outputs %v\n", m.output, t.Nodes, t.Params, ports(g.Inputs()), ports(g.Outputs()))
	return err
}
