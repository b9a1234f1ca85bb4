package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// imagePairs are pairs of an input image and a target image.
type imagePairs struct {
	of     [][2]string     // sorted
	target data.Preprocess // values from 0 to 1, in the size and with the channels of the model's output
}

// targetDirs are the possible names of the folder with the target images.
var targetDirs = []string{"targets", "target"}

// findPairs finds the two folders in dir.
func findPairs(dir string) (images, targets string, ok bool) {
	find := func(names []string) string {
		for _, n := range names {
			if info, err := os.Stat(filepath.Join(dir, n)); err == nil && info.IsDir() {
				return filepath.Join(dir, n)
			}
		}
		return ""
	}
	images, targets = find([]string{"images", "image", "imgs", "inputs", "input"}), find(targetDirs)
	return images, targets, images != "" && targets != ""
}

// readPairs pairs the images of two folders by their names without extensions.
func readPairs(images, targets string) (*imagePairs, error) {
	named := func(dir string) (map[string]string, []string, error) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, nil, err
		}
		of, list := map[string]string{}, []string(nil)
		for _, e := range entries {
			if name := e.Name(); !e.IsDir() && imagefile.Named(name) && !strings.HasPrefix(name, ".") {
				key := strings.TrimSuffix(name, filepath.Ext(name))
				of[key], list = filepath.Join(dir, name), append(list, key)
			}
		}
		return of, list, nil
	}
	x, list, err := named(images)
	if err != nil {
		return nil, err
	}
	y, wanted, err := named(targets)
	if err != nil {
		return nil, err
	}
	p := &imagePairs{}
	for _, name := range list {
		if y[name] == "" {
			return nil, fmt.Errorf("%s has no image with the same name in %s", x[name], targets)
		}
		p.of = append(p.of, [2]string{x[name], y[name]})
	}
	for _, name := range wanted {
		if x[name] == "" {
			return nil, fmt.Errorf("%s has no image with the same name in %s", y[name], images)
		}
	}
	if len(p.of) == 0 {
		return nil, fmt.Errorf("%s: no images in it", images)
	}
	return p, nil
}

// suits returns an error if the output of g is not one image.
func (p *imagePairs) suits(g *nn.Graph) error {
	if len(g.Outputs()) != 1 || g.Outputs()[0].Type().Rank() != 4 || !g.Outputs()[0].Type().DType.IsFloat() {
		return fmt.Errorf("the targets are images, the model gives %v: want one image [N, channels, height, width]", ports(g.Outputs()))
	}
	if c := g.Outputs()[0].Type().Sizes()[1]; c != 1 && c != 3 {
		return fmt.Errorf("the targets are images, the model gives %v: want 1 or 3 channels", ports(g.Outputs())[0])
	}
	return nil
}

// set returns the pairs at the given indices, without augmentation.
func (p *imagePairs) set(in data.Preprocess, at []int) data.Dataset[data.Sample] {
	return data.Map(data.Subset(data.Of(p.of...), at), func(pair [2]string, _ *rand.Rand) (data.Sample, error) {
		x, err := wholeImage(in, pair[0])
		if err != nil {
			return data.Sample{}, err
		}
		y, err := wholeImage(p.target, pair[1])
		return data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}, err
	})
}

// wholeImage reads an image, stretched to the size of p.
func wholeImage(p data.Preprocess, path string) (*tensor.Dense, error) {
	img, err := data.OpenImage(path)
	if err != nil {
		return nil, err
	}
	x, _, err := p.Whole(img, false)
	return x, err
}

func (p *imagePairs) all(in data.Preprocess) data.Dataset[data.Sample] {
	return p.set(in, upTo(len(p.of)))
}

// split holds out the fraction share of the pairs at random.
func (p *imagePairs) split(share float64, seed uint64, in data.Preprocess) (fit, val data.Dataset[data.Sample]) {
	return data.Split(p.all(in), share, seed)
}

// images returns the input images, without targets.
func (p *imagePairs) images(in data.Preprocess) data.Dataset[data.Sample] {
	return data.Map(data.Of(p.of...), func(pair [2]string, _ *rand.Rand) (data.Sample, error) {
		return in.Eval(data.ImageFile{Path: pair[0], Class: -1}, nil)
	})
}

// corrupt lists the pairs with an image that cannot be decoded.
func (p *imagePairs) corrupt(ctx context.Context) (bad []data.BadItem, err error) {
	for k := range 2 {
		f := data.Folders{}
		for _, pair := range p.of {
			f.Items = append(f.Items, data.ImageFile{Path: pair[k], Class: -1})
		}
		list, err := f.Corrupt(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range list {
			i := slices.IndexFunc(p.of, func(pair [2]string) bool { return pair[k] == b.Path })
			if b.Path = p.of[i][0]; !slices.ContainsFunc(bad, func(x data.BadItem) bool { return x.Path == b.Path }) {
				bad = append(bad, b)
			}
		}
	}
	return bad, nil
}

// drop removes pairs.
func (p *imagePairs) drop(bad []data.BadItem) {
	p.of = slices.DeleteFunc(p.of, func(pair [2]string) bool {
		return slices.ContainsFunc(bad, func(b data.BadItem) bool { return b.Path == pair[0] })
	})
}

// oneScore converts the masks of a set, classes 0 and 1, to targets for models with one score for each pixel.
func oneScore(s data.Dataset[data.Sample]) data.Dataset[data.Sample] {
	return data.Map(s, func(in data.Sample, _ *rand.Rand) (data.Sample, error) {
		y := in.Y[0]
		from := y.Int64s()
		to := make([]float32, len(from))
		for i, c := range from {
			if c < 0 {
				return in, fmt.Errorf("a mask has pixels without a class, which a model with one score does not take: want black and white, or a model with a score for each class")
			}
			to[i] = float32(c)
		}
		in.Y = []*tensor.Dense{tensor.New(tensor.WithShape(append([]int{1}, y.Shape()...)...), tensor.WithBacking(to))}
		return in, nil
	})
}
