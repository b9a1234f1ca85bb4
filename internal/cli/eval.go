package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"
)

// evaluation holds the flags of the eval command.
type evaluation struct {
	source
	dataset
	metrics []string
	asJSON  bool
	box     boxFlags
	runtime runtimeFlags
	rt      Runtime // nil: graft's engine

	worst                  int
	page                   string // HTML
	perClass               bool
	confusion, calibration string // PNG

	last  bool               // scores are on the last axis, for each position of a sequence
	odd   []string           // anomalies of a table
	names func(i int) string // of samples; nil: numbers
	image func(i int) (image.Image, error)
}

func newEval(p *process) *cobra.Command {
	v := evaluation{runtime: runtimeFlags{process: p}}
	cmd := &cobra.Command{
		Use:   "eval MODEL",
		Short: "Evaluate a model on images, tables, texts or arrays",
		Long: `eval runs a model on data and prints metrics: accuracy for classes, mae, rmse and r2 for numbers, others by --metric. The
metric confusion prints precision, recall, F1 and intersection over union, averaged over the classes, and the confusion matrix.
If a folder is divided into train and val (or test), the part that is not for training is evaluated. The data may lack some of
the model's classes.

--per-class prints precision, recall and F1 of each class. --confusion draws the confusion matrix and --calibration a reliability
diagram. --worst N lists the samples with the largest losses. -o writes all of it, with the images of those samples, as an HTML
page.

` + boxHelp + "\n\n" + dataHelp + "\n\n" + preparingHelp,
		Example: `  graft eval flowers.onnx --data flowers-test/
  graft eval model.onnx --data t10k-images-idx3-ubyte.gz,t10k-labels-idx1-ubyte.gz --metric accuracy --metric confusion
  graft eval flowers.onnx --data flowers-test/ --worst 20 -o page.html
  graft eval flowers.onnx --data flowers-test/ --per-class --confusion confusion.png --calibration calibration.png
  graft eval detector.onnx --data instances_val2017.json --images val2017/ --per-class
  graft eval model.onnx --data test.csv --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if v.box.detections != "" && len(args) == 0 {
				return nil
			}
			return oneModel(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if v.rt, err = v.runtime.open(cmd); err != nil {
				return err
			}
			return v.run(cmd.Context(), cmd.OutOrStdout(), strings.Join(args, ""))
		},
	}
	v.source.flags(cmd)
	v.dataset.flags(cmd)
	v.badFlag(cmd)
	v.box.flags(cmd)
	v.runtime.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&v.target, "target", "", "target column of a table, by name or number (from 0); default: the model's, or the last")
	f.StringArrayVar(&v.metrics, "metric", nil, words(metrics)+"; repeatable; default: chosen by the targets")
	f.IntVar(&v.worst, "worst", 0, "list this many samples with the largest losses")
	f.StringVarP(&v.page, "output", "o", "", "write an HTML report (.html); detection: write the detected boxes (.json)")
	f.BoolVar(&v.perClass, "per-class", false, "print metrics per class")
	f.StringVar(&v.confusion, "confusion", "", "draw the confusion matrix into this file (.png)")
	f.StringVar(&v.calibration, "calibration", "", "draw the reliability diagram (confidence and accuracy) into this file (.png)")
	f.BoolVar(&v.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (v evaluation) run(ctx context.Context, w io.Writer, model string) error {
	if v.data == "" {
		return errNoData
	}
	list, err := chosenMetrics(v.metrics)
	if err != nil {
		return err
	}
	if v.worst < 0 {
		return fmt.Errorf("--worst %d: want 0 or more", v.worst)
	}
	if !(v.skipBad >= 0 && v.skipBad <= 1) {
		return fmt.Errorf("--skip-bad %v: want a fraction from 0 to 1", v.skipBad)
	}
	for _, x := range []struct {
		flag, path string
		endings    []string
	}{{"--confusion", v.confusion, []string{".png"}}, {"--calibration", v.calibration, []string{".png"}}, {"-o", v.page, []string{".html", ".htm", ".json"}}} {
		if err := checkEnding(x.flag, x.path, x.endings...); err != nil {
			return err
		}
		if err := checkFile(x.flag, x.path); err != nil {
			return err
		}
	}
	if file := boxFile(v.data); file != "" {
		return v.boxes(ctx, w, model, file)
	}
	if v.changed("images", "boxes", "resize", "suppress", "first-class", "detections") {
		return fmt.Errorf("--images, --boxes, --resize, --suppress, --first-class and --detections are for detectors, whose data are a COCO annotation file (.json), which %s is not", v.data)
	}
	g, err := v.loadToRun(model)
	if err != nil {
		return err
	}
	_ = freeBatch(g, 0) // a batch that cannot be freed stays fixed
	if err := v.settleTexts(ctx, g); err != nil {
		return err
	}
	v.rowImages = v.imageRows(g, v.data)
	n, figures := 0, map[string]float64(nil)
	if _, scaled := g.Meta()[metaScaling]; v.columnar() && !scaled && !v.answersByColumn(g, v.data) {
		n, figures, list, err = v.table(ctx, g, list)
	} else {
		given := list
		n, figures, list, err = v.samples(ctx, g, given)
		if o := v.opened; err != nil && (o.folders != nil || o.masks != nil || o.pairs != nil || o.tags != nil) && ctx.Err() == nil { // perhaps for a corrupt image
			v.decode, v.notes = true, nil
			n, figures, list, err = v.samples(ctx, g, given)
		}
		v.tellNotes()
		if v.prepared != nil {
			tellFound(v.beside(), *v.prepared)
		}
	}
	if err != nil {
		return err
	}
	r := v.found(n, figures, list)
	r.Model = model
	if err := v.draw(r); err != nil {
		return err
	}
	if v.asJSON {
		return json.NewEncoder(w).Encode(r.object(v))
	}
	return v.print(w, r)
}

// samples evaluates on data other than tables.
func (v *evaluation) samples(ctx context.Context, g *nn.Graph, list []train.Metric) (int, map[string]float64, []train.Metric, error) {
	set, err := v.held(ctx, g)
	if err != nil {
		return 0, nil, nil, err
	}
	if err := v.agree(g); err != nil {
		return 0, nil, nil, err
	}
	v.showImages(v.opened)
	if (v.tagged || v.blackWhite) && list == nil {
		list = []train.Metric{&train.BinaryAccuracy{}}
	}
	if list, err = v.suit(list, g, set); err != nil {
		return 0, nil, nil, err
	}
	first, err := set.At(0, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	if y := first.Y; len(y) == 1 && y[0].DataSize() == 1 && !dtype.Of(y[0].Dtype()).IsInteger() && !v.tagged {
		if err := v.numbersOnly(); err != nil {
			return 0, nil, nil, err
		}
	}
	v.last = len(first.Y) == 1 && v.inPositions(g, first.Y[0])
	for _, m := range list {
		switch m := m.(type) {
		case *train.Accuracy:
			m.Axis = v.axis()
		case *train.Confusion:
			m.Axis = v.axis()
		}
	}
	if list, err = v.extra(list, g, func() (bool, error) {
		return len(first.Y) == 1 && dtype.Of(first.Y[0].Dtype()).IsInteger(), nil
	}); err != nil {
		return 0, nil, nil, err
	}
	c := computer{runtime: v.rt, g: g}
	defer c.close()
	figures, err := c.evaluator().Evaluate(ctx, g, set, list...)
	return set.Len(), figures, list, err
}

// inPositions reports whether the first output has scores for each position of a sequence; y is the target of one
// sample.
func (v *evaluation) inPositions(g *nn.Graph, y *tensor.Dense) bool {
	if len(g.Outputs()) == 0 || y.Dims() == 0 {
		return false
	}
	batch := dtype.New(dtype.Of(y.Dtype()), append([]int{1}, y.Shape()...)...)
	return train.ClassesLast(g.Outputs()[0], batch)
}

// axis returns the class axis of the first output.
func (v *evaluation) axis() int {
	if v.last {
		return -1
	}
	return 1
}

// suit adapts metrics to the model's output: one score for two classes is binary. Classes without a score are refused,
// as in training.
func (v evaluation) suit(list []train.Metric, g *nn.Graph, set data.Dataset[data.Sample]) ([]train.Metric, error) {
	readLogits(list, g)
	n, ok := scores(g.Outputs())
	if !ok || v.blackWhite || slices.ContainsFunc(v.metrics, func(name string) bool {
		return !classMetric(name)
	}) {
		return list, nil
	}
	classes, err := v.count(set)
	if err != nil || classes <= n || v.positions && scoresOf(g.Outputs(), classes) { // measurements have no classes
		return list, nil
	}
	if n == 1 && classes == 2 && list == nil {
		list = []train.Metric{&train.BinaryAccuracy{}}
		readLogits(list, g)
		return list, nil
	}
	return nil, fmt.Errorf("the data have classes up to %d, the model gives %d scores; --task regression treats a table's targets as numbers", classes-1, n)
}

// classMetric reports whether a metric, by name, reads a score for each class.
func classMetric(name string) bool {
	return slices.Contains([]string{"accuracy", "top5", "confusion"}, strings.ToLower(name))
}

// numbersOnly refuses metrics for classes where the targets are measurements.
func (v evaluation) numbersOnly() error {
	for _, name := range v.metrics {
		if classMetric(name) {
			return fmt.Errorf("--metric %s is for classes, and the targets are measurements: --metric deviation is for them", name)
		}
	}
	return nil
}

// orNull replaces NaN and infinities, which JSON lacks, by null.
func orNull(figures map[string]float64) map[string]any {
	all := map[string]any{}
	for name, x := range figures {
		all[name] = x
		if math.IsNaN(x) || math.IsInf(x, 0) {
			all[name] = nil
		}
	}
	return all
}
