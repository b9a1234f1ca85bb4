package softmax

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Attention is the geometry of scaled dot product attention: for each head
//
//	Y = softmax(Scale·Q·Kᵀ + mask)·V
//
// with Q [Rows, Depth], K [Keys, Depth], V [Keys, Width] and Y [Rows, Width]. The heads of a
// tensor may have any strides, but the elements of a row must be contiguous.
type Attention struct {
	Batch, Heads, Rows, Keys int
	Depth, Width             int
	Scale                    float64
	Q, K, V, Y               HeadStrides
	Mask                     [4]int // strides of the mask between batches, heads, rows and keys
}

// HeadStrides are the elements from batch to batch, head to head and row to row.
type HeadStrides struct{ Batch, Head, Row int }

func (s HeadStrides) at(batch, head int) int { return batch*s.Batch + head*s.Head }

// MultiplyAdds counts those of AttentionForward; AttentionBackward takes twice as many.
func (a *Attention) MultiplyAdds() int64 {
	return int64(a.Batch) * int64(a.Heads) * int64(a.Rows) * int64(a.Keys) * int64(a.Depth+a.Width)
}

// attentionTile is the number of scores that are computed together: they stay in the L2 cache for
// the softmax and the product with V.
const attentionTile = 48 << 10

// tile returns the number of rows of a tile.
func (a *Attention) tile() int {
	rows := max(1, attentionTile/max(a.Keys, 1))
	if rows >= 2*matmul.MR {
		rows -= rows % (2 * matmul.MR)
	}
	return min(rows, a.Rows)
}

// AttentionForward computes y. mask may be nil. prob [Batch, Heads, Rows, Keys] receives the
// probabilities for AttentionBackward; it may be nil.
func AttentionForward[T kernel.Float](p *kernel.Pool, a *Attention, q, k, v, mask, y, prob []T) {
	if a.Rows == 0 || a.Width == 0 {
		return
	}
	rows := a.tile()
	tiles := kernel.CeilDiv(a.Rows, rows)
	p.Range(a.Batch*a.Heads*tiles, 1, func(lo, hi int) {
		var tile []T
		if prob == nil {
			buffer := kernel.Borrow[T](rows * a.Keys)
			defer kernel.GiveBack(buffer)
			tile = *buffer
		}
		for i := lo; i < hi; i++ {
			head, r := i/tiles, i%tiles*rows
			n := min(rows, a.Rows-r)
			s := tile
			if prob != nil {
				s = prob[(head*a.Rows+r)*a.Keys:]
			}
			s = s[:n*a.Keys]
			b, h := head/a.Heads, head%a.Heads
			matmul.Gemm(p.Serial(), false, true, n, a.Keys, a.Depth, 1, q[a.Q.at(b, h)+r*a.Q.Row:], a.Q.Row, k[a.K.at(b, h):], a.K.Row, 0, s, a.Keys)
			attentionSoftmax(a, s, mask, b, h, r)
			matmul.Gemm(p.Serial(), false, false, n, a.Width, a.Keys, 1, s, a.Keys, v[a.V.at(b, h):], a.V.Row, 0, y[a.Y.at(b, h)+r*a.Y.Row:], a.Y.Row)
		}
	})
}

// attentionSoftmax replaces the scores of the rows from r on by probabilities.
func attentionSoftmax[T kernel.Float](a *Attention, s, mask []T, b, h, r int) {
	for at := 0; at < len(s); at, r = at+a.Keys, r+1 {
		row := s[at:][:a.Keys]
		switch {
		case mask == nil:
			softmaxScaledRow(row, row, nil, T(a.Scale))
		case a.Mask[3] == 0:
			vector.Affine(row, row, T(a.Scale), mask[b*a.Mask[0]+h*a.Mask[1]+r*a.Mask[2]])
			softmaxRow(row, row)
		default:
			softmaxScaledRow(row, row, mask[b*a.Mask[0]+h*a.Mask[1]+r*a.Mask[2]:][:a.Keys], T(a.Scale))
		}
	}
}

// AttentionBackward computes the gradients dq, dk, dv and dmask [Batch, Heads, Rows, Keys] from
// dy and the probabilities; each may be nil. dmask is the gradient of a mask of full size.
func AttentionBackward[T kernel.Float](p *kernel.Pool, a *Attention, dy, q, k, v, prob, dq, dk, dv, dmask []T) {
	rows := a.tile()
	if rows == 0 || a.Keys == 0 {
		clear(dq)
		clear(dk)
		clear(dv)
		return
	}
	p.Range(a.Batch*a.Heads, 1, func(lo, hi int) {
		buffer := kernel.Borrow[T](rows * a.Keys)
		defer kernel.GiveBack(buffer)
		for head := lo; head < hi; head++ {
			x := attentionHead[T]{a, head / a.Heads, head % a.Heads}
			for r := 0; r < a.Rows; r += rows {
				p.Check()
				n := min(rows, a.Rows-r)
				at := (head*a.Rows + r) * a.Keys
				d := (*buffer)[:n*a.Keys]
				var dm []T
				if dmask != nil {
					dm = dmask[at:][:len(d)]
				}
				x.scores(n, r, dy, v, prob[at:][:len(d)], d, dm)
				x.tile(n, r, dy, q, k, prob[at:][:len(d)], d, dq, dk, dv)
			}
		}
	})
}

// attentionHead is one head.
type attentionHead[T kernel.Float] struct {
	*Attention
	b, h int
}

// scores computes the gradient of n rows of scores, from row r on: with dP = dY·Vᵀ it is
// dmask = P∘(dP − Σ dP∘P), which may be nil, and d is Scale times that.
func (x attentionHead[T]) scores(n, r int, dy, v, prob, d, dmask []T) {
	a := x.Attention
	matmul.Gemm(nil, false, true, n, a.Keys, a.Width, 1, dy[a.Y.at(x.b, x.h)+r*a.Y.Row:], a.Y.Row, v[a.V.at(x.b, x.h):], a.V.Row, 0, d, a.Keys)
	for at := 0; at < len(d); at += a.Keys {
		row, p := d[at:][:a.Keys], prob[at:][:a.Keys]
		if dmask == nil {
			softmaxRowGrad(row, row, p, T(a.Scale))
			continue
		}
		softmaxRowGrad(dmask[at:][:a.Keys], row, p, 1)
		elementwise.BinaryScalarInto(elementwise.OpMul, row, dmask[at:][:a.Keys], T(a.Scale))
	}
}

// tile adds the contribution of n rows from row r on to the gradients; d holds the gradient of their products Q·Kᵀ.
func (x attentionHead[T]) tile(n, r int, dy, q, k, prob, d, dq, dk, dv []T) {
	a, beta := x.Attention, T(1)
	if r == 0 {
		beta = 0
	}
	if dv != nil {
		matmul.Gemm(nil, true, false, a.Keys, a.Width, n, 1, prob, a.Keys, dy[a.Y.at(x.b, x.h)+r*a.Y.Row:], a.Y.Row, beta, dv[a.V.at(x.b, x.h):], a.V.Row)
	}
	if dq != nil {
		matmul.Gemm(nil, false, false, n, a.Depth, a.Keys, 1, d, a.Keys, k[a.K.at(x.b, x.h):], a.K.Row, 0, dq[a.Q.at(x.b, x.h)+r*a.Q.Row:], a.Q.Row)
	}
	if dk != nil {
		matmul.Gemm(nil, true, false, a.Keys, a.Depth, n, 1, d, a.Keys, q[a.Q.at(x.b, x.h)+r*a.Q.Row:], a.Q.Row, beta, dk[a.K.at(x.b, x.h):], a.K.Row)
	}
}
