package cli

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRoot returns the whole command line of one process.
func newRoot() *cobra.Command { return newProcess(Options{}).root() }

// commands returns the whole command line. Each call makes new commands, so that tests can run them
// in parallel.
func (p *process) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "graft",
		Short: "Run, change, train and verify ONNX models",
		Long: `graft runs, trains, changes and checks ONNX models, in pure Go.

The packages of graft do the same, and more, in Go programs.

Exit status: 0 for success, 1 for a failure, 130 for an interruption (ctrl-C).`,
		Example: `  graft demo
  graft inspect model.onnx
  graft run model.onnx --input image=cat.jpg
  graft train model.onnx --data flowers/ -o flowers.onnx
  graft verify testcases/`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(flagWords)
	memory := root.PersistentFlags().String("memory", "", "memory limit, 4GB or 500MB; default: four fifths of what the machine or container has")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		n, err := bytesOf(*memory)
		if err != nil {
			return err
		}
		limitMemory(n)
		if err := apartFromOutput(cmd); err != nil {
			return err
		}
		return p.alone(cmd)
	}
	root.AddCommand(newDemo(), newInspect(), newRun(p), newTrain(p), newLRFind(p), newEval(p), newPredict(p), newServe(p), newNew(), newEdit(), newGenerate(), newPrune(), newExtract(), newJoin(), newExportStep(), newVerify(), newTestcase(), newAnnotate(), newStrip(), newUnstrip(), newVersion())
	settleCommands(root)
	inWords(root)
	return root
}

// runtimeMemory is what Go and the program take beside what is charged, in bytes.
const runtimeMemory = 4 << 20

// ownLimit is the limit of Go's memory at the start, which GOMEMLIMIT sets.
var ownLimit = debug.SetMemoryLimit(-1)

// limitMemory limits what is charged to n bytes, 0: the default, and makes Go collect garbage before its memory exceeds that.
func limitMemory(n int64) {
	nn.LimitMemory(n)
	if n == 0 {
		n = budget.Default()
	}
	budget.LimitHeap(min(n, math.MaxInt64-runtimeMemory)+runtimeMemory, ownLimit)
}

// meant returns "; did you mean --epochs?" for an unknown flag with a similar known one, otherwise "".
func meant(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	if word := strings.ToUpper(unknown.GetSpecifiedName()); slices.Contains(strings.Fields(strings.ReplaceAll(cmd.Use, "…", "")), word) {
		return fmt.Sprintf("; %s is an argument: graft %s", word, cmd.Use)
	}
	if best := nearFlag(cmd, unknown.GetSpecifiedName()); best != "" {
		return fmt.Sprintf("; did you mean --%s?", best)
	}
	return ""
}

// otherWords maps flag names of other programs to graft's.
var otherWords = map[string]string{
	"learning-rate": "lr", "batch-size": "batch", "output-file": "output", "out": "output", "validation": "val", "val-split": "val", "opt": "optimizer",
	"scheduler": "schedule", "wd": "weight-decay", "early-stopping": "patience", "augmentation": "augment", "random-seed": "seed", "criterion-loss": "loss",
	"port": "listen", "host": "listen", "address": "listen", "format": "json", "num-epochs": "epochs", "label": "target", "checkpoint-dir": "dir", "overwrite": "force", "grad-clip": "clip-norm", "max-norm": "clip-norm",
	"node": "glob", "remove": "recipe", "insert": "recipe", "replace": "recipe", "rename": "recipe", "resize": "recipe", "head": "recipe", "freeze": "recipe", "amount": "target", "ratio": "target", "sparsity": "target", "pkg": "package",
}

// nearFlag returns the flag of a command that is most similar to a word; "" if none is.
func nearFlag(cmd *cobra.Command, word string) string {
	word = strings.ToLower(strings.ReplaceAll(word, "_", "-"))
	if name := otherWords[word]; name != "" && cmd.Flags().Lookup(name) != nil {
		return name
	}
	best, at := "", min(3, max(2, 1+len(word)/2))
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		d := editDistance(word, f.Name)
		if strings.HasPrefix(f.Name, word) || len(f.Name) > 3 && strings.HasPrefix(word, f.Name) {
			d = min(d, 1)
		}
		if d < at {
			best, at = f.Name, d
		}
	})
	return best
}

// editDistance returns the number of characters to insert, remove or replace to turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			same := last
			if a[i] != b[j] {
				same++
			}
			last = row[j+1]
			row[j+1] = min(same, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// oneModel is the Args of commands that take a single model.
func oneModel(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	hint := fmt.Sprintf("; %s --help says more", cmd.CommandPath())
	if data := cmd.Flags().Lookup("data"); len(args) == 2 && data != nil && !data.Changed && !strings.HasSuffix(args[1], ".onnx") {
		hint = fmt.Sprintf("; --data %s?", args[1])
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v := f.Value.String(); len(args) == 0 && f.Name != "output" && strings.HasSuffix(v, ".onnx") {
			hint = fmt.Sprintf("; %s is the value of --%s", v, f.Name)
		}
	})
	return fmt.Errorf("want one MODEL, got %d arguments %q%s", len(args), args, hint)
}

// noArguments is the Args of commands that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("want no arguments, got %q; %s --help says more", args, cmd.CommandPath())
	}
	return nil
}

// bytesOf parses an amount of memory, such as 4GB or 1.5 MiB, in bytes; "" is 0.
func bytesOf(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	number, factor := strings.ToUpper(strings.TrimSpace(s)), 1.0
	for _, unit := range []struct {
		name   string
		factor float64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(number, unit.name); ok {
			number, factor = strings.TrimSpace(rest), unit.factor
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= factor; err != nil || !(n >= 1 && n < math.MaxInt64) {
		return 0, fmt.Errorf("--memory %s: want a number of bytes as 500MB or 4GiB", s)
	}
	return int64(n), nil
}
