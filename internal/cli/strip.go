package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// stripOver is the number of elements above which tensors are stripped by default, that of onnxio.Stripper.
const stripOver = 100

func newStrip() *cobra.Command {
	s := onnxio.Stripper{Over: stripOver}
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "strip PATH",
		Short: "Remove the data of large tensors from a model or test case, to make it small",
		Long: `strip replaces the data of every tensor with more than --over elements by their mean and variance.
Names, shapes and types are kept, so that the model can be inspected and edited, and attached to a
bug report: 98 MB become some 64 KB. graft unstrip fills such tensors with random numbers of the same
mean and variance.

PATH is a model (.onnx), a value (.pb), or a folder with test cases, whose models, values and
meta.json are changed. Without -o the files are replaced.`,
		Example: `  graft strip resnet50.onnx -o small.onnx
  graft strip --over 500 testcase/`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("over") || s.Over > 0 {
				return rewritten(cmd, args[0], out, asJSON, "stripped", s.Strip)
			}
			if s.Over < 0 {
				return fmt.Errorf("--over: want a number of elements, got %d", s.Over)
			}
			s.Over = -1 // all
			return rewritten(cmd, args[0], out, asJSON, "stripped", s.Strip)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "file or folder to write (default: PATH itself)")
	f.IntVar(&s.Over, "over", s.Over, "strip tensors with more elements than this")
	f.BoolVar(&s.Constants, "constants", false, "also strip tensors in attributes, such as those of Constant nodes")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func newUnstrip() *cobra.Command {
	var u onnxio.Unstripper
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "unstrip PATH",
		Short: "Fill stripped tensors with random numbers",
		Long: `unstrip fills each stripped tensor with random numbers of the mean and variance that graft strip, or
pytorch-pfn-extras, recorded, so that the model runs again: from a normal distribution, integers from
a uniform one, so that tables of indices mostly stay within what they index. The results are not those
of the original model.

PATH is a model (.onnx), a value (.pb) or a folder with test cases. Without -o the files are replaced.`,
		Example: `  graft unstrip small.onnx -o random.onnx
  graft unstrip --seed 7 testcase/`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return rewritten(cmd, args[0], out, asJSON, "filled", u.Unstrip)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "file or folder to write (default: PATH itself)")
	f.Uint64Var(&u.Seed, "seed", 0, "seed of the random numbers")
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

// onePath is the Args of commands about a single file or folder.
func onePath(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one PATH, got %d arguments %q; %s --help lists the usage", len(args), args, cmd.CommandPath())
	}
	return nil
}

// rewritten rewrites path to out and prints what changed.
func rewritten(cmd *cobra.Command, path, out string, asJSON bool, verb string, rewrite func(path, out string) (int, error)) error {
	before, err := sizeOf(path)
	if err != nil {
		return err
	}
	if before == 0 {
		return fmt.Errorf("%s: no model (.onnx) and no value (.pb) in it", path)
	}
	n, err := rewrite(path, out)
	if err != nil {
		return err
	}
	if out == "" {
		out = path
	}
	after, err := sizeOf(out)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"output": out, "tensors": n, "bytes_before": before, "bytes_after": after})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d tensors %s, %d → %d bytes\n", out, n, verb, before, after)
	return err
}

// sizeOf returns the size in bytes of a file, or of the files in a folder.
func sizeOf(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if e.Type().IsRegular() {
			info, err = e.Info()
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
