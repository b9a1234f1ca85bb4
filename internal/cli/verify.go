package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

func newVerify() *cobra.Command {
	var v conformance.Runner
	var asJSON bool
	var skip, junit, backend string
	cmd := &cobra.Command{
		Use:   "verify DIR…",
		Short: "Run ONNX test cases and compare outputs and gradients with the expected ones",
		Long: `verify runs ONNX test cases and compares their outputs. Each DIR is a test case, or a folder with test cases at any depth.

A test case is a folder with model.onnx and test_data_set_0/input_0.pb …, output_0.pb …. Every data set is run. An output must
have the expected type and shape, and each element must be within atol + rtol·|expected|: rtol 1e-3 and atol 1e-7, or as
data.json says ("rtol", "atol", "atol_outputs" by output). NaN equals NaN. Of outputs that depend on random numbers, only type
and shape are compared.

If there are gradients.json or gradient_0.pb … files, gradients are computed and compared too.

A case is named by its path below DIR; a DIR that is itself a case, by the last two elements of its path. All cases are run;
the command fails if any does. --skip is a file of known failures: on each line a case, or a pattern such as node/test_loop*, and
the reason. Those cases are run too, and one that passes is a failure.`,
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
			if err := checkFile("--junit", junit); err != nil {
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
				fmt.Fprintf(cmd.OutOrStdout(), "%d of %d cases passed\n", passed, len(cases))
			}
			if expected < len(cases) {
				return errSilent
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print one JSON object per case: case, ok, max_abs, gradients, error")
	f.StringVar(&v.Dump, "dump", "", "folder to write the computed values to: CASE/test_data_set_K/output_N.pb, CASE/gradients/K.pb")
	f.DurationVar(&v.Timeout, "timeout", 2*time.Minute, "time limit of one case")
	f.StringVar(&skip, "skip", "", "file of known failures, one CASE REASON per line")
	f.StringVar(&junit, "junit", "", "write a JUnit XML report to this file")
	f.StringVar(&backend, "backend", "graft", "backend to test: graft, or tapemachine (Gorgonia's)")
	f.IntVar(&v.Workers, "workers", 0, "cases to run in parallel (0: one per processor)")
	return cmd
}

// backendOf returns the backend of a name.
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
	f, err := disk.Open(name)
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
