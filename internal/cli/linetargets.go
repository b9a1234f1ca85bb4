package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// noClass is the target of positions that losses ignore.
const noClass = -100

// lineTargets are the targets of objects.
type lineTargets struct {
	name    string          // key
	of      []*tensor.Dense // one for each object
	unequal bool            // lists of different lengths
}

// samples returns the targets as samples without inputs.
func (y lineTargets) samples() []data.Sample {
	list := make([]data.Sample, len(y.of))
	for i := range list {
		list[i].X = y.of[i : i+1]
	}
	return list
}

// lineTargets reads the targets of objects: numbers, words, or lists of them, which may differ in length if they are classes.
func (d *dataset) lineTargets(rows []map[string]any, s *samples) (y lineTargets, err error) {
	if y.name, err = d.targetKey(rows[0]); err != nil {
		return y, err
	}
	each, shapes := make([][]any, len(rows)), make([][]int, len(rows))
	words, whole, n := 0, d.task != "regression", 0
	for i, row := range rows {
		if each[i], shapes[i], err = flatten(row[y.name]); err != nil {
			return y, fmt.Errorf("object %d: the target %s: %w", i+1, y.name, err)
		}
		if len(shapes[i]) != len(shapes[0]) || len(shapes[i]) > 0 && !slices.Equal(shapes[i][1:], shapes[0][1:]) {
			return y, fmt.Errorf("object %d: the target %s is %v: want one as in the first object", i+1, y.name, row[y.name])
		}
		y.unequal = y.unequal || !slices.Equal(shapes[i], shapes[0])
		for _, x := range each[i] {
			n++
			switch x := x.(type) {
			case string:
				words++
			case json.Number:
				_, err := x.Int64()
				whole = whole && err == nil
			}
		}
	}
	if d.texts != nil {
		d.texts.Target = y.name
	}
	if words == n {
		if err := d.wordClasses("object", each, s); err != nil {
			return y, err
		}
		whole = true
	}
	if y.unequal && !whole {
		return y, fmt.Errorf("the target %s has lists of numbers of unequal length: only classes, whole numbers or words, can be padded", y.name)
	}
	d.positions = whole && len(shapes[0]) > 0
	if y.unequal {
		for i := range each {
			if len(each[i]) == 0 {
				return y, fmt.Errorf("object %d: the target %s is empty", i+1, y.name)
			}
		}
	}
	for i := range each {
		t, shape := dtype.Float32, shapes[i]
		if whole {
			t = dtype.Int64
		} else if len(shape) == 0 {
			shape = []int{1}
		}
		v, err := tensorOf(t, each[i], shape)
		if err != nil {
			return y, fmt.Errorf("object %d: the target %s: %w", i+1, y.name, err)
		}
		y.of = append(y.of, v.(*tensor.Dense))
	}
	return y, nil
}

// targetNames returns the names that the target may have: --target, or y, label, target, labels, tags, or the name of an output.
// An input of the model is its target only by --target.
func (d *dataset) targetNames() []string {
	if d.target != "" {
		return []string{d.target}
	}
	if d.texts != nil && d.texts.Target != "" {
		return []string{d.texts.Target}
	}
	names := []string{"y", "label", "target", "labels", "tags"}
	for _, v := range d.graph.Outputs() {
		if !slices.Contains(names, v.Name()) {
			names = append(names, v.Name())
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(d.graph.Inputs(), func(v *nn.Value) bool { return v.Name() == name })
	})
}

// targetKey returns the key of the target.
func (d *dataset) targetKey(row map[string]any) (string, error) {
	keys := d.targetNames()
	at := slices.IndexFunc(keys, func(k string) bool { _, ok := row[k]; return ok })
	if at < 0 {
		return "", fmt.Errorf("object 1: no target under %s; it has %s; --target names another", strings.Join(keys, ", "), brief(slices.Sorted(maps.Keys(row))))
	}
	return keys[at], nil
}

// wordClasses replaces targets that are words by the indices of their classes. what names the owner of a list in errors.
func (d *dataset) wordClasses(what string, each [][]any, s *samples) error {
	s.classes = d.among
	if s.classes == nil {
		set := map[string]bool{}
		for _, list := range each {
			for _, x := range list {
				set[x.(string)] = true
			}
		}
		s.classes = slices.Sorted(maps.Keys(set))
	}
	for i, list := range each {
		for k, x := range list {
			c := slices.Index(s.classes, x.(string))
			if c < 0 {
				return fmt.Errorf("%s %d: the target is %q, which is not among the classes %s", what, i+1, x, brief(s.classes))
			}
			list[k] = json.Number(fmt.Sprint(c))
		}
	}
	return nil
}
