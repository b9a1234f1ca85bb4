package nn

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// scan adds the Scan of a spelling, with its subgraph.
func (s *Site) scan(w *speller, p *op.Part) {
	list := w.inputs(p)
	formal := p.Scan.States + p.Scan.Sequences
	if s.t.e.err != nil {
		return
	}
	var types []string
	for i, v := range list[:formal] {
		if i >= p.Scan.States {
			v = &Value{typ: v.typ.With(v.typ.Shape[1:]...)}
		}
		types = append(types, typeText(v))
	}
	body := s.t.bodyOf(types, list[formal:], func(sub *Edit, in []*Value, at func(*Value) *Value) []*Value {
		inner := sub.speller("")
		for i, x := range p.Scan.In {
			if i < formal {
				inner.values[x] = in[i]
			} else {
				inner.values[x] = at(list[i])
			}
		}
		for _, q := range p.Scan.Parts {
			n := inner.add("", q, nil)
			if sub.err != nil {
				return nil
			}
			if err := sub.g.inferNode(n); err != nil {
				sub.fail(err)
				return nil
			}
		}
		var out []*Value
		for _, x := range p.Scan.Out {
			out = append(out, inner.values[x])
		}
		return out
	})
	if s.t.e.err != nil {
		return
	}
	c := std.ScanConfig{Body: body, NumScanInputs: p.Scan.Sequences}
	if p.Scan.Back {
		ones := func(n int) []int {
			list := make([]int, n)
			for i := range list {
				list[i] = 1
			}
			return list
		}
		c.InputDirections, c.OutputDirections = ones(p.Scan.Sequences), ones(len(p.Scan.Out)-p.Scan.States)
	}
	n := s.t.e.NodeN(c, len(p.Out), list[:formal]...)
	for i, x := range p.Out {
		w.values[x] = n.output(i)
	}
}
