package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

func newVerify() *cobra.Command {
	var v onnxio.Verifier
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify DIR…",
		Short: "Run ONNX test cases and compare outputs and gradients with what they should be",
		Long: `Each DIR is an ONNX test case or a folder with test cases anywhere below it.

A test case is a folder with model.onnx and test_data_set_0/input_0.pb …, output_0.pb …. Every data
set is run. An output must have the type and shape of the expected one, and each number must lie
within atol + rtol·|want|: rtol 1e-3 and atol 1e-7, or what data.json says ("rtol", "atol",
"atol_outputs" by output). NaN equals NaN. Of outputs that random numbers reach, only type and
shape count.

Where gradients.json or gradient_0.pb … stand beside them, gradients are computed and judged too.

A case is named by its path below DIR, and a DIR that is itself a case by the last two elements of
its path. The command fails unless everything holds; one bad case does not stop the others.`,
		Example: `  graft verify model-folder/
  graft verify --json onnx/backend/test/data/node > results
  graft verify --dump computed/ --timeout 10s node/test_abs node/test_add`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			cases, err := onnxio.Cases(dirs...)
			if err != nil {
				return err
			}
			passed, done := 0, 0
			for r := range v.Run(cmd.Context(), cases) {
				done++
				if r.Passed() {
					passed++
				}
				if err := printResult(cmd.OutOrStdout(), r, asJSON); err != nil {
					return err
				}
			}
			if err := cmd.Context().Err(); err != nil {
				return fmt.Errorf("stopped after %d of %d cases", done, len(cases))
			}
			if !asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%d of %d cases hold\n", passed, len(cases))
			}
			if passed < len(cases) {
				return errSilent
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON object per case: case, ok, max_abs, gradients, error")
	f.StringVar(&v.Dump, "dump", "", "folder for what was computed: CASE/test_data_set_K/output_N.pb, CASE/gradients/K.pb")
	f.DurationVar(&v.Timeout, "timeout", 2*time.Minute, "time limit of one case")
	f.IntVar(&v.Workers, "workers", 0, "cases at a time (0: number of processors)")
	return cmd
}

func printResult(w io.Writer, r onnxio.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	word := "ok  "
	if !r.Passed() {
		word = "FAIL"
	}
	line := fmt.Sprintf("%s %s  max_abs %.3g", word, r.Case, r.MaxAbs)
	if r.Gradients != "none" {
		line += "  gradients " + r.Gradients
	}
	if r.Error != "" {
		line += "  " + r.Error
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
