package cli

import (
	"fmt"
	"strconv"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
)

// segments finds the size of the masks for a model that gives scores for each pixel.
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
	base, err := d.base(g.Inputs()[0].Type())
	if err != nil {
		return err
	}
	shape := base.Shape()
	h, w := shape[1], shape[2]
	if base.NHWC {
		h, w = shape[0], shape[1]
	}
	d.pixelRows, d.pixelColumns = h, w
	if t.Shape[2].Known() && t.Shape[3].Known() {
		d.pixelRows, d.pixelColumns = t.Shape[2].Size, t.Shape[3].Size
	}
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
