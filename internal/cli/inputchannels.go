package cli

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
)

// inputChannels changes the number of channels of an input, by default the only one, and updates the image preprocessing in
// the metadata: gray images have a single mean and a single deviation.
func inputChannels(e *nn.Edit, s recipeStep) {
	if s.Value == "" {
		in := e.Inputs()
		if len(in) != 1 {
			e.Failf("the model has the inputs %v: say which, by a step with \"value\"", ports(in))
			return
		}
		s.Value = in[0].Name()
	}
	e.SetInputChannels(e.Value(s.Value), s.Channels, s.Axis)
	p, known, err := data.ReadMeta(e.Meta())
	if e.Fail(err); err != nil || !known || s.Channels != 1 && s.Channels != 3 {
		return
	}
	p.Gray = s.Channels == 1
	if p.Gray {
		p.BGR, p.Mean, p.Std = false, mean(p.Mean), mean(p.Std)
	}
	meta, err := p.Meta()
	e.Fail(err)
	for k, v := range meta {
		e.SetMeta(k, v)
	}
}

// mean returns the mean of a list as a list of one element, and lists of fewer than two elements unchanged.
func mean(list []float64) []float64 {
	if len(list) < 2 {
		return list
	}
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return []float64{sum / float64(len(list))}
}
