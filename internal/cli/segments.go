package cli

import (
	"context"
	"fmt"
	"image"
	"strconv"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
)

// segments compares the classes of masks with a model that gives scores for each pixel.
func (d *dataset) segments(g *nn.Graph, m *data.Masks) error {
	d.segmented = m.Classes
	if len(g.Outputs()) == 0 || !takesImages(g) {
		return nil // reported later
	}
	t := g.Outputs()[0].Type()
	if t.Rank() != 4 {
		return fmt.Errorf("%s holds masks, the model gives %v: want scores for each pixel, [N, classes, height, width]", d.data, ports(g.Outputs())[0])
	}
	if n := t.Shape[1]; n.Known() && n.Size < m.Classes {
		if n.Size != 1 || m.Classes != 2 {
			return fmt.Errorf("%s has masks of %d classes, the model gives %v: want a score for each class of each pixel, or one of black and white", d.data, m.Classes, ports(g.Outputs())[0])
		}
		d.blackWhite = true
	}
	return nil
}

// targetSize finds the size of the masks or target images for a model whose input is prepared by p.
func (d *dataset) targetSize(ctx context.Context, g *nn.Graph, s *samples, p data.Preprocess) error {
	if s.pairs != nil {
		if err := s.pairs.suits(g); err != nil {
			return err
		}
	}
	t := g.Outputs()[0].Type()
	size := image.Pt(t.Shape[3].Size, t.Shape[2].Size)
	if !t.Shape[2].Known() || !t.Shape[3].Known() {
		var err error
		if size, err = outputAt(ctx, g, g.Inputs()[0].Type(), extent(p)); err != nil {
			return err
		}
	}
	if s.pairs != nil {
		s.pairs.target = data.Preprocess{Size: size.Y, Width: size.X, Crop: 1, Gray: t.Sizes()[1] == 1}
		return s.pairs.target.Check()
	}
	d.pixelRows, d.pixelColumns = size.Y, size.X
	return nil
}

// segmentNames returns names for the classes of masks, which distinguish a segmentation model from one that outputs images.
func (d *dataset) segmentNames() []string {
	names := make([]string, d.segmented)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
