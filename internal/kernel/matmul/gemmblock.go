package matmul

import "github.com/graft-ml/graft/internal/kernel"

// block is a block of rows of the left operand.
type block[T kernel.Float] struct {
	i, rows  int
	a, a2    []T // the rows, those from mr on in a2
	rsA, csA int
	bias     []T
}

// fillLD returns the row stride of a left operand that is filled into a buffer.
func (w *worker[T]) fillLD() int { return (w.kc+7)&^7 + 8 }

// prepare packs blocks q0 to q1 of the left operand, and lists them.
func (w *worker[T]) prepare(q0, q1 int) []block[T] {
	list := w.list[:q1-q0]
	i0, from := w.row(q0), w.panels
	switch {
	case w.Left != nil:
		w.Left.Fill(i0, w.row(q1)-i0, w.l, w.kc, w.panels, w.fillLD())
	case w.inTurn:
		w.packTransposed(q0, q1)
	}
	for q, i := q0, i0; q < q1; q++ {
		b := block[T]{i: i, rows: w.row(q+1) - i, rsA: w.RsA, csA: w.CsA}
		second := MR * w.RsA // offset of the rows from mr on
		switch {
		case w.Left != nil:
			b.rsA, b.csA = w.fillLD(), 1
			b.a, second = w.panels[(i-i0)*b.rsA:], MR*b.rsA
		case w.inTurn:
			b.a, b.rsA, b.csA, second = w.inPanel(q-q0, i), 1, w.tall, MR
		case w.packA:
			b.a, b.rsA, b.csA, second = from, 1, MR, MR*w.kc
			for ; i < b.i+b.rows; i += MR {
				w.packPanel(i, min(MR, b.i+b.rows-i), from[:second])
				from = from[second:]
			}
		default:
			b.a = w.A[i*w.RsA+w.l*w.CsA:]
		}
		if b.rows > MR {
			b.a2 = b.a[second:]
		}
		if w.flags&flagBias != 0 {
			b.bias = w.Bias[b.i:][:b.rows]
		}
		i = b.i + b.rows
		list[q-q0] = b
	}
	return list
}
