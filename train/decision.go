package train

import (
	"bytes"
	"encoding/gob"

	"github.com/graft-ml/graft/optim"
)

// decision is rank 0's evaluation on an epoch, for all ranks.
type decision struct {
	Val        map[string]float64
	Best, Stop bool
	Figure     float64
	HasBest    bool
	Bad        int
	Plateau    optim.PlateauState
}

// decide evaluates an epoch on rank 0 and sends the decision to the other ranks.
func (t *Trainer) decide(ep *Epoch) (best, stop bool, err error) {
	best, stop, err = t.tracker.update(*ep)
	if t.ranks == nil {
		return best, stop, err
	}
	if err := t.ranks.agree(err); err != nil {
		return false, false, err
	}
	k := &t.tracker
	v := decision{ep.Val, best, stop, k.best, k.hasBest, k.bad, k.plateau}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		return false, false, err
	}
	all, err := t.ranks.share(b.Bytes())
	if err != nil {
		return false, false, err
	}
	v = decision{}
	if err := gob.NewDecoder(bytes.NewReader(all)).Decode(&v); err != nil {
		return false, false, err
	}
	ep.Val, k.best, k.hasBest, k.bad, k.plateau = v.Val, v.Figure, v.HasBest, v.Bad, v.Plateau
	return v.Best, v.Stop, nil
}

// oneModel sends rank 0's running statistics to all ranks at the end of an epoch, and compares their parameters.
func (t *Trainer) oneModel() error {
	if err := t.oneStatistics(); err != nil {
		return err
	}
	return t.sameWeights()
}

// all reports whether ok is true on all ranks.
func (t *Trainer) all(ok bool) (bool, error) {
	if t.ranks == nil {
		return ok, nil
	}
	x := []float64{0}
	if !ok {
		x[0] = 1
	}
	err := t.ranks.do(func(c Communicator) error { return c.AllReduceFloat64(x) })
	return x[0] == 0, err
}
