package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newRoot is the whole command line. Commands are made anew for each use, so that tests can run
// them side by side.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "graft",
		Short: "Bring ONNX models to life: run, change, train and verify them",
		Long: `graft reads ONNX models, runs, trains, changes and checks them, in pure Go.

A .onnx file becomes a graph of layers that Go programs can change, train and write back out;
this command does the everyday part of that without a program.

It exits with 0 when all went well, 1 when something failed, 130 when it was interrupted.`,
		Example: `  graft demo
  graft inspect model.onnx
  graft run model.onnx --input image=cat.jpg
  graft train model.onnx --data flowers/ --head -o flowers.onnx
  graft verify testcases/`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(newDemo(), newInspect(), newRun(), newTrain(), newEval(), newPredict(), newEdit(), newPrune(), newExtract(), newVerify(), newTestcase(), newAnnotate(), newStrip(), newUnstrip(), newVersion())
	return root
}

// oneModel is the Args of commands about a single model.
func oneModel(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one MODEL, got %d arguments %q; %s --help says more", len(args), args, cmd.CommandPath())
	}
	return nil
}
