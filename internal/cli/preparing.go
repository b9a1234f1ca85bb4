package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gorgonia.org/tensor"
)

// preparingHelp describes the preprocessing of images, in the help of every command that has the flags.
const preparingHelp = `The preprocessing of images is read from the model's metadata. If they have none, common presets are tried on some of the
images; the best one is used and printed, and train stores it in the model. --preset chooses one; --mean, --std, --range,
--bgr, --size and --crop change single settings: input = (range·p − mean)/std, where p is the pixel from 0 (black) to 1
(white). --mean and --std take one number, or three for red, green and blue. For arrays and tables that are not images,
--mean, --std and --range apply to the numbers as they are.`

// preparing holds the flags for the preprocessing of images, or of other numeric inputs.
type preparing struct {
	preset    string
	mean, std []float64
	white     float64
	bgr       bool
	size      string
	crop      float64
	given     *pflag.FlagSet

	natural   image.Point // size for an input that leaves it open; zero: 224×224
	uncropped bool        // images are stretched to the size of the input, not cropped: their pixels have targets
}

// flags adds them to a command.
func (p *preparing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	p.given = f
	f.StringVar(&p.preset, "preset", "", "preprocessing of images: "+strings.Join(presetNames(), ", ")+"; default: the model's metadata, or estimated")
	f.Float64SliceVar(&p.mean, "mean", nil, "mean to subtract from pixels scaled to --range: one number, or three for red, green and blue")
	f.Float64SliceVar(&p.std, "std", nil, "standard deviation to divide by: one number, or three for red, green and blue")
	f.Float64Var(&p.white, "range", 1, "value of a white pixel: 1 or 255")
	f.BoolVar(&p.bgr, "bgr", false, "channel order is blue, green, red; --bgr=false: red, green, blue")
	f.StringVar(&p.size, "size", "", "image size if the model leaves it open: 224, or HEIGHTxWIDTH")
	f.Float64Var(&p.crop, "crop", 0.875, "fraction of the shorter side that the center crop keeps")
}

// presetNames returns the values of --preset.
func presetNames() []string {
	var names []string
	for _, gray := range []bool{false, true} {
		for _, p := range data.Presets(gray) {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// changed reports whether one of the flags was given.
func (p preparing) changed(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return p.given != nil && p.given.Changed(n) })
}

// base returns the geometry of images for an input of type t: its size, channels and layout.
func (p preparing) base(t op.Type) (data.Preprocess, error) {
	base, err := data.Guess(t.Sizes())
	if err != nil {
		return base, err
	}
	if p.natural != (image.Point{}) {
		base.Size, base.Width, base.Crop = p.natural.Y, p.natural.X, 1
	}
	return p.geometry(base, t)
}

// geometry applies --size and --crop.
func (p preparing) geometry(base data.Preprocess, t op.Type) (data.Preprocess, error) {
	if p.size != "" {
		h, w, two := strings.Cut(strings.ToLower(p.size), "x")
		height, err := strconv.Atoi(h)
		width := height
		if err == nil && two {
			width, err = strconv.Atoi(w)
		}
		if err != nil || height < 1 || width < 1 {
			return base, fmt.Errorf("--size %s: want a number such as 224, or HEIGHTxWIDTH", p.size)
		}
		base.Size, base.Width = height, width
		fitted, err := base.For(t.Sizes())
		if got := fitted.Shape(); err != nil || !slices.Equal(got, base.Shape()) {
			return base, fmt.Errorf("--size %s: the model's input is %v", p.size, t)
		}
		base = fitted
	}
	if p.uncropped && p.changed("crop") {
		return base, errors.New("--crop is for models that answer for the image as a whole: with targets for each pixel, images are not cropped")
	}
	if p.uncropped {
		base.Crop = 1
	}
	if p.changed("crop") {
		if !(p.crop > 0 && p.crop <= 1) {
			return base, fmt.Errorf("--crop %v: want a fraction above 0, up to 1", p.crop)
		}
		base.Crop = p.crop
	}
	return base, nil
}

// settle determines the preprocessing for an input of g of type t: from --preset, from the model's metadata, or by measurement on
// the images that sample returns, in this order. Flags for single settings are applied last.
func (p preparing) settle(ctx context.Context, g *nn.Graph, t op.Type, sample func(data.Preprocess) ([]*tensor.Dense, error)) (train.Preparation, error) {
	var found train.Preparation
	base, err := p.base(t)
	if err != nil {
		return found, err
	}
	stored, known, err := data.ReadMeta(g.Meta())
	if err != nil {
		return found, err
	}
	switch {
	case p.preset != "":
		i := slices.IndexFunc(data.Presets(base.Gray), func(x data.Preset) bool { return x.Name == strings.ToLower(p.preset) })
		if i < 0 {
			return found, fmt.Errorf("--preset %s: want one of %s for images of %s", p.preset, strings.Join(namesOf(base.Gray), ", "), channelsOf(base.Gray))
		}
		x := data.Presets(base.Gray)[i]
		found = train.Preparation{Preprocess: x.With(base), Name: x.Name, By: "--preset"}
	case known:
		found = train.Preparation{Preprocess: stored, Name: "stored", By: "the model's metadata"}
		if found.Preprocess, err = stored.For(t.Sizes()); err == nil {
			found.Preprocess, err = p.geometry(found.Preprocess, t)
		}
	case p.changed("mean", "std", "range", "bgr"):
		found = train.Preparation{Preprocess: data.Presets(base.Gray)[0].With(base), By: "flags"}
		found.Mean, found.Std, found.Range = nil, nil, 0
	default:
		var images []*tensor.Dense
		if images, err = sample(base); err == nil {
			found, err = train.Prepare(ctx, g, base, images)
		}
	}
	if err != nil {
		return found, err
	}
	return p.single(found)
}

// single applies the flags for single settings.
func (p preparing) single(found train.Preparation) (train.Preparation, error) {
	for _, x := range []struct {
		flag string
		set  func()
	}{
		{"mean", func() { found.Mean = p.mean }}, {"std", func() { found.Std = p.std }},
		{"range", func() { found.Range = p.white }}, {"bgr", func() { found.BGR = p.bgr }},
	} {
		if p.changed(x.flag) {
			x.set()
			found.Name, found.By, found.RunnerUp, found.Guess = "as given", "flags", "", false
		}
	}
	if found.Gray && found.BGR {
		return found, fmt.Errorf("--bgr: the model takes gray images")
	}
	return found, found.Check()
}

func namesOf(gray bool) (names []string) {
	for _, p := range data.Presets(gray) {
		names = append(names, p.Name)
	}
	return names
}

func channelsOf(gray bool) string {
	if gray {
		return "one channel"
	}
	return "three channels"
}

// forImages are the flags that apply to images only.
var forImages = []string{"preset", "bgr", "size", "crop"}

func notImages(flag, what string) error {
	return fmt.Errorf("--%s is for images, which %s does not hold; --mean, --std and --range prepare numbers", flag, what)
}

// preparation describes the preprocessing of images, line by line, with the flag that replaces a guess.
func (d *dataset) preparation() string {
	if d.prepared == nil {
		return ""
	}
	return prepared(*d.prepared)
}

func prepared(p train.Preparation) string {
	text := fmt.Sprintf("images: %v\n          %v\n", p, p.Preprocess)
	if p.Guess {
		text += fmt.Sprintf("          --preset %s confirms it", p.Name)
		if next := cmp.Or(p.RunnerUp, "unit"); next != p.Name {
			text += fmt.Sprintf(", --preset %s is the next best", next)
		}
		text += "\n"
	}
	return text
}

// tellFound prints the preprocessing of images if it was determined automatically.
func tellFound(notes io.Writer, p train.Preparation) {
	if p.RunnerUp != "" || p.Guess {
		fmt.Fprint(notes, prepared(p))
	}
}
