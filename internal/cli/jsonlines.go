package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// isLines reports whether a path names a file of JSON lines.
func isLines(path string) bool {
	return slices.Contains([]string{".jsonl", ".ndjson"}, strings.ToLower(filepath.Ext(path)))
}

// lines reads JSON lines: inputs by name, or texts, and the target under the key of --target, the name of the first output, y or label.
func (d *dataset) lines(ctx context.Context, path string) (s samples, err error) {
	b, err := disk.ReadFile(path)
	if err != nil {
		return s, err
	}
	rows, err := objects(ctx, b)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("no objects")
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	has := func(name string) bool { _, ok := rows[0][name]; return ok }
	if names := outputsIn(d.graph, has); names != nil && d.target == "" && d.texts == nil {
		list, err := d.severalLines(rows, names)
		if err == nil {
			s.tensors, err = d.sequences(rows, list, path)
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		return s, nil
	}
	y, err := d.lineTargets(rows, &s)
	if err == nil {
		err = only(d.graph, y.name)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	if d.texts != nil && d.positions {
		return s, d.taggedWords(ctx, rows, y, path, &s)
	}
	if d.texts != nil && d.texts.Words {
		return s, fmt.Errorf("%s: the model has a class for each word: want a list of classes under %s", path, y.name)
	}
	if d.texts != nil {
		list, pairs, err := d.texts.objects(rows)
		if err == nil {
			s.tensors, err = d.texts.set(ctx, list, pairs, data.Of(y.samples()...))
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		return s, nil
	}
	if s.tensors, err = d.sequences(rows, []lineTargets{y}, path); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// sequences returns the inputs of objects with their targets. Lengths may differ: a batch is padded, inputs with zeros, classes of
// positions with the index that losses ignore.
func (d *dataset) sequences(rows []map[string]any, ys []lineTargets, path string) (data.Dataset[data.Sample], error) {
	inputs, y := d.graph.Inputs(), ys[0]
	pad := &data.Padding{X: make([]float64, len(inputs))}
	if y.unequal {
		pad.Y = []float64{noClass}
	}
	all := make([]data.Sample, len(rows))
	unequal := false
	for i := range rows {
		feed, err := fromObjects(d.graph, rows[i:i+1])
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i+1, err)
		}
		all[i].Pad = pad
		for k, v := range inputs {
			x, ok := feed[v.Name()].(*tensor.Dense)
			if !ok {
				return nil, fmt.Errorf("input %s takes no numbers: models are trained on numbers, and on texts with --text", v.Name())
			}
			if x, err = dtype.View(x, x.Shape()[1:]...); err != nil {
				return nil, err
			}
			if first := all[0].X; i > 0 && !slices.Equal(x.Shape(), first[k].Shape()) {
				if t := v.Type(); t.Rank() < 2 || t.Shape[1].Known() {
					return nil, fmt.Errorf("object %d: input %s has the shape %v, that of the first object %v", i+1, v.Name(), []int(x.Shape()), []int(first[k].Shape()))
				}
				unequal = true
			}
			all[i].X = append(all[i].X, x)
		}
		for _, y := range ys {
			all[i].Y = append(all[i].Y, y.of[i])
		}
		if y.unequal && !slices.ContainsFunc(all[i].X, func(x *tensor.Dense) bool {
			return x.Dims() > 0 && x.Shape()[0] == y.of[i].Shape()[0]
		}) {
			return nil, fmt.Errorf("object %d: the target %s has %d classes, which none of the inputs has positions for: input %s has the shape %v",
				i+1, y.name, y.of[i].Shape()[0], inputs[0].Name(), []int(all[i].X[0].Shape()))
		}
	}
	for _, v := range inputs {
		if _, given := rows[0][v.Name()]; !given {
			d.note(path, fmt.Sprintf("no values for the mask %s: it is 1 at each position of a sequence, and 0 where it is padded", v.Name()))
		}
	}
	if y.unequal {
		d.note(path, "sequences and their targets are padded to the longest of a batch; the loss and the metrics ignore the padding")
	} else if unequal {
		d.note(path, "sequences of unequal length are padded with 0 to the longest of a batch")
	}
	return data.Of(all...), nil
}
