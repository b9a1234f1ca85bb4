package cli

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// metaTask is the metadata key for the meaning of outputs that their shape does not show: tags, positions of sequences,
// a mask with one score per pixel, or values, which are several numbers for each sample.
const metaTask = "graft.task"

// tagged reads a table of image files and their tags. If each has exactly one, they are classes.
func tagged(path string) (s samples, err error) {
	t, err := data.ReadTags(path)
	if err != nil {
		return s, err
	}
	s.classes = t.Tags
	f := &data.Folders{Dir: path, Classes: t.Tags}
	for _, i := range t.Items {
		if len(i.Tags) != 1 {
			s.tags = t
			return s, nil
		}
		f.Items = append(f.Items, data.ImageFile{Path: i.Path, Class: i.Tags[0]})
	}
	s.folders = f
	return s, nil
}

// tagging sets the loss for tags: binary, for each tag.
func (t *training) tagging(g *nn.Graph) error {
	if t.blackWhite {
		if t.config.Loss == nil {
			t.config.Loss = train.BCEWithLogits{}
		}
		return nil
	}
	if !t.tagged {
		return nil
	}
	if t.config.Loss == nil {
		t.config.Loss = train.BCEWithLogits{}
	}
	if _, ok := t.config.Loss.(train.BCEWithLogits); !ok {
		return fmt.Errorf("--loss %s: an image may have several tags, which needs the loss bce", t.loss)
	}
	if train.EndsInOne(g.Outputs()[0]) {
		return fmt.Errorf("images have several tags, the model's output %s is probabilities of classes that exclude each other: graft extract --to VALUE makes the scores before them the output", g.Outputs()[0].Name())
	}
	return nil
}
