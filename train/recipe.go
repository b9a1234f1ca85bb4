package train

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
)

// recipe is a plan for training all layers.
type recipe struct {
	Rate           float64            `json:"rate"`   // of the layers nearest to the output
	Spread         float64            `json:"spread"` // the first layer's rate as a fraction of Rate
	Decay          float64            `json:"weight_decay"`
	Epochs         int                `json:"epochs"`
	Batch          int                `json:"batch"`
	EMA            float64            `json:"ema"`
	Smoothing      float64            `json:"label_smoothing"`
	Patience       int                `json:"patience"`
	HoldStatistics bool               `json:"hold_statistics"`            // freeze running statistics
	Anew           bool               `json:"anew,omitempty"`             // start from the weights before the classifier was fitted
	Unmirrored     bool               `json:"unmirrored,omitempty"`       // remove horizontal flips from the set
	Interpolation  float64            `json:"interpolation,omitempty"`    // fraction of the change of the weights that is kept; 0: all
	BetterThanHead bool               `json:"better_than_head,omitempty"` // was better than the classifier alone on held-out samples
	Head           map[string]float64 `json:"head,omitempty"`             // validation metrics before
	Views          int                `json:"views,omitempty"`            // of each sample, to whose features the classifier was fitted; 0: it was not
	HeadSum        string             `json:"head_crc32c,omitempty"`      // checksum of the weights in the model before
	Sum            string             `json:"crc32c,omitempty"`           // checksum of the plan as a file, without this field
}

// String returns one line.
func (p recipe) String() string {
	s := fmt.Sprintf("AdamW at %.2g", p.Rate)
	if p.Spread != 1 {
		s += fmt.Sprintf(", falling to %.2g at the first layer", p.Rate*p.Spread)
	}
	s += fmt.Sprintf(", one cycle of %d epochs with batches of %d, weight decay %g except on biases and scales, average of the weights %.4g", p.Epochs, p.Batch, p.Decay, p.EMA)
	if p.Smoothing > 0 {
		s += fmt.Sprintf(", label smoothing %g", p.Smoothing)
	}
	if p.HoldStatistics {
		s += ", running statistics held"
	}
	if p.Anew {
		s += ", from the weights before the classifier was fitted"
	}
	if p.Interpolation > 0 && p.Interpolation < 1 {
		s += fmt.Sprintf(", %g of the change kept", p.Interpolation)
	}
	return s
}

// config returns c with the settings of the plan where c has none.
func (p recipe) config(g *nn.Graph, c Config) Config {
	if c.Loss == nil && p.Smoothing > 0 {
		c.Loss = CrossEntropy{LabelSmoothing: p.Smoothing}
	}
	if c.Rule == nil {
		c.Rule = optim.AdamW{LR: p.Rate, WeightDecay: p.Decay}
	}
	if c.Schedule == nil {
		c.Schedule = optim.OneCycleLR{Up: 0.25, Div: 10, FinalDiv: 50}
	}
	if c.Groups == nil {
		c.Groups = p.groups(g)
	}
	if c.ClipNorm == 0 {
		c.ClipNorm = 5
	}
	if c.Patience == 0 {
		c.Patience = p.Patience
	}
	c.Epochs, c.Batch, c.EMA, c.RestoreBest = p.Epochs, p.Batch, p.EMA, p.Patience > 0
	return c
}

// groups sets the rate of each trainable parameter by depth, and excludes biases and scales from weight decay.
func (p recipe) groups(g *nn.Graph) []ParamGroup {
	var list []*nn.Param
	for x := range g.Params() {
		if x.Trainable() {
			list = append(list, x)
		}
	}
	depth := depths(g)
	var groups []ParamGroup
	for _, x := range list {
		r := ParamGroup{Params: []*nn.Param{x}, Rate: math.Pow(p.Spread, 1-depth[x])}
		if x.Value().Type().Rank() <= 1 {
			r.WeightDecay = optim.Off
		}
		groups = append(groups, r)
	}
	return groups
}

// depths returns the relative depth at which each parameter is first read, from 0 at the inputs to 1 at the last node with parameters.
func depths(g *nn.Graph) map[*nn.Param]float64 {
	place := map[*nn.Param]float64{}
	at := 0.0
	for n := range g.Nodes() {
		reads := false
		for _, v := range n.Inputs() {
			p := v.Param()
			if p == nil || p.Role() != nn.Weight {
				continue
			}
			if _, seen := place[p]; !seen {
				place[p], reads = at, true
			}
		}
		if reads {
			at++
		}
	}
	for p := range place {
		place[p] /= max(1, at-1)
	}
	return place
}

// hold freezes running statistics if the plan requires it, and otherwise lets them follow the weights within a tenth of the run, for n samples:
// with few updates a momentum of 0.99, as MobileNetV3's, would leave a model that is evaluated with the statistics it began with. It returns a
// function that restores both.
func (p recipe) hold(g *nn.Graph, n int) func() {
	if !p.HoldStatistics {
		return p.shortenMomentum(g, n)
	}
	var held []*nn.Param
	for x := range g.Params() {
		if x.Role() == nn.Statistic && !x.Frozen() {
			held = append(held, x)
		}
	}
	if len(held) == 0 {
		return func() {}
	}
	freeze := func(frozen bool) {
		_ = g.Edit(func(e *nn.Edit) { // it can only fail inside another edit
			for _, x := range held {
				e.SetFrozen(x, frozen)
			}
		})
	}
	freeze(true)
	return func() { freeze(false) }
}

// shortenMomentum lowers the momentum of normalizations to 1 − 10 / (updates of the run), at least 0.8, and returns a function that restores it.
func (p recipe) shortenMomentum(g *nn.Graph, n int) func() {
	updates := p.Epochs * ((n + p.Batch - 1) / max(1, p.Batch))
	limit := float32(max(0.8, 1-10/float64(max(1, updates))))
	before, limited := map[*nn.Node]op.Config{}, map[*nn.Node]op.Config{}
	for x := range g.Nodes() {
		if o := x.Op(); o != nil && o.Traits.LimitMomentum != nil {
			if c, changed := o.Traits.LimitMomentum(x.Config(), limit); changed {
				before[x], limited[x] = x.Config(), c
			}
		}
	}
	if len(limited) == 0 {
		return func() {}
	}
	configure := func(all map[*nn.Node]op.Config) {
		_ = g.Edit(func(e *nn.Edit) { // it can only fail inside another edit
			for x, c := range all {
				e.Configure(x, c)
			}
		})
	}
	configure(limited)
	return func() { configure(before) }
}

// smoothing returns the label smoothing: not 0 if the loss is not configured and the targets are classes.
func (t *tuning) smoothing() float64 {
	if t.Config.Loss != nil || classesOf(t.g) == 0 || !singleClasses(t.fit) {
		return 0
	}
	return 0.1
}
