package std

import (
	"github.com/graft-ml/graft/nn/op"
)

// reorderRule returns a Concat of slices of one value: exporters reorder the gates of recurrent weights to
// ONNX's order in this way, at every run and with one padded gradient tensor for each slice.
func reorderRule() op.Rewrite {
	pattern := op.OnEach(op.Plain("Concat"), on("Slice", op.Anything("whole"))).As("joined")
	return op.Rewrite{Name: "reorder", Pattern: pattern, Build: func(m op.Match) *op.Replacement {
		joined := m.Value("joined")
		c := m.Call(joined)
		along, err := concatAxis(c)
		if err != nil || len(c.In) < 2 {
			return nil
		}
		cfg := ReorderConfig{Axis: along}
		for i := range c.In {
			cut := m.Call(m.Input(joined, i))
			if cut == nil {
				return nil
			}
			axis, from, size, ok := sliceRange(cut)
			if !ok || axis != along {
				return nil
			}
			cfg.From, cfg.Size = append(cfg.From, from), append(cfg.Size, size)
		}
		return &op.Replacement{Config: cfg, In: sources(m, "whole")}
	}}
}
