package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"
)

// dataHelp describes the formats of --data; it is part of the help of every command that has the flag.
const dataHelp = `DATA is one of:

  FOLDER/CLASS/*.jpg            images by class; also FOLDER/train/CLASS and FOLDER/val/CLASS
  FOLDER/images, FOLDER/masks   images, and PNG masks of the same names: palette indices or gray levels are the classes of pixels
  FOLDER/images, FOLDER/targets images, and target images of the same names
  tags.csv                      a table with the columns file and tags: image files and their tags
  FILE.csv, FILE.tsv            a table; the target is the last column, or --target
  FILE.npz                      NumPy arrays named after the model's inputs (or x), and y
  X.npy,Y.npy                   two NumPy arrays: the input, and y
  FILE.jsonl                    JSON lines: one object per sample, with a value for each input, and y
  FILE.conll                    a word with its label on each line (also .conllu, .bio, .iob), with --text
  FOLDER, or IMAGES,LABELS      MNIST's IDX files
  FILE.bin                      a CIFAR file

With --text, the named column of a table, or key of JSON lines, holds texts, which --tokenizer splits into tokens. JSON lines
with lists of words and of labels have a label for each word. Targets that are words, or a few whole numbers that each occur
often, are classes; others are numbers to predict (regression). For a table --task decides.`

// errNoData is for commands that need samples.
var errNoData = errors.New("missing --data, the samples to read")

// noData is errNoData, with a hint where an argument is not a model but exists.
func noData(args []string) error {
	for _, arg := range args {
		if _, err := os.Stat(arg); err == nil && !strings.EqualFold(filepath.Ext(arg), ".onnx") {
			return fmt.Errorf("%w: --data %s?", errNoData, arg)
		}
	}
	return errNoData
}

// dataset holds the flags about the source of samples, and what was found in it.
type dataset struct {
	preparing
	tabular
	textual
	data    string
	val     string  // fraction of the data for validation, or separate data
	noFlip  bool    // images are not flipped at random
	augment string  // strength of augmentation
	skipBad float64 // fraction of the images that may be corrupt
	decode  bool    // eval searches for corrupt images first, after it has met one
	seed    uint64

	classes                 []string           // names; nil if the data have none
	outputs                 outputTargets      // of several outputs; nil: there is one target
	numeric                 *scaling           // preprocessing of numbers that are not images; nil: none
	prepared                *train.Preparation // preprocessing of images; nil for other data
	graph                   *nn.Graph          // the model that the data are for
	notes                   []string           // changes to the data, to be printed
	beside                  func() io.Writer   // where notes are printed if the output is machine-readable
	blackWhite              bool               // masks: the model has one score per pixel
	rowImages               bool               // each row of the table is an image
	colors                  colorOrder         // of the rows
	segmented               int                // classes of masks; 0: there are none
	pixelRows, pixelColumns int                // of the masks

	texts *texts   // tokenization of texts; nil: the model does not read texts
	among []string // classes that the data may have, for JSON lines and texts; nil: any

	tagged       bool // samples have any number of the classes, as tags
	measurements bool // targets are several numbers each
	positions    bool // samples are sequences with a class for each position

	opened   samples // the validation data, before augmentation
	setApart bool    // the validation data are split off
}

// flags adds the flags about reading samples.
func (d *dataset) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.data, "data", "", "the samples: a folder, a .csv, .npz, .jsonl, .conll or .bin file, X.npy,Y.npy, or IMAGES,LABELS")
	d.preparing.flags(cmd)
	d.readFlags(cmd)
	d.textFlags(cmd)
}

// divideFlags adds the flags about splitting and augmenting samples for training.
func (d *dataset) divideFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.val, "val", "0.1", "validation data: a fraction of --data, or a folder or file")
	d.badFlag(cmd)
	f.BoolVar(&d.noFlip, "no-flip", false, "do not flip images horizontally (digits, signs, text); single-channel images are never flipped")
	f.StringVar(&d.augment, "augment", "moderate", "how much images vary in training: "+strings.Join(augmentations, ", "))
	f.Uint64Var(&d.seed, "seed", 0, "seed of all random numbers")
}

// badFlag adds the flag for the fraction of images that may be corrupt.
func (d *dataset) badFlag(cmd *cobra.Command) {
	d.beside = cmd.ErrOrStderr
	cmd.Flags().Float64Var(&d.skipBad, "skip-bad", 0.01, "fraction of the images that may be corrupt; they are listed and skipped, more are an error")
}

// augmentations are the values of --augment.
var augmentations = []string{"none", "light", "moderate", "strong", "trivial"}

// samples is the content of one file or folder: images in folders, or samples in memory.
type samples struct {
	folders *data.Folders
	masks   *data.Masks
	pairs   *imagePairs
	tags    *data.Tagged
	tensors data.Dataset[data.Sample]
	pixels  bool // tensors are images, from 0 to 1
	still   bool // pixels with targets at positions: images must not be moved
	classes []string
	bad     []data.BadItem // images whose masks cannot be read, which masks lacks
}

// open reads the file or folder spec; held: of a folder that is split, the validation part.
func (d *dataset) open(ctx context.Context, spec string, held bool) (s samples, err error) {
	if d.texts == nil && isConll(spec) {
		return s, fmt.Errorf("%s has one word on each line: give --text, the number of the column of words (or words, for the first), and --tokenizer", spec)
	}
	if d.texts != nil || isLines(spec) {
		return d.written(ctx, spec, held)
	}
	if isTable(spec) && data.IsTagFile(spec) {
		if s, err = tagged(spec); s.folders != nil {
			s.folders.Seed = d.seed
		}
		return s, err
	}
	if isTable(spec) {
		if d.rowImages {
			return d.imagesOfRows(d.graph, spec)
		}
		if d.answersByColumn(d.graph, spec) {
			return d.severalColumns(spec)
		}
		return d.packed(spec)
	}
	switch strings.ToLower(filepath.Ext(spec)) {
	case ".npz":
		return d.arrays(ctx, spec)
	case ".bin":
		s.tensors, err = data.CIFAR(spec)
		s.pixels = true
		return s, err
	}
	if _, _, ok := arrayPair(spec); ok {
		return d.arrays(ctx, spec)
	}
	images, labels, ok := strings.Cut(spec, ",")
	if !ok {
		images, labels = data.FindIDX(spec, held)
	}
	if labels != "" {
		s.tensors, err = data.IDX(images, labels)
		s.pixels = true
		return s, err
	}
	if data.IsMaskFolder(spec) {
		s.masks, s.bad, err = data.ReadableMasks(spec)
		return s, err
	}
	if info, err := os.Stat(spec); err == nil && !info.IsDir() {
		if imagefile.Named(spec) {
			return s, fmt.Errorf("%s is one image: want a folder with a folder of images for each class; graft predict takes a single image", spec)
		}
		return s, fmt.Errorf("%s: want a folder of images, a table (.csv, .tsv), arrays (.npz, or X.npy,Y.npy), JSON lines (.jsonl), a CIFAR file (.bin), or IMAGES,LABELS", spec)
	}
	if images, targets, ok := findPairs(spec); ok {
		s.pairs, err = readPairs(images, targets)
		return s, err
	}
	if s.folders, err = data.Folder(spec); err != nil {
		return s, err
	}
	s.folders.Seed, s.classes = d.seed, s.folders.Classes
	if held && s.folders.Val != nil {
		s.folders.Items, s.folders.Val = s.folders.Val, nil
	}
	return s, nil
}

// heldShare reads --val: the fraction that is held out, or apart for other data.
func (d *dataset) heldShare() (share float64, apart bool, err error) {
	share, err = strconv.ParseFloat(d.val, 64)
	if percent, ok := strings.CutSuffix(d.val, "%"); ok {
		if p, err := strconv.ParseFloat(percent, 64); err == nil {
			return 0, false, fmt.Errorf("--val %s: want a fraction: %v", d.val, p/100)
		}
	}
	if err == nil && !(share >= 0 && share < 1) {
		return 0, false, fmt.Errorf("--val %s: want a fraction from 0 to below 1, or a folder or file", d.val)
	}
	return share, err != nil, nil
}

// divided opens the training and validation sets for the model g.
func (d *dataset) divided(ctx context.Context, g *nn.Graph) (fit, val data.Dataset[data.Sample], err error) {
	share, apart, err := d.heldShare()
	if err != nil {
		return nil, nil, err
	}
	if err := d.onlyTables(); err != nil {
		return nil, nil, err
	}
	if d.augment != "" && !slices.Contains(augmentations, strings.ToLower(d.augment)) {
		return nil, nil, fmt.Errorf("--augment %s: want one of %s", d.augment, strings.Join(augmentations, ", "))
	}
	d.graph = g
	if err := d.learn(ctx, g); err != nil {
		return nil, nil, err
	}
	if err := d.settleTexts(ctx, g); err != nil {
		return nil, nil, err
	}
	s, err := d.open(ctx, d.data, false)
	if err != nil {
		return nil, nil, err
	}
	if len(s.classes) == 1 && s.tags == nil {
		return nil, nil, fmt.Errorf("%s has one class, %s: classification needs two or more, with a folder for each", d.data, s.classes[0])
	}
	if err := d.leaveBad(ctx, d.data, &s); err != nil {
		return nil, nil, err
	}
	if err := d.about(ctx, g, &s); err != nil {
		return nil, nil, err
	}
	s.keepDecoded()
	if !apart {
		d.setApart = s.folders == nil || s.folders.Val == nil
		fit, val = d.split(s, share)
		return fit, val, nil
	}
	d.among = s.classes
	held, err := d.open(ctx, d.val, true)
	if err != nil {
		return nil, nil, fmt.Errorf("--val: %w", err)
	}
	if err := d.leaveBad(ctx, d.val, &held); err != nil {
		return nil, nil, fmt.Errorf("--val: %w", err)
	}
	held.keepDecoded()
	held.among(s.classes)
	if !slices.Equal(held.classes, s.classes) {
		return nil, nil, fmt.Errorf("--val has the classes %s, --data %s", brief(held.classes), brief(s.classes))
	}
	fit, _ = d.split(s, 0)
	return fit, d.all(held), nil
}

// mostDecoded bounds the memory for decoded images that a set keeps between epochs.
const mostDecoded = 1 << 30

// keepDecoded keeps decoded images of folders in memory: decoding large photographs would take longer than training on
// them.
func (s samples) keepDecoded() {
	if s.folders != nil {
		s.folders.Cache = min(mostDecoded, budget.Left()/4)
	}
}

// tellNotes prints the notes.
func (d *dataset) tellNotes() {
	for _, note := range d.notes {
		fmt.Fprintln(d.beside(), note)
	}
}

// held opens the data to evaluate the model g on, without augmentation: all samples, or of a folder that is split the
// validation part.
func (d *dataset) held(ctx context.Context, g *nn.Graph) (data.Dataset[data.Sample], error) {
	d.graph = g
	if err := d.onlyTables(); err != nil {
		return nil, err
	}
	if err := d.settleTexts(ctx, g); err != nil {
		return nil, err
	}
	known, err := labelsOf(g)
	if err != nil {
		return nil, err
	}
	d.among = known
	s, err := d.open(ctx, d.data, true)
	if err != nil {
		return nil, err
	}
	d.opened = s
	if d.decode || len(s.bad) > 0 {
		if err := d.leaveBad(ctx, d.data, &s); err != nil {
			return nil, err
		}
	}
	s.among(known)
	d.opened = s
	if err := d.about(ctx, g, &s); err != nil {
		return nil, err
	}
	return d.all(s), nil
}

// about keeps the class names, determines how images are preprocessed for g, and preprocesses samples in memory.
func (d *dataset) about(ctx context.Context, g *nn.Graph, s *samples) error {
	d.classes = s.classes
	if s.masks != nil {
		if err := d.segments(g, s.masks); err != nil {
			return err
		}
	}
	d.tagged = s.tags != nil
	if s.folders == nil && s.masks == nil && s.tags == nil && s.pairs == nil && !(s.pixels && takesImages(g)) {
		var err error
		s.tensors, err = d.numbers(g, d.data, s.tensors)
		return err
	}
	if !takesImages(g) {
		return fmt.Errorf("%s holds images, which are for models with one input [N,C,H,W] or [N,H,W,C] of 1 or 3 channels; this one has %v", d.data, ports(g.Inputs()))
	}
	if !s.pixels {
		if err := d.imageSize(ctx, g, s); err != nil {
			return err
		}
	}
	found, err := d.settle(ctx, g, g.Inputs()[0].Type(), s.some)
	if err != nil {
		return err
	}
	if s.masks != nil || s.pairs != nil {
		if err := d.targetSize(ctx, g, s, found.Preprocess); err != nil {
			return err
		}
	}
	if s.pixels {
		if err := d.crops(s.tensors, found.Preprocess); err != nil {
			return err
		}
	}
	found.Policy = data.Augmentation(strings.ToLower(d.augment))
	if found.Policy == "moderate" {
		found.Policy = data.Moderate
	}
	found.NoFlip, found.MinArea = d.noFlip || found.Gray, 0.35
	if s := found.Shape(); s[1]*s[2] <= 64*64 {
		found.MinArea = 0.6 // small images have few details
	}
	d.prepared = &found
	return nil
}

// takesImages reports whether g has one input of rank 4 with one channel or three.
func takesImages(g *nn.Graph) bool {
	if len(g.Inputs()) != 1 {
		return false
	}
	_, err := data.Guess(g.Inputs()[0].Type().Sizes())
	return err == nil
}

// measuredOn returns the number of images of a size on which the preprocessings are tried.
func measuredOn(p data.Preprocess) int {
	if s := p.Shape(); s[1]*s[2] <= 64*64*3 {
		return 96
	}
	return 24
}

// some returns images from all parts of the data, from 0 to 1 and with the size of base.
func (s samples) some(base data.Preprocess) ([]*tensor.Dense, error) {
	plain := data.Preprocess{Size: base.Size, Width: base.Width, Crop: base.Crop, Gray: base.Gray}
	var all data.Dataset[data.Sample]
	if s.folders != nil {
		all = s.folders.All(plain)
	} else if s.masks != nil {
		all = s.masks.Images(plain)
	} else if s.pairs != nil {
		all = s.pairs.images(plain)
	} else if s.tags != nil {
		all = s.tags.Images(plain)
	} else {
		all = plain.Prepare(s.tensors)
	}
	var list []*tensor.Dense
	n := min(measuredOn(plain), all.Len())
	for i := range n {
		x, err := all.At(i*all.Len()/n, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, x.X[0])
	}
	return list, nil
}

func (d *dataset) split(s samples, share float64) (fit, val data.Dataset[data.Sample]) {
	if s.tags != nil {
		return s.tags.Split(share, d.seed, d.prepared.Preprocess)
	}
	if s.pairs != nil {
		return s.pairs.split(share, d.seed, d.prepared.Preprocess)
	}
	if s.masks != nil {
		fit, val = s.masks.Split(share, d.seed, d.prepared.Preprocess, d.pixelRows, d.pixelColumns)
		if d.blackWhite {
			return oneScore(fit), oneScore(val)
		}
		return fit, val
	}
	if s.folders != nil {
		return s.folders.Split(share, d.prepared.Preprocess)
	}
	fit, val = data.Split(s.tensors, share, d.seed)
	if s.pixels && d.prepared != nil && s.still {
		return d.prepared.Prepare(fit), d.prepared.Prepare(val)
	}
	if s.pixels && d.prepared != nil {
		return d.prepared.Vary(fit), d.prepared.Prepare(val)
	}
	return fit, val
}

func (d *dataset) all(s samples) data.Dataset[data.Sample] {
	if s.tags != nil {
		return s.tags.All(d.prepared.Preprocess)
	}
	if s.pairs != nil {
		return s.pairs.all(d.prepared.Preprocess)
	}
	if s.masks != nil && d.blackWhite {
		return oneScore(s.masks.All(d.prepared.Preprocess, d.pixelRows, d.pixelColumns))
	}
	if s.masks != nil {
		return s.masks.All(d.prepared.Preprocess, d.pixelRows, d.pixelColumns)
	}
	if s.folders != nil {
		return s.folders.All(d.prepared.Preprocess)
	}
	if s.pixels && d.prepared != nil {
		return d.prepared.Prepare(s.tensors)
	}
	return s.tensors
}

// count returns the number of classes: that of their names, or the largest in the set plus one.
func (d *dataset) count(set data.Dataset[data.Sample]) (int, error) {
	if d.classes != nil {
		return len(d.classes), nil
	}
	if d.segmented > 0 {
		return d.segmented, nil
	}
	n := 0
	for i := range set.Len() {
		s, err := set.At(i, nil)
		if err != nil {
			return 0, err
		}
		if len(s.Y) != 1 || !dtype.Of(s.Y[0].Dtype()).IsInteger() {
			return 0, errors.New("the data have no classes: their targets are numbers")
		}
		classes, err := dtype.Ints(s.Y[0])
		if err != nil {
			return 0, err
		}
		for _, c := range classes {
			n = max(n, c+1)
		}
	}
	return n, nil
}
