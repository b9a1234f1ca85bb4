package cli

import (
	"fmt"
	"io"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// source holds the flags about loading a model.
type source struct {
	batch string
	types []string

	warnings func() io.Writer // for warnings about a model; nil: none are printed
}

// flags adds the flags to a command.
func (s *source) flags(cmd *cobra.Command) {
	s.warnings = cmd.ErrOrStderr
	f := cmd.Flags()
	f.StringVar(&s.batch, "batch-dim", "", "name of the batch dimension, N for example; makes a fixed batch size symbolic")
	f.StringArrayVar(&s.types, "type", nil, `change the type of an input, "NAME float32[N,3,224,224]"; repeatable`)
}

func (s source) load(path string) (*nn.Graph, error) {
	if s.batch != "" && s.batch[0] <= '9' {
		return nil, fmt.Errorf("--batch-dim %s: want a name for the batch dimension, such as N; --type fixes the size of an input", s.batch)
	}
	g, err := onnxio.Loader{Inputs: s.types, BatchDim: s.batch}.Load(path)
	if err == nil {
		err = freezeAgain(g)
	}
	return g, err
}

// widened makes a model with trainable parameters in half precision compute in float32, because training does not
// compute in 16 bits. It returns a description of the change, "" if there was none.
func widened(g *nn.Graph) (string, error) {
	for p := range g.Params() {
		if t := p.Value().Type().DType; p.Trainable() && (t == dtype.Float16 || t == dtype.BFloat16) {
			err := g.Edit(func(e *nn.Edit) { e.ComputeIn(dtype.Float32) })
			return fmt.Sprintf("the model computes in %v: it is trained, and written, in float32; --store %[1]v stores its weights in 16 bits", t), err
		}
	}
	return "", nil
}

// freeBatch makes a fixed batch dimension of a model symbolic. If that is not possible, it must have the given size.
func freeBatch(g *nn.Graph, batch int) error {
	for _, v := range g.Inputs() {
		t := v.Type()
		if t.Rank() < 1 || !t.Shape[0].Known() {
			continue
		}
		err := g.Edit(func(e *nn.Edit) { e.FreeBatch("N") })
		if err == nil {
			return nil
		}
		if t.Shape[0].Size != batch {
			return fmt.Errorf("input %s has %d samples fixed, which cannot be freed: %w; --batch %[2]d trains with them", v.Name(), t.Shape[0].Size, err)
		}
	}
	return nil
}
