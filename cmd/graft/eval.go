package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/graft-ml/graft/train"
	"github.com/spf13/cobra"
)

// evaluation holds the flags of the eval command.
type evaluation struct {
	source
	dataset
	metrics []string
	asJSON  bool
}

func newEval() *cobra.Command {
	var v evaluation
	cmd := &cobra.Command{
		Use:   "eval MODEL",
		Short: "Measure how good a model is on pictures, tables or arrays",
		Long: `eval runs a model over all samples of the data and prints its figures: accuracy for classes; mae,
rmse and r2 for measurements; others by --metric. The metric confusion is precision, recall, F1 and
intersection over union, means over the classes, and a table of which class was taken for which.

` + dataHelp,
		Example: `  graft eval flowers.onnx --data flowers-test/
  graft eval model.onnx --data t10k-images-idx3-ubyte.gz,t10k-labels-idx1-ubyte.gz --metric accuracy --metric confusion
  graft eval model.onnx --data test.csv --json`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	v.source.flags(cmd)
	v.dataset.flags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&v.metrics, "metric", nil, words(metrics)+"; repeatable; default: by the targets")
	f.BoolVar(&v.asJSON, "json", false, "one JSON object")
	_ = cmd.MarkFlagRequired("data")
	return cmd
}

func (v evaluation) run(ctx context.Context, w io.Writer, model string) error {
	list, err := chosenMetrics(v.metrics)
	if err != nil {
		return err
	}
	g, err := v.load(model)
	if err != nil {
		return err
	}
	if err := freeBatch(g, 32); err != nil {
		return err
	}
	set, err := v.whole(g)
	if err != nil {
		return err
	}
	if err := v.agree(g); err != nil {
		return err
	}
	figures, err := train.Evaluate(ctx, g, set, list...)
	if err != nil {
		return err
	}
	var confusion *train.Confusion
	for _, m := range list {
		if c, ok := m.(*train.Confusion); ok {
			confusion = c
		}
	}
	if v.asJSON {
		all := map[string]any{"samples": set.Len(), "metrics": figures}
		if confusion != nil {
			all["confusion"], all["classes"] = confusion.Count, v.classes
		}
		return json.NewEncoder(w).Encode(all)
	}
	fmt.Fprintf(w, "%d samples\n", set.Len())
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		fmt.Fprintf(w, "%-10s %.4g\n", name, figures[name])
	}
	if confusion == nil {
		return nil
	}
	return v.table(w, confusion.Count)
}

// table prints which class, a row, was taken for which, a column.
func (v evaluation) table(w io.Writer, count [][]int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	name := func(i int) string {
		if i < len(v.classes) {
			return v.classes[i]
		}
		return fmt.Sprint(i)
	}
	fmt.Fprint(t, "\nis, taken for\t")
	for i := range count {
		fmt.Fprintf(t, "%s\t", name(i))
	}
	fmt.Fprintln(t)
	for i, row := range count {
		fmt.Fprintf(t, "%s\t", name(i))
		for _, n := range row {
			fmt.Fprintf(t, "%d\t", n)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
