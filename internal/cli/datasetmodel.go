package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
)

// agree refuses data whose classes differ from the model's in name or number.
func (d *dataset) agree(g *nn.Graph) error {
	known, err := labelsOf(g)
	if err != nil || d.classes == nil {
		return err
	}
	if known != nil && !slices.Equal(known, d.classes) {
		return fmt.Errorf("the data have the classes %s, the model knows %s", brief(d.classes), brief(known))
	}
	if out := g.Outputs(); d.positions && len(out) > 0 && out[0].Type().Rank() == 3 && !scoresOf(out, len(d.classes)) {
		return fmt.Errorf("the data have %d classes (%s), the model gives %v", len(d.classes), brief(d.classes), ports(out)[0])
	}
	if n, ok := scores(g.Outputs()); ok && n > 1 && n != len(d.classes) && !(d.positions && scoresOf(g.Outputs(), len(d.classes))) {
		return fmt.Errorf("the data have %d classes (%s), the model gives %d scores", len(d.classes), brief(d.classes), n)
	}
	return nil
}

// scores returns the size of the class axis of the first output, if it is known.
func scores(outputs []*nn.Value) (n int, ok bool) {
	if len(outputs) == 0 || outputs[0].Type().Rank() < 2 {
		return 0, false
	}
	d := outputs[0].Type().Shape[1]
	return d.Size, d.Known()
}

// scoresOf reports whether the first output has scores of n classes, on axis 1 or, for positions of a sequence, on the last.
func scoresOf(outputs []*nn.Value, n int) bool {
	if len(outputs) == 0 || outputs[0].Type().Rank() < 2 {
		return false
	}
	s := outputs[0].Type().Shape
	return s[1].Size == n || len(s) == 3 && s[2].Size == n
}

// brief lists the first few names.
func brief(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) > 5 {
		return fmt.Sprintf("%s … (%d in all)", strings.Join(names[:5], ", "), len(names))
	}
	return strings.Join(names, ", ")
}

// describe stores the preprocessing of images and, if the model has a score for each class, the class names in the
// model's metadata, where run and eval read them.
func (d *dataset) describe(e *nn.Edit) {
	if d.prepared != nil {
		meta, err := d.prepared.Meta()
		if err != nil {
			e.Failf("%v", err)
		}
		for k, v := range meta {
			e.SetMeta(k, v)
		}
		key, how, err := d.prepared.Finding()
		if err != nil {
			e.Failf("%v", err)
		}
		e.SetMeta(key, how)
	}
	if d.outputs != nil {
		d.outputs.describe(e)
	}
	if d.numeric != nil {
		d.numeric.describe(e)
	}
	if d.texts != nil {
		d.texts.describe(e)
	}
	if d.colors != "" {
		e.SetMeta(metaColors, string(d.colors))
	}
	if d.tagged {
		e.SetMeta(metaTask, "tags")
	}
	if d.blackWhite {
		e.SetMeta(metaTask, "mask")
	}
	if n, ok := scores(e.Outputs()); ok && d.segmented > 1 && n == d.segmented {
		e.SetLabels(d.segmentNames()...)
	}
	if d.classes != nil && scoresOf(e.Outputs(), len(d.classes)) {
		e.SetLabels(d.classes...)
	}
	if d.measurements {
		e.SetMeta(metaTask, "values")
	} else if e.Meta()[metaTask] == "values" {
		e.SetMeta(metaTask, "")
	}
	if d.positions && len(e.Outputs()) > 0 && e.Outputs()[0].Type().Rank() == 3 {
		e.SetMeta(metaTask, "positions")
	}
}

// labelsOf returns the names of the classes in a model's metadata, nil if there are none.
func labelsOf(g *nn.Graph) ([]string, error) {
	list := g.Labels()
	if list == nil && g.Meta()[nn.MetaLabels] != "" {
		return nil, fmt.Errorf("metadata %s is not a JSON list of names", nn.MetaLabels)
	}
	return list, nil
}
