package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/boxes"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"
)

const boxHelp = `For a detector, DATA is an annotation file in COCO's format (FILE.json), or a folder that contains one. The metrics are
COCO's: mean average precision at IoU 0.5 to 0.95, at 0.5 and 0.75, by object size, and recall. --images is the folder of the
images; by default they are looked for next to the file. The box format and the mapping from classes to categories are detected
and printed; --boxes and --first-class set them. -o FILE.json writes the detected boxes as a COCO results file;
--detections evaluates such a file instead of a model.`

// boxFlags are the flags for evaluating a detector.
type boxFlags struct {
	images     string
	order      string
	resize     string
	suppress   float64
	first      int
	detections string
}

func (b *boxFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.images, "images", "", "detection: folder of the images; default: next to the file of --data")
	f.StringVar(&b.order, "boxes", "", "detection: box format: "+strings.Join(boxOrders, ", ")+"; default: detected")
	f.StringVar(&b.resize, "resize", "", "detection: how images are fitted to the model's size, stretch or letterbox; default: letterbox for YOLO")
	f.Float64Var(&b.suppress, "suppress", 0.65, "detection: IoU threshold of non-maximum suppression, for models that output candidates")
	f.IntVar(&b.first, "first-class", 0, "detection: class number of the first category in the model's output; default: detected")
	f.StringVar(&b.detections, "detections", "", "evaluate the boxes of a COCO results file instead of those of MODEL")
}

var boxOrders = []string{"xyxy", "yxyx", "xywh", "cxcywh"}

// boxFile returns the COCO file that --data names, "" if it is something else.
func boxFile(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		if strings.EqualFold(filepath.Ext(path), ".json") {
			return path
		}
		return ""
	}
	if !info.IsDir() {
		if strings.EqualFold(filepath.Ext(path), ".json") {
			return path
		}
		return ""
	}
	for _, pattern := range []string{"_annotations.coco.json", "instances*.json", "annotations.json", "annotations/instances*.json"} {
		if found, _ := filepath.Glob(filepath.Join(path, pattern)); len(found) == 1 {
			return found[0]
		}
	}
	return ""
}

// boxes evaluates a detector.
func (v *evaluation) boxes(ctx context.Context, w io.Writer, model, file string) error {
	if v.worst > 0 || v.confusion != "" || v.calibration != "" || v.metrics != nil {
		return fmt.Errorf("--worst, --confusion, --calibration and --metric are not for detectors, whose metrics are COCO's")
	}
	if v.page != "" && !strings.EqualFold(filepath.Ext(v.page), ".json") {
		return fmt.Errorf("--output %s: for a detector it is a COCO results file: want a name that ends in .json", v.page)
	}
	if v.box.order != "" && !slices.Contains(boxOrders, v.box.order) {
		return fmt.Errorf("--boxes %s: want one of %s", v.box.order, strings.Join(boxOrders, ", "))
	}
	if !slices.Contains([]string{"", "stretch", "letterbox"}, v.box.resize) {
		return fmt.Errorf("--resize %s: want stretch or letterbox", v.box.resize)
	}
	if !(v.box.suppress > 0 && v.box.suppress <= 1) {
		return fmt.Errorf("--suppress %v: want an IoU above 0, up to 1", v.box.suppress)
	}
	set, err := boxes.Load(file)
	if err != nil {
		return plainBoxes(err)
	}
	var found [][]boxes.Detection
	if v.box.detections != "" {
		found, err = set.LoadDetections(v.box.detections)
	} else {
		found, err = v.detect(ctx, w, model, file, set)
	}
	if err != nil {
		return plainBoxes(err)
	}
	f, err := set.Evaluate(found)
	if err != nil {
		return plainBoxes(err)
	}
	if v.page != "" {
		if err := onnxio.WriteFile(v.page, func(w io.Writer) error { return set.WriteDetections(w, found) }); err != nil {
			return err
		}
	}
	return v.printBoxes(w, set, found, f)
}

func plainBoxes(err error) error {
	return fmt.Errorf("%s", strings.TrimPrefix(strings.TrimPrefix(err.Error(), "boxes: "), "data: "))
}

// detect runs the model over the images.
func (v *evaluation) detect(ctx context.Context, w io.Writer, model, file string, set *boxes.GroundTruth) ([][]boxes.Detection, error) {
	dir, err := v.imageFolder(file, set)
	if err != nil {
		return nil, err
	}
	g, err := v.loadToRun(model)
	if err != nil {
		return nil, err
	}
	_ = freeBatch(g, 1)
	names, err := classNames(g)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(set.Categories, func(c boxes.Category) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, c.Name) })
	}) {
		names = nil
	}
	r := &boxes.Decoder{Categories: set.Categories, Names: names, Order: v.box.order, Suppress: v.box.suppress}
	if v.given.Changed("first-class") {
		r.First = &v.box.first
	}
	in, err := v.detectorInput(ctx, g, dir, set)
	if err != nil {
		return nil, err
	}
	if !v.asJSON {
		fmt.Fprint(w, v.how(in))
	}
	c := computer{runtime: v.rt, g: g}
	defer c.close()
	for _, p := range set.Images {
		img, err := data.OpenImageOf(annotated(dir, p.File), p.Width, p.Height)
		if err != nil {
			return nil, err
		}
		x, at, err := in.tensor(img)
		if err != nil {
			return nil, err
		}
		out, err := c.eval(ctx, nn.Feed{g.Inputs()[0].Name(): x})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.File, err)
		}
		var list []boxes.Output
		for _, o := range g.Outputs() {
			d, ok := out[o.Name()].(*tensor.Dense)
			if !ok {
				return nil, fmt.Errorf("output %s is not a tensor of numbers", o.Name())
			}
			values, err := dtype.Float64s(d)
			if err != nil {
				return nil, fmt.Errorf("output %s: %w", o.Name(), err)
			}
			list = append(list, boxes.Output{Name: o.Name(), Shape: slices.Clone([]int(d.Shape())), Values: values, Integer: dtype.Of(d.Dtype()).IsInteger()})
		}
		if err := r.Add(list, at); err != nil {
			return nil, err
		}
	}
	found, how, err := r.Detections()
	if err == nil && !v.asJSON {
		fmt.Fprintf(w, "boxes:    %s\n", how)
	}
	return found, err
}

// detectorInput converts images to the input of a detector.
type detectorInput struct {
	data.Preprocess
	t         op.Type
	letterbox bool
	own       bool // images keep their size
}

// detectorInput determines the preprocessing: measured if the input allows it.
func (v *evaluation) detectorInput(ctx context.Context, g *nn.Graph, dir string, set *boxes.GroundTruth) (in detectorInput, err error) {
	if len(g.Inputs()) != 1 {
		return in, fmt.Errorf("want a detector with one input, for images: the model's inputs are %v", ports(g.Inputs()))
	}
	in.t = g.Inputs()[0].Type()
	t := in.t
	if t.Rank() == 3 { // one image, no batch
		t.Shape = append([]op.Dim{{Size: 1}}, t.Shape...)
	}
	base, err := v.base(t)
	if err != nil {
		return in, fmt.Errorf("the model does not take images: its inputs are %v: %w", ports(g.Inputs()), err)
	}
	sizes := t.Sizes()
	spatial := sizes[2:]
	if base.NHWC {
		spatial = sizes[1:3]
	}
	in.own = v.size == "" && (spatial[0] <= 0 || spatial[1] <= 0)
	in.letterbox = v.box.resize == "letterbox" || v.box.resize == "" && len(g.Outputs()) == 1 && !in.own
	_, stored, err := data.ReadMeta(g.Meta())
	if err != nil {
		return in, err
	}
	if v.preset == "" && !stored && !v.changed("mean", "std", "range", "bgr") && (!t.DType.IsFloat() || in.t.Rank() == 3 || in.own) {
		v.preset = "unit" // usual for detectors that normalize inside
		if !t.DType.IsFloat() {
			v.preset = "raw"
		}
	}
	found, err := v.settle(ctx, g, t, func(base data.Preprocess) (list []*tensor.Dense, err error) {
		plain := data.Preprocess{Size: base.Size, Width: base.Width, Gray: base.Gray}
		n := min(len(set.Images), measuredOn(plain))
		for i := range n {
			img, err := data.OpenImage(annotated(dir, set.Images[i*len(set.Images)/n].File))
			if err != nil {
				return nil, err
			}
			x, _, err := plain.Whole(img, in.letterbox)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		return list, nil
	})
	in.Preprocess, v.prepared = found.Preprocess, &found
	return in, err
}

// how describes how images are preprocessed.
func (v *evaluation) how(in detectorInput) string {
	if in.own {
		return fmt.Sprintf("images: %s, in their own sizes\n", v.prepared.Name)
	}
	way := "stretched"
	if in.letterbox {
		way = "letterbox"
	}
	return v.preparation() + fmt.Sprintf("          whole images, %s\n", way)
}

// tensor returns the input for an image.
func (in detectorInput) tensor(img image.Image) (*tensor.Dense, data.Placement, error) {
	p := in.Preprocess
	if in.own {
		p.Size, p.Width = img.Bounds().Dy(), img.Bounds().Dx()
	}
	x, at, err := p.Whole(img, in.letterbox)
	if err != nil {
		return nil, at, err
	}
	if in.t.Rank() == 4 {
		if x, err = dtype.View(x, append([]int{1}, x.Shape()...)...); err != nil {
			return nil, at, err
		}
	}
	if want := in.t.DType; want != dtype.Float32 {
		x, err = dtype.ConvertTo(want, x)
	}
	return x, at, err
}

// imageFolder finds the folder of the images of a COCO file.
func (v *evaluation) imageFolder(file string, set *boxes.GroundTruth) (string, error) {
	beside := filepath.Dir(file)
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	_, part, _ := strings.Cut(stem, "_")
	dirs := []string{beside, filepath.Join(beside, "images"), filepath.Join(beside, part), filepath.Join(beside, "..", part), filepath.Join(beside, "..", "images"), filepath.Join(beside, "..", "images", part), filepath.Join(beside, "..")}
	if v.box.images != "" {
		dirs = []string{v.box.images}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(annotated(dir, set.Images[0].File)); err == nil {
			return filepath.Clean(dir), nil
		}
	}
	return "", fmt.Errorf("%s is not in %s: --images names the folder of the images", set.Images[0].File, strings.Join(dirs[:min(2, len(dirs))], " nor in "))
}

// annotated returns the path of an image by its name in a COCO file, which is relative to the folder of the images or absolute.
func annotated(dir, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// namesList is how Ultralytics stores names: {0: 'person', 1: 'bicycle'}.
var namesList = regexp.MustCompile(`(\d+): *(?:'([^']*)'|"([^"]*)")`)

// classNames returns the names of a detector's classes from its metadata, nil if there are none.
func classNames(g *nn.Graph) ([]string, error) {
	labels, err := labelsOf(g)
	if err != nil || labels != nil {
		return labels, err
	}
	var list []string
	for _, m := range namesList.FindAllStringSubmatch(g.Meta()["names"], -1) {
		if n, err := strconv.Atoi(m[1]); err != nil || n != len(list) {
			return nil, nil
		}
		list = append(list, m[2]+m[3])
	}
	return list, nil
}

// printBoxes prints the metrics.
func (v *evaluation) printBoxes(w io.Writer, set *boxes.GroundTruth, found [][]boxes.Detection, f boxes.Figures) error {
	n, there := 0, 0
	for i, list := range found {
		n, there = n+len(list), there+len(set.Images[i].Truth)
	}
	rows := []struct {
		name string
		x    float64
	}{
		{"AP", f.AP}, {"AP50", f.AP50}, {"AP75", f.AP75}, {"AP small", f.APSmall}, {"AP medium", f.APMedium}, {"AP large", f.APLarge},
		{"AR 1", f.AR1}, {"AR 10", f.AR10}, {"AR 100", f.AR100}, {"AR small", f.ARSmall}, {"AR medium", f.ARMedium}, {"AR large", f.ARLarge},
	}
	known := func(x float64) any {
		if x < 0 {
			return nil
		}
		return x
	}
	if v.asJSON {
		figures := map[string]any{}
		for _, r := range rows {
			figures[r.name] = known(r.x)
		}
		all := map[string]any{"samples": len(found), "boxes": there, "found": n, "metrics": figures}
		if v.perClass {
			list := []any{}
			for i, c := range set.Categories {
				list = append(list, map[string]any{"class": c.Name, "AP": known(f.Category[i]), "AP50": known(f.Category50[i])})
			}
			all["per_class"] = list
		}
		return json.NewEncoder(w).Encode(all)
	}
	fmt.Fprintf(w, "%d images with %d boxes, %d detected\n", len(found), there, n)
	said := func(x float64) string {
		if x < 0 {
			return "-"
		}
		return fmt.Sprintf("%.4f", x)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	notes := []string{"mean average precision, IoU 0.5 to 0.95", "at IoU 0.5", "at IoU 0.75", "of objects below 32×32 pixels", "of those below 96×96", "of larger ones", "recall, at most 1 box per image and class", "at most 10", "at most 100", "of small objects", "of medium ones", "of large ones"}
	for i, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.name, said(r.x), notes[i])
	}
	if v.perClass {
		fmt.Fprint(t, "\nclass\tAP\tAP50\n")
		for i, c := range set.Categories {
			fmt.Fprintf(t, "%s\t%s\t%s\n", c.Name, said(f.Category[i]), said(f.Category50[i]))
		}
	}
	return t.Flush()
}
