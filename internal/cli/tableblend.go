package cli

import (
	"context"
	"math/rand/v2"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/internal/snapshot"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// anew returns a function that trains g again, silently and without validation, for twice as many epochs as were best with one, since
// the rate had not fallen to 0 by then. Way 0 has the settings of the training, whose best epoch is given, way 1 those for more rows.
// Member 0 starts from the present weights, others from a permutation of them, which is another draw of independent numbers.
func (t *training) anew(g *nn.Graph, fit, val data.Dataset[data.Sample]) (func(best train.Epoch) func(context.Context, data.Dataset[data.Sample], int, int) error, error) {
	first, err := snapshot.Of(context.Background(), g)
	if err != nil {
		return nil, err
	}
	return func(best train.Epoch) func(context.Context, data.Dataset[data.Sample], int, int) error {
		epochs := [2]int{2 * best.Epoch}
		return func(ctx context.Context, rows data.Dataset[data.Sample], way, member int) error {
			first.Restore()
			c := t.config
			c.Dir, c.Resume, c.Keep, c.Log, c.Observe, c.OnStep, c.OnGradient = "", false, 0, train.Quiet, nil, nil, nil
			if way == 1 {
				c.Rule = t.tableRule(2e-3, 0.1)
			}
			if epochs[way] == 0 {
				history, err := train.Fit(ctx, g, c, fit, val)
				if err != nil {
					return err
				}
				epochs[way] = max(1, 2*history.Best().Epoch)
				first.Restore()
			}
			c.Patience, c.RestoreBest, c.Monitor, c.Plateau = 0, false, "", nil
			c.Epochs = min(c.Epochs, epochs[way])
			if member > 0 {
				c.Seed += uint64(member)
				permute(g, c.Seed)
			}
			_, err := train.Fit(ctx, g, c, rows, nil)
			return err
		}
	}, nil
}

// permute permutes the elements of each parameter that is trained.
func permute(g *nn.Graph, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for p := range g.Params() {
		if d := direct.Data(p); p.Trainable() && d != nil && d.Dtype() == tensor.Float32 {
			x := dtype.Slice[float32](d)
			r.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
			p.Changed()
		}
	}
}

// blends reports whether the network is blended with a linear model: if it is new, and no flag requests training that a
// linear model does not have.
func (t *training) blends(val data.Dataset[data.Sample]) bool {
	return t.fresh != "" && val.Len() > 0 && !t.changed(byHandFlags...) && !t.changed("loss", "label-smoothing", "class-weights", "balanced")
}
