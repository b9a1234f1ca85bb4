package cli

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// arrays opens a NumPy archive: bytes with the shape of images are pixels; otherwise arrays have the names of
// the model's inputs, or one is x. The targets are y, or have the name of the first output. Element types are converted
// to those of the model.
func (d *dataset) arrays(ctx context.Context, path string) (s samples, err error) {
	all, err := arraysAt(path)
	if err != nil {
		return s, err
	}
	pixels, err := d.pixelArray(ctx, path, d.graph, all)
	if err != nil {
		return s, err
	}
	if pixels != nil {
		y, err := d.answers(path, all, &s)
		if err != nil {
			return s, err
		}
		p, err := pixelSamples(path, pixels, y)
		p.classes = s.classes
		return p, err
	}
	d.noteLevels(path, all)
	var x []*tensor.Dense
	for _, v := range d.graph.Inputs() {
		a, err := d.arrayFor(path, v, all)
		if err != nil {
			return s, err
		}
		x = append(x, a)
	}
	y, err := d.answers(path, all, &s)
	if err != nil {
		return s, err
	}
	if s.tensors, err = data.Stacked(x, y); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// arrayPair reports whether spec names two arrays, X.npy,Y.npy.
func arrayPair(spec string) (x, y string, ok bool) {
	x, y, ok = strings.Cut(spec, ",")
	isArray := func(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }
	return x, y, ok && isArray(x) && isArray(y)
}

// arraysAt reads the arrays of an archive, or a pair as x and y.
func arraysAt(spec string) (map[string]*tensor.Dense, error) {
	pathX, pathY, ok := arrayPair(spec)
	if !ok {
		return data.Arrays(spec)
	}
	x, err := data.NPY(pathX)
	if err != nil {
		return nil, err
	}
	y, err := data.NPY(pathY)
	if err != nil {
		return nil, err
	}
	return map[string]*tensor.Dense{"x": x, "y": y}, nil
}

// answers returns the targets: y, or the arrays by output name, or one called as targets usually are. A model with several outputs has
// one for each, or only for one.
func (d *dataset) answers(path string, all map[string]*tensor.Dense, s *samples) (list []*tensor.Dense, err error) {
	wanted := d.targetNames()
	missing := func(name string) bool { return all[name] == nil }
	other := func(name string) bool {
		return !slices.ContainsFunc(d.graph.Outputs(), func(v *nn.Value) bool { return v.Name() == name })
	}
	names := slices.DeleteFunc(slices.Clone(wanted), missing)
	if outputs := slices.DeleteFunc(slices.Clone(names), other); len(outputs) > 0 && names[0] != "y" {
		names = outputs
	} else if len(names) > 1 {
		names = names[:1]
	}
	has := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no array with the targets under %s; it has %s; --target names another", path, strings.Join(wanted, ", "), has)
	}
	if n := len(d.graph.Outputs()); len(names) > 1 && len(names) < n {
		return nil, fmt.Errorf("%s: targets for %d of the outputs %v: want one for each, or a single one; it has %s", path, len(names), ports(d.graph.Outputs()), has)
	}
	if len(names) > 1 {
		return d.severalArrays(path, names, all)
	}
	for _, name := range names {
		if err := only(d.graph, name); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if all[name].Dtype() == tensor.String {
			y, err := d.named(path, all[name], s)
			return []*tensor.Dense{y}, err
		}
		y, err := d.targets(path, name, all[name])
		if err != nil {
			return nil, err
		}
		list = append(list, y)
	}
	return list, nil
}

// arrayFor returns the array for an input: the one with its name, or x if the model has one input.
func (d *dataset) arrayFor(path string, v *nn.Value, all map[string]*tensor.Dense) (*tensor.Dense, error) {
	name := v.Name()
	if all[name] == nil && len(d.graph.Inputs()) == 1 {
		name = "x"
	}
	if all[name] == nil {
		orX := ""
		if len(d.graph.Inputs()) == 1 {
			orX = " or x"
		}
		return nil, fmt.Errorf("%s: no array for input %s; it has %s: want arrays by the names of the inputs %v%s, and y", path, v.Name(), arrayNames(all), ports(d.graph.Inputs()), orX)
	}
	if err := d.whole(path, name, all[name]); err != nil {
		return nil, err
	}
	a, note, err := suited(v, withChannel(v, all[name]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.note(path, note)
	return a, nil
}

// named converts an array of class names to class numbers.
func (d *dataset) named(path string, y *tensor.Dense, s *samples) (*tensor.Dense, error) {
	names, ok := y.Data().([]string)
	if !ok || y.Dims() == 0 {
		return nil, fmt.Errorf("%s: the target is a single text, want one for each sample", path)
	}
	each := make([]any, len(names))
	for i, n := range names {
		each[i] = n
	}
	shape := y.Shape()
	if len(shape) == 2 && shape[1] == 1 {
		shape = shape[:1]
	}
	if err := d.wordClasses("sample", slices.Collect(slices.Chunk(each, max(1, len(each)/max(1, shape[0])))), s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.positions = len(shape) > 1
	v, err := tensorOf(dtype.Int64, each, shape)
	if err != nil {
		return nil, fmt.Errorf("%s: the target: %w", path, err)
	}
	return v.(*tensor.Dense), nil
}

// targets converts integers to int64 and floating-point numbers to float32.
func (d *dataset) targets(path, name string, y *tensor.Dense) (*tensor.Dense, error) {
	if err := d.whole(path, name, y); err != nil {
		return nil, err
	}
	from, to := dtype.Of(y.Dtype()), dtype.Float32
	if from.IsInteger() || from == dtype.Bool {
		to = dtype.Int64
	}
	if from == to {
		return y, nil
	}
	if from == dtype.Float64 {
		d.note(path, "targets converted from float64 to float32")
	}
	return dtype.ConvertTo(to, y)
}

func (d *dataset) note(path, note string) {
	if note != "" {
		d.notes = append(d.notes, path+": "+note)
	}
}

// whole refuses training arrays with NaN or infinities; the error gives the position of the first one.
func (d *dataset) whole(path, name string, a *tensor.Dense) error {
	if d.val == "" || !dtype.Of(a.Dtype()).IsFloat() {
		return nil
	}
	first, count, bad := 0, 0, 0.0
	err := eachBlock(a, func(from int, block []float64) {
		for i, v := range block {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				if count++; count == 1 {
					first, bad = from+i, v
				}
			}
		}
	})
	if err != nil || count == 0 {
		return err
	}
	at := make([]int, a.Dims())
	for k, rest := a.Dims()-1, first; k >= 0; k-- {
		at[k], rest = rest%a.Shape()[k], rest/a.Shape()[k]
	}
	others := ""
	if count > 1 {
		others = fmt.Sprintf(", and %d more are not finite", count-1)
	}
	return fmt.Errorf("%s: array %s: element %v is %v%s: the loss would not be finite", path, name, at, bad, others)
}
