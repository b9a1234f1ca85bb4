package nn

import (
	"github.com/graft-ml/graft/nn/op/std"
)

// reorderRule is a Concat of pieces of one value: exporters put the gates of recurrent weights into
// ONNX's order like that, at every run and with a gradient of one padded tensor for each piece.
func reorderRule() rule {
	return rule{"reorder", on("Concat"), func(m *matching) *fused {
		if len(m.root.in) < 2 {
			return nil
		}
		var whole *Value
		cfg := std.ReorderConfig{Axis: -1}
		for _, v := range m.root.in {
			if v == nil || v.producer == nil || v.producer.opType != "Slice" || !m.w.fuser.live[v.producer] || m.w.at(v) == nil {
				return nil
			}
			n := v.producer
			if whole == nil {
				whole = n.in[0]
			}
			c := m.w.call(n, n.reads())
			if n.in[0] != whole || c == nil || c.Resolve() != nil {
				return nil
			}
			axis, from, size, ok := std.Piece(c)
			if !ok || axis < 0 || cfg.Axis >= 0 && axis != cfg.Axis {
				return nil
			}
			cfg.Axis, cfg.From, cfg.Size = axis, append(cfg.From, from), append(cfg.Size, size)
			m.nodes = append(m.nodes, n)
		}
		axis := m.root.config.(std.ConcatConfig).Axis
		if axis < 0 {
			axis += m.w.at(whole).typ.Rank()
		}
		if axis != cfg.Axis || !m.closed() {
			return nil
		}
		return &fused{cfg, values(whole)}
	}}
}
