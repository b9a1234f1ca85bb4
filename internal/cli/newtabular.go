package cli

import (
	"fmt"

	"github.com/graft-ml/graft/train/table"
	"github.com/spf13/cobra"
)

// shapeFlags describe networks that are not made for a table.
var shapeFlags = []string{"input", "classes", "outputs", "width", "depth", "vocabulary", "mask", "per-token"}

// forTable writes an untrained network for the columns of a table, which are encoded and scaled by the statistics of all rows.
func (c creation) forTable(cmd *cobra.Command) error {
	for _, name := range shapeFlags {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s: the columns of --data and its target describe a tabular network", name)
		}
	}
	if c.data == "" {
		return fmt.Errorf("missing --data, the table whose columns the network reads: --data houses.csv")
	}
	if !isTable(c.data) {
		return fmt.Errorf("--data %s: tabular is for tables (.csv, .tsv)", c.data)
	}
	if err := checkOutput(c.output); err != nil {
		return err
	}
	hidden, err := numbers("hidden", c.hidden)
	if err != nil {
		return err
	}
	r, err := c.reader()
	if err != nil {
		return err
	}
	p := &plan{}
	if p.table, err = r.Read(c.data); err != nil {
		return err
	}
	if p.table.Target == nil {
		return fmt.Errorf("%s has no column %q: --target names the one to predict", c.data, r.Target)
	}
	p.leaveRowNumbers(r)
	rows := p.table.Complete()
	if len(rows) == 0 {
		return fmt.Errorf("%s: no row has a target to train on", c.data)
	}
	if list := p.table.Classes; len(list) == 1 {
		return fmt.Errorf("%s: the target %s is always %s: there is nothing to learn", c.data, p.table.Target.Name, list[0])
	}
	if p.table.Classes == nil {
		p.unit = table.TargetScaling(p.table, rows)
	}
	prep, err := c.encoder(cmd.Context(), p.table, rows)
	if err != nil {
		return err
	}
	n := table.Network{Hidden: hidden, Seed: c.seed}
	if cmd.Flags().Changed("dropout") {
		n.Dropout = c.dropout
	}
	g, err := n.New(prep, p.table.Classes, p.unit)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if !c.asJSON {
		for _, line := range append(describe(p), prep.Describe()...) {
			fmt.Fprintln(w, line)
		}
	}
	return c.write(w, g)
}
