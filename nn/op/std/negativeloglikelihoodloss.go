package std

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// NegativeLogLikelihoodLossConfig has the attributes of NegativeLogLikelihoodLoss.
type NegativeLogLikelihoodLossConfig struct {
	IgnoreIndex *int   `onnx:"ignore_index"`           // targets of this value do not contribute; nil: all do
	Reduction   string `onnx:"reduction,default=mean"` // none, sum, or mean (weighted by the class weights)
}

// Operator makes NegativeLogLikelihoodLossConfig a Config.
func (NegativeLogLikelihoodLossConfig) Operator() op.Name {
	return op.Name{Name: "NegativeLogLikelihoodLoss"}
}

func negativeLogLikelihoodLoss() *op.Op {
	return &op.Op{
		Name: "NegativeLogLikelihoodLoss", Since: []int{12, 13, 22},
		Doc: "Minus the logarithmic probability of the right classes.",
		In:  "input T, target Tind, weight? T", Out: "loss T", Where: op.Where{"T": op.Floats(), "Tind": op.Indices()},
		Attrs: NegativeLogLikelihoodLossConfig{},
		Infer: inferClassLoss,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := classLossOf(c)
			return floatKernel(c, nllKernel[float32](l), nllKernel[float64](l)), nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			return classLossGrads(c, in, in[0], out[0], dout[0])
		},
		Couple: coupleClassLoss,
	}
}

// classLoss is the geometry of a loss over classes, and the configuration of ClassLossGrad:
// scores [N, C, Space], labels [N, Space].
type classLoss struct {
	N, C, Space int
	Ignore      bool
	Index       int // the label to ignore
	Reduction   string
	Scores      bool // the operand are scores, not logarithmic probabilities
}

func (classLoss) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "ClassLossGrad"} }

func classLossOf(c *op.Call) classLoss {
	var ignore *int
	var l classLoss
	switch cfg := c.Config.(type) {
	case NegativeLogLikelihoodLossConfig:
		ignore, l.Reduction = cfg.IgnoreIndex, cfg.Reduction
	case SoftmaxCrossEntropyLossConfig:
		ignore, l.Reduction, l.Scores = cfg.IgnoreIndex, cfg.Reduction, true
	}
	l.Ignore, l.Index = ignore != nil, orInt(ignore, 0)
	l.N, l.C, l.Space = channels(c.In[0])
	return l
}

// inferClassLoss returns the type of the loss.
func inferClassLoss(c *op.Call) ([]op.Type, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	if rank < 2 {
		return nil, c.Mismatch(0, "batch and classes", c.In[0])
	}
	s := c.In[0].Shape
	labels := append([]op.Dim{s[0]}, s[2:]...)
	if !c.In[1].Unranked {
		want := c.In[1].With(labels...)
		if len(c.In[1].Shape) != len(labels) {
			return nil, c.Mismatch(1, want, c.In[1])
		}
		for i, d := range c.In[1].Shape {
			var ok bool
			if labels[i], ok = labels[i].Merge(d); !ok {
				return nil, c.Mismatch(1, want, c.In[1])
			}
		}
	}
	if err := channelVector(c, 2, s[1]); err != nil {
		return nil, err
	}
	switch r := classLossOf(c).Reduction; r {
	case "none":
		return []op.Type{c.In[0].With(labels...)}, nil
	case "sum", "mean":
		return []op.Type{c.In[0].With()}, nil
	default:
		return nil, c.Errorf("reduction %q is unknown", r)
	}
}

// each calls f for every label that counts: its number, its class, the position of its
// probability and its weight. Labels beyond the classes are an error.
func (l classLoss) each(p *kernel.Pool, labels []int64, weight func(class int) float64, f func(i, class, at int, w float64)) error {
	pace := p.Pace()
	for i, v := range labels {
		if pace.Did(4); l.Ignore && int(v) == l.Index {
			continue
		}
		if v < 0 || v >= int64(l.C) {
			return fmt.Errorf("label %d is outside of [0, %d)", v, l.C)
		}
		n, s := i/l.Space, i%l.Space
		f(i, int(v), (n*l.C+int(v))*l.Space+s, weight(int(v)))
	}
	return nil
}

func weightOf[T kernel.Float](w *tensor.Dense) func(int) float64 {
	if w == nil {
		return func(int) float64 { return 1 }
	}
	v := dtype.Elems[T](w)
	return func(class int) float64 { return float64(v[class]) }
}

// classNumbers are labels as int64, to be read only: a copy is made of int32 alone.
func classNumbers(p *kernel.Pool, d *tensor.Dense) ([]int64, error) {
	if dtype.Of(d.Dtype()) == dtype.Int64 {
		return dtype.Slice[int64](d), nil
	}
	return int64s(p, d)
}

// nllLoss computes the reduced loss from logarithmic probabilities.
func nllLoss[T kernel.Float](p *kernel.Pool, l classLoss, logp []T, labels, weight, out *tensor.Dense) error {
	class, err := classNumbers(p, labels)
	if err != nil {
		return err
	}
	y := dtype.Elems[T](out)
	kernel.Clear(p, y)
	sum, total := 0.0, 0.0
	err = l.each(p, class, weightOf[T](weight), func(i, _, at int, w float64) {
		v := -w * float64(logp[at])
		if l.Reduction == "none" {
			y[i] = T(v)
		}
		sum += v
		total += w
	})
	switch l.Reduction {
	case "sum":
		y[0] = T(sum)
	case "mean":
		y[0] = T(sum / total)
	}
	return err
}

func nllKernel[T kernel.Float](l classLoss) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		return nllLoss(pool(x), l, dtype.Elems[T](in[0]), in[1], optional(in, 2), out[0])
	}
}

// classLossGrad returns the gradient of both losses over classes: with respect to logarithmic
// probabilities, or, with Scores, to the scores that they were made of.
func classLossGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ClassLossGrad", Since: []int{1}, Decompose: spelled(spellClassLossGrad), Doc: "Gradient of a loss over classes.",
		In: "dL T, logp T, loss T, labels Tind, weight? T", Out: "dX T, dweight T",
		Where: op.Where{"T": op.Floats(), "Tind": op.Indices()}, Attrs: classLoss{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if len(c.In[1].Shape) < 2 {
				return nil, c.Mismatch(1, "rank 2 or more", c.In[1])
			}
			return []op.Type{c.In[1], c.In[0].With(c.In[1].Shape[1])}, nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			l := c.Config.(classLoss)
			return floatKernel(c, classLossBack[float32](l), classLossBack[float64](l)), nil
		},
	}
}

func classLossBack[T kernel.Float](l classLoss) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		class, err := classNumbers(pool(x), in[3])
		if err != nil {
			return err
		}
		dl, logp, loss := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2])
		weight, total, mean := weightOf[T](optional(in, 4)), 1.0, 0.0
		if l.Reduction == "mean" {
			total, mean = 0, float64(loss[0])
		}
		err = l.each(pool(x), class, weight, func(_, _, _ int, w float64) {
			if l.Reduction == "mean" {
				total += w
			}
		})
		if err != nil {
			return err
		}
		g := func(i int) float64 {
			if l.Reduction == "none" {
				return float64(dl[i])
			}
			return float64(dl[0]) / total
		}
		if dx := dtype.Elems[T](out[0]); dx != nil {
			pool(x).Range(len(class), 1+4096/max(l.C, 1), func(lo, hi int) {
				for i := lo; i < hi; i++ {
					k := 0.0
					if !l.Ignore || int(class[i]) != l.Index {
						k = g(i) * weight(int(class[i]))
					}
					classColumn(pool(x), l, dx, logp, i, int(class[i]), T(k))
				}
			})
		}
		dw := dtype.ElemsAt[T](out, 1)
		if dw == nil {
			return nil
		}
		kernel.Clear(pool(x), dw)
		return l.each(pool(x), class, weight, func(i, k, at int, _ float64) { dw[k] += T(g(i) * (-float64(logp[at]) - mean)) })
	}
}

// classColumn is the gradient of one label's scores, or of its logarithmic probabilities; k is
// the weight of the label, 0 where it does not count.
func classColumn[T kernel.Float](p *kernel.Pool, l classLoss, dx, logp []T, i, class int, k T) {
	first := i/l.Space*l.C*l.Space + i%l.Space
	last := first + (l.C-1)*l.Space
	switch {
	case k == 0 || !l.Scores:
		pace := p.Pace()
		for at := first; at <= last; at += l.Space {
			pace.Did(1)
			dx[at] = 0
		}
	case l.Space == 1:
		p.InParts(l.C, func(lo, hi int) {
			dx, logp := dx[first:][lo:hi], logp[first:][lo:hi]
			elementwise.Exp(nil, dx, logp)
			elementwise.Scale(nil, k, dx, dx)
		})
	default:
		pace := p.Pace()
		for at := first; at <= last; at += l.Space {
			pace.Did(4)
			dx[at] = k * T(math.Exp(float64(logp[at])))
		}
	}
	if k != 0 {
		dx[first+class*l.Space] -= k
	}
}

// classLossGrads returns the gradients of data and class weights.
func classLossGrads(c *op.Call, in gorgonia.Nodes, logp, loss, dloss *gorgonia.Node) (gorgonia.Nodes, error) {
	args := append(gorgonia.Nodes{dloss, logp, loss}, in[1:]...)
	g, err := c.ApplyN(2, classLossOf(c), args...)
	if err != nil {
		return nil, err
	}
	if len(in) < 3 || in[2] == nil {
		return g[:1], nil
	}
	return gorgonia.Nodes{g[0], nil, g[1]}, nil
}

// coupleClassLoss: batch and space pass through, or are reduced over; classes are fixed.
func coupleClassLoss(c *op.Call) []coupling.Coupling {
	over := coupling.Map{Relation: coupling.Norm}
	if classLossOf(c).Reduction == "none" {
		over.Relation = coupling.Identity
	}
	list := []coupling.Coupling{{From: coupling.In(0, 0), To: coupling.In(1, 0), Map: over}}
	for a := 2; a < len(c.In[0].Shape); a++ {
		list = append(list, coupling.Coupling{From: coupling.In(0, a), To: coupling.In(1, a-1), Map: over})
	}
	for a := range c.Out[0].Shape {
		list = append(list, op.Couple(coupling.In(1, a), coupling.Out(0, a)))
	}
	return list
}
