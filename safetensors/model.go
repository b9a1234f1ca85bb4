package safetensors

import (
	"bufio"
	"io"
	"maps"
	"slices"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"gorgonia.org/tensor"
)

// Load sets the parameters of a model to the tensors of the same names in a file. Weights and statistics that the file
// lacks, or has in another shape or type, keep their values; their names are returned, in order. Tensors without a
// parameter are ignored.
func Load(g *nn.Graph, path string) (fresh []string, err error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tensors, err := Read(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	return Set(g, tensors)
}

// Set is Load from tensors by name, which the model owns afterwards.
func Set(g *nn.Graph, tensors map[string]*tensor.Dense) (fresh []string, err error) {
	list := slices.Collect(g.Params())
	err = g.Edit(func(e *nn.Edit) {
		for _, p := range list {
			d := tensors[p.Name()]
			switch {
			case d != nil && direct.Data(p) != nil && d.Dtype() == direct.Data(p).Dtype() && slices.Equal(d.Shape(), direct.Data(p).Shape()):
				direct.SetData(e, p.Value(), d)
			case d != nil || p.Role() != nn.Constant:
				fresh = append(fresh, p.Name())
			}
		}
	})
	return fresh, err
}

// Save writes the weights, statistics and other parameters of a model that keep accepts (nil: all) to a file,
// atomically.
func Save(path string, g *nn.Graph, keep func(*nn.Param) bool) error {
	tensors := map[string]*tensor.Dense{}
	for p := range g.Params() {
		if direct.Data(p) != nil && (keep == nil || keep(p)) {
			tensors[p.Name()] = direct.Data(p)
		}
	}
	return disk.WriteFile(path, func(w io.Writer) error { return Write(w, tensors) })
}

// Names returns the names of tensors in order.
func Names(tensors map[string]*tensor.Dense) []string { return slices.Sorted(maps.Keys(tensors)) }
