package train

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// scoredPart is the result of evaluating a rank's shard of a batch: outputs and targets, and the loss and its weight.
type scoredPart struct {
	sum       tally
	sums      bool // whether the loss is a sum, see Weighted
	out, want []*tensor.Dense
}

// together gathers the parts of all ranks, in the order of the ranks, without empty ones; err is the error of this rank, if any.
func (r *ranks) together(part scoredPart, err error) ([]scoredPart, error) {
	if r == nil {
		return []scoredPart{part}, err
	}
	b := []byte{kindOf(err), 0}
	if part.sums {
		b[1] = 1
	}
	if err == nil && part.sum.Samples > 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(part.sum.Loss))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(part.sum.Weight))
		b = binary.LittleEndian.AppendUint64(b, uint64(part.sum.Samples))
		b = appendTensors(appendTensors(b, part.out), part.want)
	}
	all, e := r.gather(b)
	if e != nil {
		return nil, errors.Join(err, e)
	}
	var parts []scoredPart
	for _, x := range all {
		if x[0] != well {
			return nil, r.explain(err)
		}
		sums := x[1] != 0
		if x = x[2:]; len(x) == 0 {
			continue
		}
		p := scoredPart{sums: sums, sum: tally{
			Loss:    math.Float64frombits(binary.LittleEndian.Uint64(x)),
			Weight:  math.Float64frombits(binary.LittleEndian.Uint64(x[8:])),
			Samples: int(binary.LittleEndian.Uint64(x[16:])),
		}}
		p.out, x = readTensors(x[24:])
		p.want, _ = readTensors(x)
		parts = append(parts, p)
	}
	return parts, nil
}

// appendTensors appends the number of tensors, and the type, shape and elements of each.
func appendTensors(b []byte, list []*tensor.Dense) []byte {
	number := func(n int) { b = binary.LittleEndian.AppendUint64(b, uint64(n)) }
	number(len(list))
	for _, d := range list {
		number(int(dtype.Of(d.Dtype())))
		number(len(d.Shape()))
		for _, n := range d.Shape() {
			number(n)
		}
		b = append(b, dtype.Bytes(d)...)
	}
	return b
}

// readTensors reads what appendTensors wrote, and returns the remaining bytes.
func readTensors(b []byte) ([]*tensor.Dense, []byte) {
	number := func() int {
		n := binary.LittleEndian.Uint64(b)
		b = b[8:]
		return int(n)
	}
	list := make([]*tensor.Dense, number())
	for i := range list {
		typ := dtype.DType(number())
		shape := make([]int, number())
		for k := range shape {
			shape[k] = number()
		}
		list[i] = dtype.New(typ, shape...)
		b = b[copy(dtype.Bytes(list[i]), b):]
	}
	return list, b
}
