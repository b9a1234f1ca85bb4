package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

func newVerify() *cobra.Command {
	var v conformance.Runner
	var asJSON bool
	var skip, junit, backend string
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
its path. The command fails unless everything holds; one bad case does not stop the others. --skip names a
file of known failures, a line each: the case or a pattern such as node/test_loop*, and the reason.
Those cases are run all the same, and it is a failure if one passes.`,
		Example: `  graft verify model-folder/
  graft verify --json onnx/backend/test/data/node > results
  graft verify --skip known-failures.txt --junit results.xml onnx/backend/test/data/node
  graft verify --dump computed/ --timeout 10s node/test_abs node/test_add`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("want folders of test cases, got none; %s --help says more", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, dirs []string) error {
			var err error
			if v.Backend, err = backendOf(backend); err != nil {
				return err
			}
			for _, dir := range dirs {
				if info, err := os.Stat(dir); err == nil && !info.IsDir() {
					return fmt.Errorf("%s: is a file, want a folder of test cases; graft testcase writes one for a model", dir)
				}
			}
			cases, err := conformance.Cases(dirs...)
			if err != nil {
				return err
			}
			if v.Skip, err = readSkips(skip); err != nil {
				return err
			}
			passed, expected := 0, 0
			var results []conformance.Result
			for r := range v.Run(cmd.Context(), cases) {
				results = append(results, r)
				if r.Passed() {
					passed++
				}
				if r.Expected() {
					expected++
				}
				if err := printResult(cmd.OutOrStdout(), r, asJSON); err != nil {
					return err
				}
			}
			if err := cmd.Context().Err(); err != nil {
				return fmt.Errorf("stopped after %d of %d cases", len(results), len(cases))
			}
			if junit != "" {
				err := onnxio.WriteFile(junit, func(w io.Writer) error { return conformance.WriteJUnit(w, "graft", results) })
				if err != nil {
					return err
				}
			}
			if !asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%d of %d cases hold\n", passed, len(cases))
			}
			if expected < len(cases) {
				return errSilent
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON object per case: case, ok, max_abs, gradients, error")
	f.StringVar(&v.Dump, "dump", "", "folder for what was computed: CASE/test_data_set_K/output_N.pb, CASE/gradients/K.pb")
	f.DurationVar(&v.Timeout, "timeout", 2*time.Minute, "time limit of one case")
	f.StringVar(&skip, "skip", "", "file of known failures: CASE REASON a line")
	f.StringVar(&junit, "junit", "", "file for the results as JUnit's XML")
	f.StringVar(&backend, "backend", "graft", "what runs the models: graft, or Gorgonia's tapemachine")
	f.IntVar(&v.Workers, "workers", 0, "cases at a time (0: number of processors)")
	return cmd
}

// backendOf is the backend of a name.
func backendOf(name string) (conformance.Backend, error) {
	switch name {
	case "graft":
		return conformance.Graft{}, nil
	case "tapemachine":
		return conformance.TapeMachine{}, nil
	}
	return nil, fmt.Errorf("--backend: want graft or tapemachine, got %q", name)
}

// readSkips reads a file of known failures; no name, no failures.
func readSkips(name string) (conformance.Skips, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := conformance.ReadSkips(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func printResult(w io.Writer, r conformance.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	word := "ok  "
	switch {
	case !r.Passed() && r.Skip != "":
		word = "skip"
	case !r.Expected():
		word = "FAIL"
	}
	line := fmt.Sprintf("%s %s  max_abs %.3g", word, r.Case, r.MaxAbs)
	if r.Gradients != "none" {
		line += "  gradients " + r.Gradients
	}
	if r.Passed() && r.Skip != "" {
		line += "  passes, although it is listed: " + r.Skip
	}
	if r.Error != "" {
		line += "  " + r.Error
	}
	_, err := fmt.Fprintln(w, line)
	return err
}
