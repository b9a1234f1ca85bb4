package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// isLines reports whether a path is that of JSON lines.
func isLines(path string) bool {
	return slices.Contains([]string{".jsonl", ".ndjson"}, strings.ToLower(filepath.Ext(path)))
}

// lines reads JSON lines: inputs by name, or texts, and the target under the key of --target, of the first output, y or label.
func (d *dataset) lines(path string) (s samples, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	rows, err := objects(b)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("no objects")
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	y, err := d.lineTargets(rows, &s)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	if d.texts != nil {
		list, pairs, err := d.texts.objects(rows)
		if err == nil {
			s.tensors, err = d.texts.set(list, pairs, y)
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		return s, nil
	}
	if s.tensors, err = d.sequences(rows, y, path); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// sequences are the inputs of objects with their targets, one along the first axis of y for each. Lengths may differ: in a batch
// they are filled up with zeros.
func (d *dataset) sequences(rows []map[string]any, y *tensor.Dense, path string) (data.Set[data.Sample], error) {
	targets, err := data.Tensors(y, nil)
	if err != nil {
		return nil, err
	}
	inputs := d.graph.Inputs()
	pad := &data.Padding{X: make([]float64, len(inputs))}
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
			if first := all[0].X; i > 0 && !x.Shape().Eq(first[k].Shape()) {
				if t := v.Type(); t.Rank() < 2 || t.Shape[1].Known() {
					return nil, fmt.Errorf("object %d: input %s has the shape %v, that of the first object %v", i+1, v.Name(), []int(x.Shape()), []int(first[k].Shape()))
				}
				unequal = true
			}
			all[i].X = append(all[i].X, x)
		}
		t, err := targets.At(i, nil)
		if err != nil {
			return nil, err
		}
		all[i].Y = t.X
	}
	if unequal {
		d.note(path, "sequences of unequal length are filled up with 0 to the longest of a batch")
	}
	return data.Of(all...), nil
}

// lineTargets are the targets of objects.
func (d *dataset) lineTargets(rows []map[string]any, s *samples) (*tensor.Dense, error) {
	keys := []string{"y", "label", "target"}
	for _, v := range d.graph.Outputs() {
		keys = append(keys, v.Name())
	}
	if d.target != "" {
		keys = []string{d.target}
	} else if d.texts != nil && d.texts.Target != "" {
		keys = []string{d.texts.Target}
	}
	at := slices.IndexFunc(keys, func(k string) bool { _, ok := rows[0][k]; return ok })
	if at < 0 {
		return nil, fmt.Errorf("object 1: no target under %s; it has %s; --target names it", strings.Join(keys, ", "), brief(slices.Sorted(maps.Keys(rows[0]))))
	}
	var flat []any
	var dims []int
	words, whole := 0, d.task != "regression"
	for i, row := range rows {
		var shape []int
		var err error
		if flat, shape, err = flatten(flat, row[keys[at]]); err != nil || i > 0 && !slices.Equal(shape, dims) {
			return nil, fmt.Errorf("object %d: the target %s is %v: want one as in the first object", i+1, keys[at], row[keys[at]])
		}
		dims = shape
	}
	for _, x := range flat {
		switch x := x.(type) {
		case string:
			words++
		case json.Number:
			_, err := x.Int64()
			whole = whole && err == nil
		}
	}
	if d.texts != nil {
		d.texts.Target = keys[at]
	}
	if words == len(flat) && len(dims) == 0 {
		return d.lineClasses(flat, s)
	}
	if whole {
		return denseOf(dtype.Int64, flat, append([]int{len(rows)}, dims...))
	}
	if len(dims) == 0 {
		dims = []int{1}
	}
	return denseOf(dtype.Float32, flat, append([]int{len(rows)}, dims...))
}

// lineClasses numbers targets that are words.
func (d *dataset) lineClasses(flat []any, s *samples) (*tensor.Dense, error) {
	s.classes = d.among
	if s.classes == nil {
		set := map[string]bool{}
		for _, x := range flat {
			set[x.(string)] = true
		}
		s.classes = slices.Sorted(maps.Keys(set))
	}
	y := make([]int64, len(flat))
	for i, x := range flat {
		k := slices.Index(s.classes, x.(string))
		if k < 0 {
			return nil, fmt.Errorf("object %d: the target is %q, which is not among the classes %s", i+1, x, brief(s.classes))
		}
		y[i] = int64(k)
	}
	return dtype.FromSlice(y, len(y))
}

// denseOf is a tensor of elements of JSON that are numbers.
func denseOf(t dtype.DType, flat []any, dims []int) (*tensor.Dense, error) {
	v, err := tensorOf(t, flat, dims)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return v.(*tensor.Dense), nil
}
