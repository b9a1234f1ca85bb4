package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// mlDomain is the domain of ONNX's operators of classical machine learning.
const mlDomain = "ai.onnx.ml"

// mlNumbers returns the element types that most of them take.
func mlNumbers() []op.DType {
	return []op.DType{dtype.Float32, dtype.Float64, dtype.Int64, dtype.Int32}
}

// transforms are the functions that may follow scores.
var transforms = [...]string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}

func checkTransform(c *op.Call, name string) error {
	for _, t := range transforms {
		if t == name {
			return nil
		}
	}
	return c.Errorf("post_transform %q is unknown", name)
}

// transform applies a post transform to a row of scores.
func transform(name string, row []float64) {
	switch name {
	case "LOGISTIC":
		for i, v := range row {
			row[i] = sigmoid(v)
		}
	case "SOFTMAX", "SOFTMAX_ZERO":
		top, sum := math.Inf(-1), 0.0
		for _, v := range row {
			top = math.Max(top, v)
		}
		for i, v := range row {
			if name == "SOFTMAX_ZERO" && v == 0 {
				continue
			}
			row[i] = math.Exp(v - top)
			sum += row[i]
		}
		if sum > 0 {
			for i := range row {
				row[i] /= sum
			}
		}
	case "PROBIT":
		for i, v := range row {
			row[i] = math.Sqrt2 * math.Erfinv(2*v-1)
		}
	}
}

// rowsOf sees input 0 as rows of features: [N, C], or [C] as one row.
func rowsOf(c *op.Call) (rows, cols op.Dim, err error) {
	rank, err := c.Rank(0)
	if err != nil {
		return rows, cols, err
	}
	switch s := c.In[0].Shape; rank {
	case 1:
		return op.D(1), s[0], nil
	case 2:
		return s[0], s[1], nil
	}
	return rows, cols, c.Mismatch(0, "rank 1 or 2", c.In[0])
}

// classNames are the labels of classes: strings or integers.
type classNames struct {
	strings []string
	ints    []int
}

func (l classNames) count() int { return max(len(l.strings), len(l.ints)) }

func (l classNames) dtype() op.DType {
	if len(l.strings) > 0 {
		return dtype.String
	}
	return dtype.Int64
}

// pick returns the tensor of the labels with the given numbers.
func (l classNames) pick(p *kernel.Pool, index []int) (dtype.Value, error) {
	pace := p.Pace()
	if len(l.strings) > 0 {
		s := make([]string, len(index))
		for i, k := range index {
			pace.Did(4)
			s[i] = l.strings[k]
		}
		return dtype.NewStrings(s, len(s))
	}
	n := kernel.Uncleared[int64](len(index))
	for i, k := range index {
		pace.Did(4)
		if n[i] = int64(k); k < len(l.ints) {
			n[i] = int64(l.ints[k])
		}
	}
	return dtype.FromSlice(n, len(n))
}

// bestOf returns the number of the first largest element.
func bestOf(row []float64) int {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return best
}

// classScores returns an Infer for classifiers: labels [N] and scores [N, columns].
func classScores(c *op.Call, l classNames, columns int) ([]op.Type, error) {
	out := []op.Type{{DType: l.dtype(), Unranked: true}, {DType: dtype.Float32, Unranked: true}}
	if c.In[0].Unranked {
		return out, nil
	}
	rows, _, err := rowsOf(c)
	if err != nil {
		return nil, err
	}
	return []op.Type{op.T(l.dtype(), rows), op.T(dtype.Float32, rows, op.D(columns))}, nil
}
