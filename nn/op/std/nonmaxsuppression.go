package std

import (
	"cmp"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// NonMaxSuppressionConfig has the attribute of NonMaxSuppression: boxes are given by two corners
// (y1, x1, y2, x2), or with CenterPointBox by (x, y, width, height).
type NonMaxSuppressionConfig struct {
	CenterPointBox bool `onnx:"center_point_box"` // boxes are (x center, y center, width, height)
}

// Operator makes NonMaxSuppressionConfig a Config.
func (NonMaxSuppressionConfig) Operator() op.Name { return op.Name{Name: "NonMaxSuppression"} }

func nonMaxSuppression() *op.Op {
	return &op.Op{
		Name: "NonMaxSuppression", Since: []int{10, 11},
		Doc: "Picks boxes by score, leaving out those that overlap one picked before. A row is (batch, class, box).",
		In:  "boxes float32, scores float32, max_output_boxes_per_class? int64, iou_threshold? float32, score_threshold? float32",
		Out: "selected_indices int64", Attrs: NonMaxSuppressionConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			in := make([]*tensor.Dense, len(c.In))
			for i := range c.In {
				if !c.Has(i) {
					continue
				}
				v, err := c.Value(i)
				if err != nil {
					return []op.Type{op.T(dtype.Int64, op.Unknown(), op.D(3))}, err
				}
				d, ok := v.(*tensor.Dense)
				if !ok {
					return nil, c.Mismatch(i, "a tensor", op.TypeOf(v))
				}
				in[i] = d
			}
			rows, err := suppress(poolOf(c), c, in)
			return []op.Type{op.Shaped(dtype.Int64, len(rows)/3, 3)}, err
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				rows, err := suppress(pool(x), c, in)
				if err != nil {
					return err
				}
				if dst := dtype.Slice[int64](out[0]); len(dst) == len(rows) {
					kernel.Copy(pool(x), dst, rows)
					return nil
				}
				return c.Errorf("picked %d boxes, the program was compiled for %v", len(rows)/3, c.Out[0])
			}, nil
		},
		NoGrad: "picks indices", Pinned: "picks indices",
	}
}

// box has its corners sorted.
type box struct{ y1, x1, y2, x2 float32 }

func (b box) area() float32 { return (b.y2 - b.y1) * (b.x2 - b.x1) }

// overlap returns the intersection over the union.
func (b box) overlap(o box) float32 {
	h, w := min(b.y2, o.y2)-max(b.y1, o.y1), min(b.x2, o.x2)-max(b.x1, o.x1)
	if h <= 0 || w <= 0 {
		return 0
	}
	return h * w / (b.area() + o.area() - h*w)
}

func suppress(p *kernel.Pool, c *op.Call, in []*tensor.Dense) ([]int64, error) {
	bs, ss := in[0].Shape(), in[1].Shape()
	if len(bs) != 3 || len(ss) != 3 || bs[2] != 4 || bs[0] != ss[0] || bs[1] != ss[2] {
		return nil, c.Errorf("wants boxes [batch,n,4] and scores [batch,classes,n], got %v and %v", bs, ss)
	}
	most, limit := 0, float32(0)
	var least *float32
	if len(in) > 2 && in[2] != nil {
		n, err := firstInt(c, 2, in[2])
		if err != nil {
			return nil, err
		}
		most = n
	}
	number := func(i int) (float32, bool) {
		if i >= len(in) || in[i] == nil || in[i].Size() != 1 {
			return 0, false
		}
		return dtype.Slice[float32](in[i])[0], true
	}
	if v, ok := number(3); ok {
		limit = v
	}
	if v, ok := number(4); ok {
		least = &v
	}
	boxes, scores := corners(p, dtype.Slice[float32](in[0]), c.Config.(NonMaxSuppressionConfig).CenterPointBox), dtype.Slice[float32](in[1])
	n := bs[1]
	var rows []int64
	for k := range ss[0] * ss[1] {
		b := k / ss[1]
		for _, i := range pickBoxes(p, boxes[b*n:(b+1)*n], scores[k*n:(k+1)*n], most, limit, least) {
			rows = append(rows, int64(b), int64(k%ss[1]), int64(i))
		}
	}
	return rows, nil
}

func corners(p *kernel.Pool, v []float32, center bool) []box {
	list, pace := make([]box, len(v)/4), p.Pace()
	for i := range list {
		pace.Did(8)
		a := v[4*i : 4*i+4]
		if center {
			list[i] = box{a[1] - a[3]/2, a[0] - a[2]/2, a[1] + a[3]/2, a[0] + a[2]/2}
			continue
		}
		list[i] = box{min(a[0], a[2]), min(a[1], a[3]), max(a[0], a[2]), max(a[1], a[3])}
	}
	return list
}

func pickBoxes(p *kernel.Pool, boxes []box, scores []float32, most int, limit float32, least *float32) []int {
	var order, picked []int
	pace := p.Pace()
	for i, s := range scores {
		pace.Did(4)
		if least == nil || s > *least {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		pace.Did(1)
		return cmp.Compare(scores[b], scores[a])
	})
	for _, i := range order {
		p.Check()
		if len(picked) >= most {
			break
		}
		if !slices.ContainsFunc(picked, func(j int) bool { return boxes[i].overlap(boxes[j]) > limit }) {
			picked = append(picked, i)
		}
	}
	return picked
}
