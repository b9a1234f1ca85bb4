package train

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
)

// sharded reports whether the optimizer state is sharded over ranks.
func (t *Trainer) sharded() bool { return t.ranks != nil && t.c.ShardState }

// owner returns the rank that keeps the state of a new parameter: the one with the fewest elements so far.
func (t *Trainer) owner(p *nn.Param) int {
	if !t.sharded() {
		return 0
	}
	if t.owned == nil {
		t.owned = make([]int, t.ranks.size)
	}
	k := 0
	for i, n := range t.owned {
		if n < t.owned[k] {
			k = i
		}
	}
	t.owned[k] += p.Size()
	return k
}

// mine reports whether this rank keeps a state and updates its parameter.
func (t *Trainer) mine(s *state) bool { return !t.sharded() || s.owner == t.ranks.rank }

// exchangeParams sends the parameters that each rank has updated to all ranks.
func (t *Trainer) exchangeParams() error {
	into := make([][][]byte, t.ranks.size)
	for _, p := range t.group.order {
		if s := t.params[p]; s.has {
			into[s.owner] = append(into[s.owner], dtype.Bytes(direct.Data(p)))
		}
	}
	err := t.ranks.circulate(into[t.ranks.rank], into)
	for _, p := range t.group.order {
		p.Changed()
	}
	return err
}

// wholeState gathers the optimizer state of all parameters on rank 0. It returns nil on other ranks, and if the state is
// not sharded.
func (t *Trainer) wholeState() (map[*state][]optim.Slot, error) {
	if !t.sharded() {
		return nil, nil
	}
	all := map[*state][]optim.Slot{}
	into := make([][][]byte, t.ranks.size)
	var own [][]byte
	var err error
	for p := range t.g.Params() {
		s := t.params[p]
		if s == nil {
			continue
		}
		all[s] = s.slots
		if t.mine(s) {
			own = append(own, blocks(s.slots)...)
		} else if t.ranks.first() && err == nil {
			if all[s], err = s.plan.rule.Init(direct.Data(p)); err != nil {
				err = &op.Error{Stage: "train", Param: p.Name(), Err: err}
			}
		}
		into[s.owner] = append(into[s.owner], blocks(all[s])...)
	}
	if err := t.ranks.agree(err); err != nil {
		return nil, err
	}
	if !t.ranks.first() {
		into = nil
	}
	return all, t.ranks.circulate(own, into)
}

func blocks(slots []optim.Slot) (list [][]byte) {
	for _, s := range slots {
		list = append(list, dtype.Bytes(s.Data))
	}
	return list
}

// circulated is the number of bytes that all ranks together send at a time.
const circulated = 16 << 20

// circulate sends each rank's blocks of memory to all ranks, which receive them in blocks of the same total size; a rank
// without such blocks receives nothing.
func (r *ranks) circulate(own [][]byte, into [][][]byte) error {
	sizes := make([]byte, 8*r.size)
	binary.LittleEndian.PutUint64(sizes[8*r.rank:], uint64(total(own)))
	if err := r.do(func(c Communicator) error { return c.AllGather(sizes) }); err != nil {
		return err
	}
	most := 0
	var wrong error
	for k := range r.size {
		n := int(binary.LittleEndian.Uint64(sizes[8*k:]))
		most = max(most, n)
		if into != nil && total(into[k]) != n {
			wrong = errors.Join(wrong, fmt.Errorf("train: rank %d sent %d bytes of optimizer state, want %d", k, n, total(into[k])))
		}
	}
	if err := r.agree(wrong); err != nil || most == 0 {
		return err
	}
	part := min(most, max(1<<16, circulated/r.size))
	b := make([]byte, part*r.size)
	return r.do(func(c Communicator) error {
		from := stream{own}
		to := make([]stream, r.size)
		for k := range into {
			to[k].blocks = into[k]
		}
		for at := 0; at < most; at += part {
			from.each(part, func(x []byte, done int) { copy(b[r.rank*part+done:], x) })
			if err := c.AllGather(b); err != nil {
				return err
			}
			for k := range to {
				if k != r.rank {
					to[k].each(part, func(x []byte, done int) { copy(x, b[k*part+done:]) })
				}
			}
		}
		return nil
	})
}

func total(blocks [][]byte) (n int) {
	for _, b := range blocks {
		n += len(b)
	}
	return n
}

// stream iterates over blocks of memory as if they were contiguous, and consumes their list.
type stream struct{ blocks [][]byte }

// each calls f block by block for the next n bytes, or for those that remain.
func (s *stream) each(n int, f func(x []byte, done int)) {
	for done := 0; done < n && len(s.blocks) > 0; {
		x := s.blocks[0]
		x = x[:min(len(x), n-done)]
		f(x, done)
		done += len(x)
		if len(x) == len(s.blocks[0]) {
			s.blocks = s.blocks[1:]
		} else {
			s.blocks[0] = s.blocks[0][len(x):]
		}
	}
}
