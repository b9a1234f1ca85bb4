package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/train"
	"github.com/spf13/cobra"
)

// prediction holds the flags of the predict command.
type prediction struct {
	source
	dataset
	top             int
	asJSON, asCSV   bool
	output, explain string
	written         map[string]fileNames // names of images in output, by what they show
	as              string
	batchSize       int
	runtime         runtimeFlags

	paths   []string           // of the data
	release func()             // removes the temporary file for standard input; nil: there is none
	found   *train.Preparation // of images, once it is determined
}

func newPredict(process *process) *cobra.Command {
	p := prediction{runtime: runtimeFlags{process: process}}
	cmd := &cobra.Command{
		Use:   "predict MODEL DATA…",
		Short: "Predict labels, probabilities, numbers or masks for images, tables, texts or arrays",
		Long: `predict runs a model on data without targets and prints a prediction for each sample.

DATA is an image, a folder of images (searched recursively), a table (.csv, .tsv), a NumPy archive with arrays named after the
model's inputs (.npz), one array (.npy), JSON lines (.jsonl; keys are the names of inputs or columns), a file with a word on each
line (.conll, .conllu, .bio, .iob), MNIST's IDX files (their folder, or IMAGES,LABELS), a CIFAR file (.bin), or - for a table, JSON
lines, an image or arrays on standard input. Images, also those in arrays of bytes, columns and texts are preprocessed as the
model's metadata say, which train wrote.

Class scores become labels with probabilities, per word for models of words, and models of tags also list those with a probability of
½ or more; the single score of a binary classifier becomes a probability; numbers are in the unit of the target. Masks and images
that a model outputs are written as PNG files to the folder of --output, in the size of the input image, or as many times that as the
model enlarges images. --explain writes saliency maps there: gradients (of the score with respect to the pixels) or cam (Grad-CAM
over the last convolution).

Tables begin with the columns of the data; --csv prints comma-separated values; --json prints an object per sample:
{"sample":"a.jpg","label":"rose","probability":0.93,"top":[…]} or {"sample":"3","value":12.5}. A sample is the file of an image,
or the number of a row, an object or an element of an array, from 1.`,
		Example: `  graft predict flowers.onnx photos/ --top 3
  graft predict houses.onnx new.csv --csv > answers.csv
  cat new.csv | graft predict houses.onnx - --json
  graft predict flowers.onnx rose.jpg --explain cam -o maps/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("want MODEL and DATA, got %d arguments %q; %s --help says more", len(args), args, cmd.CommandPath())
			}
			if strings.HasSuffix(args[1], ".onnx") && !strings.HasSuffix(args[0], ".onnx") {
				return fmt.Errorf("%s: the model comes first: graft predict %[2]s %[1]s", args[0], args[1])
			}
			rt, err := p.runtime.open(cmd)
			if err != nil {
				return err
			}
			if rt != nil && p.explain != "" {
				return errors.New("--explain needs gradients, which graft's own engine computes: leave out --runtime")
			}
			return p.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], args[1:], rt)
		},
	}
	p.source.flags(cmd)
	p.preparing.flags(cmd)
	p.readFlags(cmd)
	p.textFlags(cmd)
	p.runtime.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&p.top, "top", 3, "number of classes to list for each sample")
	f.BoolVar(&p.asJSON, "json", false, "print one JSON object for each sample")
	f.BoolVar(&p.asCSV, "csv", false, "print comma-separated values: the input columns, then the predictions")
	f.StringVarP(&p.output, "output", "o", "", "folder for masks, images and maps")
	f.StringVar(&p.explain, "explain", "", "write saliency maps: gradients or cam (Grad-CAM)")
	f.StringVar(&p.as, "as", "", "kind of the outputs: classes, values, mask, image or arrays; default: detected")
	f.IntVar(&p.batchSize, "batch", 32, "batch size, if the model leaves it open")
	return cmd
}

func (p prediction) run(ctx context.Context, w, notes io.Writer, model string, paths []string, rt Runtime) (err error) {
	if err := p.check(); err != nil {
		return err
	}
	paths, err = expanded(paths)
	if err != nil {
		return err
	}
	p.paths = paths
	g, err := p.loadToRun(model)
	if err != nil {
		return err
	}
	_ = freeBatch(g, 0) // the batch size stays fixed if it cannot be freed
	if err := p.settleTexts(ctx, g); err != nil {
		return err
	}
	a, err := newAnswerer(g, p.as)
	if err != nil {
		return err
	}
	a.runtime = rt
	p.uncropped = a.drawn()
	defer a.close()
	if a.drawn() || p.explain != "" {
		if p.output == "" {
			return errors.New("missing -o FOLDER, the folder to write images to")
		}
		made := foldersToMake(p.output)
		if err := disk.MkdirAll(p.output); err != nil {
			return fmt.Errorf("-o %s: cannot be a folder: %w", p.output, err)
		}
		defer func() {
			for _, dir := range made {
				if err != nil {
					_ = os.Remove(dir) // it stays if there is a file in it
				}
			}
		}()
	} else if p.output != "" {
		return fmt.Errorf("-o %s is a folder for masks, images and maps, and this model's predictions are printed: --csv > FILE stores them", p.output)
	}
	size := p.batchSize
	if b, fixed := fixedBatch(g); fixed {
		size = b
	}
	defer func() {
		if p.release != nil {
			p.release()
		}
	}()
	var bad []error
	written := 0
	var out printer
	for _, path := range paths {
		s, err := p.samplesOf(ctx, g, path, notes)
		if err != nil {
			return err
		}
		if p.found != nil {
			a.fed = extent(p.found.Preprocess)
		}
		if out == nil {
			out = p.printer(w, a, s)
		}
		parts := textParts{source: s}
		for chunk := range slices.Chunk(upTo(s.n), size) {
			list, err := a.of(ctx, s, chunk, size)
			if err != nil {
				return err
			}
			for i, x := range list {
				x, whole := parts.add(chunk[i], x)
				if !whole {
					continue
				}
				if x.err != nil {
					bad = append(bad, x.err)
					continue
				}
				if err := p.draw(ctx, a, s, chunk[i], &x); err != nil {
					return err
				}
				if err := out.add(s, chunk[i], x); err != nil {
					return err
				}
				written++
			}
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if written == 0 && len(bad) == 1 {
		return bad[0]
	}
	for _, err := range bad {
		fmt.Fprintln(notes, "skipped:", err)
	}
	if written == 0 && len(bad) > 0 {
		return fmt.Errorf("none of %d samples can be read; the first: %w", len(bad), bad[0])
	}
	return nil
}

func (p prediction) check() error {
	switch {
	case p.top < 1:
		return fmt.Errorf("--top %d: want 1 or more", p.top)
	case p.batchSize < 1:
		return fmt.Errorf("--batch %d: want 1 or more", p.batchSize)
	case p.asJSON && p.asCSV:
		return errors.New("--json and --csv exclude each other")
	case p.explain != "" && p.explain != "gradients" && p.explain != "cam":
		return fmt.Errorf("--explain %s: want gradients or cam", p.explain)
	}
	return nil
}

// foldersToMake returns the folders of a path that do not exist, the innermost first.
func foldersToMake(dir string) (list []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return list
		}
		list = append(list, dir)
	}
}

// expanded replaces patterns that the shell did not expand, 'photos/*.jpg', by the files that they match.
func expanded(paths []string) (list []string, err error) {
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil || !strings.ContainsAny(path, "*?[") {
			list = append(list, path)
			continue
		}
		found, err := filepath.Glob(path)
		if err != nil {
			return nil, fmt.Errorf("%s: not a pattern of file names: %w", path, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no file matches %s", path)
		}
		list = append(list, found...)
	}
	return list, nil
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
