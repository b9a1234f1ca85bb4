// Package guide provides the programs of the pages with a model, an input for it, and data.
package guide

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// Reader is who runs a program: the folder holds its files.
type Reader struct {
	model, kept string
	g           *nn.Graph
}

// Main runs one block: its arguments are the page, the number of the block and the model.
func Main(blocks map[string]map[int]func(*Reader) error) {
	r := &Reader{kept: "kept-" + os.Args[2] + ".onnx"}
	if len(os.Args) > 3 {
		r.model = os.Args[3]
	}
	i, err := strconv.Atoi(os.Args[2])
	Check(err)
	f := blocks[os.Args[1]][i]
	if f == nil {
		Check(fmt.Errorf("no program %d in %s", i, os.Args[1]))
	}
	Check(f(r))
}

// Given are the names that programs use without declaring them: g is the model, x a random input for it, fit and val are
// random samples for a classifier.
func (r *Reader) Given() (context.Context, *nn.Graph, *tensor.Dense, data.Dataset[data.Sample], data.Dataset[data.Sample]) {
	ctx := context.Background()
	if r.model == "" {
		return ctx, nil, nil, nil, nil
	}
	g, err := onnxio.Load(r.model)
	Check(err)
	r.g = g
	feed, err := conformance.RandomInputs(g, map[string]int{"N": 2}, 1)
	Check(err)
	x, _ := feed[g.Inputs()[0].Name()].(*tensor.Dense)
	var s samples
	for _, d := range g.Inputs()[0].Type().Shape[1:] {
		s.shape = append(s.shape, d.Size)
	}
	out := g.Outputs()[0].Type().Shape
	s.classes = max(out[len(out)-1].Size, 1)
	return ctx, g, x, s, s
}

// Keep writes the model that a program changed.
func (r *Reader) Keep(g *nn.Graph) error {
	if g == nil || g == r.g && g.Version() == 0 {
		return nil
	}
	return onnxio.Save(r.kept, g)
}

// Check ends the program when the last of a call's results is an error.
func Check(results ...any) {
	if len(results) > 0 {
		if err, ok := results[len(results)-1].(error); ok && err != nil {
			fmt.Fprintln(os.Stderr, "graft:", err)
			os.Exit(1)
		}
	}
}

// samples are random ones whose class is where the first numbers are large.
type samples struct {
	shape   []int
	classes int
}

func (s samples) Len() int { return 16 }

func (s samples) At(i int, _ *rand.Rand) (data.Sample, error) {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	n := 1
	for _, d := range s.shape {
		n *= d
	}
	v := make([]float32, n)
	for k := range v {
		v[k] = r.Float32()
	}
	class := i % s.classes
	if class < n {
		v[class] = 3
	}
	x := tensor.New(tensor.WithShape(s.shape...), tensor.WithBacking(v))
	y := tensor.New(tensor.FromScalar(int64(class)))
	return data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}, nil
}
